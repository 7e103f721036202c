"""A picture as shapes at places, before anyone writes it as SVG or as pixels.

y grows downwards; a unit is a pixel of a page.  `kind`: words of looks.py, which say how a shape looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LETTER = 0.6  # mean width of a letter, in heights
Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Box:
    """strength: how much of its colour is seen, 0 to 1.  hint: shown when the pointer is over it."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    strength: float = 1.0
    hint: str = ""
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points; filled, if its kind has a filling."""

    points: tuple[Point, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a line.  corners: of its shape, around it; none: a circle."""

    x: float
    y: float
    kind: str
    corners: tuple[Point, ...]
    size: float
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TextLabel:
    """y: of the line that letters stand on."""

    x: float
    y: float
    text: str
    kind: str = "text"
    anchor: Anchor = "start"


Shape = Box | Stroke | Mark | TextLabel


@dataclass(frozen=True, slots=True)
class Drawing:
    """natural: shown in its own size, so that letters are equally large in every drawing; otherwise as wide as the
    page allows."""

    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    natural: bool = False


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Stroke:
    return Stroke(((x1, y1), (x2, y2)), kind)


def width_of(text: str, size: float) -> float:
    return len(text) * LETTER * size


def wrap_names(names: Sequence[str], room: float, size: float, before: float, after: float) -> list[tuple[int, float]]:
    """Names in rows of that width: the row and the place of each."""
    places: list[tuple[int, float]] = []
    x, row = 0.0, 0
    for name in names:
        wide = before + width_of(name, size) + after
        if x and x + wide > room:
            x, row = 0.0, row + 1
        places.append((row, x))
        x += wide
    return places
