"""Shapes as SVG text.  Colours come from the page, by class, so that it can be light
or dark; whatever is written goes through `escape`, so that a name cannot become markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cepheid.simulation.report.drawing import Box, Drawing, Mark, Shape, Stroke, TextLabel


def shape(name: str, inside: str = "", /, **attributes: object) -> str:
    """An element.  inside: markup.  An underscore in an attribute stands for a hyphen; `kind` is its class."""
    written = "".join(
        f' {"class" if key == "kind" else key.replace("_", "-")}="{escape(_show(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>"


def label(x: float, y: float, text: str, **attributes: object) -> str:
    return shape("text", escape(text), x=x, y=y, **attributes)


def hint(text: str) -> str:
    """A tooltip."""
    return shape("title", escape(text))


def picture(width: float, height: float, inside: Sequence[str], described: str, natural: bool = False) -> str:
    """natural: in its own size, so that letters are equally large in every drawing and a wide one scrolls; otherwise as
    wide as the page allows."""
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


def write_svg(drawing: Drawing) -> str:
    inside = [_write_shape(each) for each in drawing.shapes]
    return picture(drawing.width, drawing.height, inside, drawing.title, drawing.natural)


def _write_shape(drawn: Shape) -> str:
    match drawn:
        case Box(x=x, y=y, width=width, height=height, kind=kind):
            more: dict[str, object] = {"rx": drawn.radius} if drawn.radius else {}
            more |= {"fill_opacity": f"{drawn.strength:.3f}"} if drawn.strength < 1.0 else {}
            inside = hint(drawn.hint) if drawn.hint else ""
            return shape("rect", inside, x=x, y=y, width=width, height=height, kind=kind, **more)
        case Stroke(points=points, kind=kind):
            return polyline(points, kind=kind)
        case Mark(x=x, y=y, kind=kind, size=size):
            inside = hint(drawn.hint) if drawn.hint else ""
            if not drawn.corners:
                return shape("circle", inside, cx=x, cy=y, r=size, kind=kind)
            corners = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in drawn.corners)
            return shape("polygon", inside, points=corners, kind=kind)
        case TextLabel(x=x, y=y, text=text, kind=kind):
            return label(x, y, text, text_anchor=drawn.anchor, kind=kind)


def _show(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
