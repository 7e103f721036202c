"""What is drawn, before anyone draws it: line charts, heat maps and bars, with their words and units.

digest, sweep  ->  outcome_charts, sweep_charts  ->  charts  ->  chart_layout  ->  svg (pages), png (pictures)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.simulation.report.quantities import write_short

MOST_LINES = 6
MOST_MARKS = 60  # points of a line; more would run into each other


@dataclass(frozen=True, slots=True)
class ChartLine:
    """points: (x, y), and None where there is none.  colour: 1 to 6; 0 is for what is only compared with.

    band: x, low, high.  hollow: the points whose marks are only outlines, by their x.
    """

    name: str
    points: Sequence[tuple[float, float | None]]
    colour: int
    band: Sequence[tuple[float, float, float]] = ()
    write: Callable[[float], str] = write_short
    hollow: frozenset[float] = frozenset()
    has_line: bool = True
    has_marks: bool = True


@dataclass(frozen=True, slots=True)
class Moment:
    """A vertical line with a word at it."""

    x: float
    name: str


@dataclass(frozen=True, slots=True)
class Shade:
    """A part of the chart that is different; it may be open to a side (infinite)."""

    begin: float
    end: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """title: what the height is, with its unit.  ticks: of the axis across; left out: round numbers."""

    title: str
    across: str
    lines: Sequence[ChartLine]
    logarithmic: bool = False
    ticks: Sequence[float] = ()
    moments: Sequence[Moment] = ()
    shades: Sequence[Shade] = ()

    def heights(self) -> list[float]:
        heights = [y for line in self.lines for _, y in line.points if y is not None]
        return heights + [edge for line in self.lines for _, low, high in line.band for edge in (low, high)]

    def heights_to_fit(self) -> list[float]:
        """With room on top for the words of moments."""
        heights = self.heights()
        return heights + ([max(heights) * (3.0 if self.logarithmic else 1.25)] if self.moments else [])


@dataclass(frozen=True, slots=True)
class HeatCell:
    """share: how strong its colour is, 0 to 1; None: nothing to show.  hint: its values in words.  crossed: hatched
    instead of coloured."""

    share: float | None
    text: str
    hint: str
    crossed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """cells: by row, the first on top.  key: what the weakest and the strongest colour mean; key_crossed: what crossed
    cells are, with a line around them."""

    title: str
    across: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[HeatCell]]
    key: tuple[str, str]
    key_crossed: str = ""
    colour: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """bars: name, length, and what is written at its end."""

    title: str
    bars: Sequence[tuple[str, float | None, str]]
    colour: int = 1


Chart = LineChart | HeatMap | BarChart


def name_range(low: str, high: str, ratio: float) -> tuple[str, str]:
    """A heat map's key; if colours stand for decades it says so."""
    return low, f"{high} (in decades)" if ratio > 10.0 else high


def logarithmic_share(value: float, low: float, high: float) -> float:
    """Where a value lies between two, in decades."""
    if value <= low or high <= low:
        return 0.0 if value <= low else 1.0
    return math.log(value / low) / math.log(high / low)
