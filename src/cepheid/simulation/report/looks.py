"""How the shapes and letters of drawings look: one table, for pages (as CSS) and for pictures.

The six colours are those of Okabe and Ito, which people who see colours differently can tell apart; every line has a
dash of its own too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

LIGHT = {
    "paper": "#ffffff", "card": "#f7f8fa", "ink": "#1c2430", "faint": "#5b6675", "rule": "#dde2e9", "trough": "#e3e7ed",
    "c0": "#7b8694", "c1": "#0072b2", "c2": "#d55e00", "c3": "#009e73", "c4": "#b45f93", "c5": "#b58400",
    "c6": "#3d9bd1",
}  # fmt: skip
DARK = {
    "paper": "#10151d", "card": "#171e29", "ink": "#e6eaf0", "faint": "#98a3b3", "rule": "#2b3543", "trough": "#2b3543",
    "c0": "#8b96a5", "c1": "#4aa3df", "c2": "#f0803c", "c3": "#2fbf95", "c4": "#d88fbb", "c5": "#e6b53c",
    "c6": "#8fd0f5",
}  # fmt: skip
DASHES = ((6, 5), (), (9, 3), (3, 2), (10, 3, 2, 3), (5, 2), (2, 2))


@dataclass(frozen=True, slots=True)
class ShapeLook:
    """fill, stroke: names of colours, or "none"; hatch: lines across it.  What is None is left to other words of the
    kind."""

    fill: str | None = None
    opacity: float | None = None
    stroke: str | None = None
    width: float | None = None
    dash: tuple[int, ...] | None = None
    hatch: bool | None = None


@dataclass(frozen=True, slots=True)
class LetterLook:
    """halo: paper around the letters, so that they are read on lines."""

    size: float = 12.0
    colour: str = "ink"
    bold: bool = False
    halo: bool = False


LOOKS: dict[str, ShapeLook] = {
    **{f"s{n}": ShapeLook(stroke=f"c{n}", width=2.0 if n else 1.6, dash=dash) for n, dash in enumerate(DASHES)},
    **{f"f{n}": ShapeLook(fill=f"c{n}") for n in range(len(DASHES))},
    "grid": ShapeLook(stroke="rule", width=1.0),
    "axis": ShapeLook(stroke="faint", width=1.0),
    "shade": ShapeLook(fill="c2", opacity=0.1),
    "moment": ShapeLook(stroke="faint", width=1.2, dash=(2, 3)),
    "line": ShapeLook(fill="none"),
    "band": ShapeLook(opacity=0.18, stroke="none"),
    "mark": ShapeLook(stroke="paper", width=1.0),
    "hollow": ShapeLook(fill="paper", width=1.5, dash=()),
    "absent": ShapeLook(fill="none", stroke="rule", width=1.0),
    "crossed": ShapeLook(fill="trough", stroke="none", hatch=True),
    "border": ShapeLook(fill="none", stroke="ink", width=2.6),
}
LETTERS: dict[str, LetterLook] = {
    "text": LetterLook(),
    "title": LetterLook(13.5, bold=True),
    "tick": LetterLook(colour="faint"),
    "note": LetterLook(colour="faint"),
    "halo": LetterLook(colour="faint", halo=True),
    "cell": LetterLook(11.0),
    "strong": LetterLook(11.0, "paper"),
}


def look_of(kind: str) -> ShapeLook:
    """Of several words the first one holds."""
    found: dict[str, object] = {}
    for word in kind.split():
        for field in fields(ShapeLook):
            value = getattr(LOOKS[word], field.name)
            if value is not None:
                found.setdefault(field.name, value)
    return ShapeLook(**found)  # type: ignore[arg-type]


def write_styles() -> str:
    """All of it as CSS: what stands below holds."""
    rules = [f":root {{ color-scheme: light dark; {_list_colours(LIGHT)} }}"]
    rules.append(f"@media (prefers-color-scheme: dark) {{ :root {{ {_list_colours(DARK)} }} }}")
    for name, look in LOOKS.items():
        parts = [f"fill: {_paint(look.fill)};"] if look.fill else []
        parts += [f"fill-opacity: {look.opacity:g};"] if look.opacity is not None else []
        parts += [f"stroke: {_paint(look.stroke)};"] if look.stroke else []
        parts += [f"stroke-width: {look.width:g};"] if look.width is not None else []
        parts += [f"stroke-dasharray: {' '.join(map(str, look.dash)) or 'none'};"] if look.dash is not None else []
        parts += ["fill: url(#hatch);"] if look.hatch else []
        rules.append(f".chart .{name} {{ {' '.join(parts)} }}")
    for name, letters in LETTERS.items():
        parts = [f"font-size: {letters.size:g}px;", f"fill: var(--{letters.colour});"]
        parts += ["font-weight: 600;"] if letters.bold else []
        if letters.halo:
            parts.append("paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round;")
        rules.append(f".chart .{name} {{ {' '.join(parts)} }}")
    return "\n".join(rules)


def _list_colours(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def _paint(colour: str | None) -> str:
    return "none" if colour == "none" else f"var(--{colour})"
