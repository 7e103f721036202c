"""Drawings as one picture, by matplotlib: a title, what was simulated, and rows of charts on white."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.extras import require_extra
from cepheid.simulation.report.chart_layout import PAGE_WIDTH
from cepheid.simulation.report.drawing import Box, Drawing, Mark, Point, Shape, Stroke, TextLabel
from cepheid.simulation.report.looks import LETTERS, LIGHT, LetterLook, ShapeLook, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, DPI = 14.0, 110
MARGIN, GAP = 30.0, 28.0
INCHES = WIDTH_IN / (PAGE_WIDTH + 2 * MARGIN)  # of a unit
POINTS = 72.0 * INCHES
HEAD = 84.0  # height of the two lines on top
FONT = "DejaVu Sans"  # comes with matplotlib
HEADLINE, SUBTITLE = LetterLook(22.0, bold=True), LetterLook(13.5, "faint")
HATCH = "#b4bcc7"
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def draw_png(title: str, subtitle: str, rows: Sequence[Sequence[Drawing]], path: Path) -> None:
    """Write the picture, as the kind of file that the path's ending names."""
    require_extra("plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    scaled = [[(each, min(1.0, PAGE_WIDTH / each.width)) for each in row] for row in rows]
    heights = [max(each.height * scale for each, scale in row) + GAP for row in scaled]
    total = HEAD + sum(heights) + MARGIN
    with warnings.catch_warnings():
        # a name in letters that the font lacks is drawn as boxes; that is seen, and needs no warning
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        figure = Figure(figsize=(WIDTH_IN, total * INCHES), dpi=DPI, facecolor=LIGHT["paper"])
        FigureCanvasAgg(figure)
        canvas = _Canvas(_cover(figure, total))
        canvas.write((MARGIN, 38.0), title, HEADLINE)
        canvas.write((MARGIN, 62.0), subtitle, SUBTITLE)
        top = HEAD
        for row, height in zip(scaled, heights, strict=True):
            for place, (drawing, scale) in enumerate(row):
                canvas.draw(drawing, (MARGIN + place * (PAGE_WIDTH + GAP) / 2, top), scale)
            top += height
        figure.savefig(path, facecolor=LIGHT["paper"])


def _cover(figure: Figure, height: float) -> Axes:
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, PAGE_WIDTH + 2 * MARGIN), ylim=(height, 0.0))
    axes.axis("off")
    return axes


class _Canvas:
    """Later shapes cover earlier ones.  origin, scale: of the current drawing."""

    def __init__(self, axes: Axes) -> None:
        self.axes, self.origin, self.scale, self.drawn = axes, (0.0, 0.0), 1.0, 0
        self.hatched: list[tuple[Any, dict[str, Any]]] = []

    def draw(self, drawing: Drawing, origin: Point, scale: float) -> None:
        self.origin, self.scale = origin, scale
        for shape in drawing.shapes:
            self._draw_shape(shape)
        self._hatch()
        self.origin, self.scale = (0.0, 0.0), 1.0

    def write(self, at: Point, text: str, look: LetterLook, anchor: str = "left") -> None:
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=4.0 * POINTS, foreground=LIGHT["paper"])] if look.halo else []
        self.axes.text(
            *self._place(at),
            text.replace("$", r"\$"),  # in a user's name: it does not begin a formula
            ha=anchor,
            va="baseline",
            family=FONT,
            fontsize=look.size * self.scale * POINTS,
            fontweight="bold" if look.bold else "normal",
            color=LIGHT[look.colour],
            path_effects=halo,
            zorder=self._next(),
        )

    def _draw_shape(self, shape: Shape) -> None:
        match shape:
            case TextLabel():
                self.write((shape.x, shape.y), shape.text, LETTERS[shape.kind], ANCHORS[shape.anchor])
            case Box(x=x, y=y, width=width, height=height):
                corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y))
                self._trace(corners, look_of(shape.kind), shape.strength)
            case Stroke():
                self._trace(shape.points, look_of(shape.kind))
            case Mark(x=x, y=y, size=size) if shape.corners:
                points = [(x + size * dx, y + size * dy) for dx, dy in shape.corners]
                self._trace([*points, points[0]], look_of(shape.kind))
            case Mark():
                self._circle(shape)

    def _trace(self, points: Sequence[Point], look: ShapeLook, strength: float = 1.0) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Trace

        trace, style = Trace([self._place(point) for point in points]), self._style(look, strength)
        if look.hatch:
            self.hatched.append((trace, style))
        else:
            self.axes.add_patch(PathPatch(trace, **style))

    def _circle(self, mark: Mark) -> None:
        from matplotlib.patches import Circle

        circle = Circle(self._place((mark.x, mark.y)), mark.size * self.scale, **self._style(look_of(mark.kind)))
        self.axes.add_patch(circle)

    def _hatch(self) -> None:
        """All at once, under what was drawn since: drawing hatches is slow."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Trace

        if self.hatched:
            trace = Trace.make_compound_path(*(each for each, _ in self.hatched))
            style = self.hatched[0][1] | {"edgecolor": HATCH, "hatch": "////"}
            self.axes.add_patch(PathPatch(trace, **style))
            self.hatched = []

    def _style(self, look: ShapeLook, strength: float = 1.0) -> dict[str, Any]:
        from matplotlib.colors import to_rgba

        fill, stroke = (LIGHT.get(colour or "", "none") for colour in (look.fill, look.stroke))
        width = (look.width or 0.0) * POINTS
        opacity = strength * (look.opacity if look.opacity is not None else 1.0)
        return {
            "facecolor": to_rgba(fill, opacity) if fill != "none" else "none",
            "edgecolor": stroke,
            "linewidth": width if stroke != "none" else 0.0,
            "linestyle": (0, [part / (look.width or 1.0) for part in look.dash]) if look.dash else "-",
            "capstyle": "butt",
            "zorder": self._next(),
        }

    def _place(self, point: Point) -> Point:
        return self.origin[0] + self.scale * point[0], self.origin[1] + self.scale * point[1]

    def _next(self) -> int:
        self.drawn += 1
        return self.drawn
