"""Shapes as SVG text.  Colours come from the page, by class, so that it can be light
or dark; whatever is written goes through `escape`, so that a name cannot become markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

LETTER = 0.6  # mean width of a letter, in heights


def shape(name: str, inside: str = "", /, **attributes: object) -> str:
    """An element.  inside: markup.  An underscore in an attribute stands for a hyphen; `kind` is its class."""
    told = "".join(
        f' {"class" if key == "kind" else key.replace("_", "-")}="{escape(_show(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{told}>{inside}</{name}>" if inside else f"<{name}{told}/>"


def label(x: float, y: float, text: str, **attributes: object) -> str:
    return shape("text", escape(text), x=x, y=y, **attributes)


def hint(text: str) -> str:
    """What a pointer held over the element is told."""
    return shape("title", escape(text))


def picture(width: float, height: float, inside: Sequence[str], described: str, natural: bool = False) -> str:
    """natural: as large as it is, so that letters are the same in every picture, and a wide one is scrolled; otherwise
    as wide as there is room."""
    return shape(
        "svg",
        "".join(inside),
        viewBox=f"0 0 {_show(width)} {_show(height)}",
        role="img",
        aria_label=described,
        kind="chart",
        **({"style": f"width:{width:.0f}px;max-width:none"} if natural else {}),
    )


def polyline(points: Sequence[tuple[float, float]], **attributes: object) -> str:
    return shape("path", d="M" + " L".join(f"{_show(x)},{_show(y)}" for x, y in points), **attributes)


def width_of(text: str, size: float) -> float:
    return len(text) * LETTER * size


def _show(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
