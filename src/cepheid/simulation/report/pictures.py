"""The charts of a run or of a sweep as one picture, for slides and pages: what a report shows, on white.

+----------------------------------+
| title                            |
| what was simulated               |
+----------------+-----------------+
| throughput     | latency         |
+----------------+-----------------+
| heat map, or two more charts     |
+----------------------------------+
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.simulation.exploration.sweep import Sweep
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.report.charts import (
    MOST_MARKS,
    BarChart,
    Chart,
    ChartLine,
    HeatCell,
    HeatMap,
    LineChart,
    Moment,
)
from cepheid.simulation.report.digest import digest_outcome
from cepheid.simulation.report.outcome_charts import chart_latency, chart_throughput, map_queues, map_utilisation
from cepheid.simulation.report.outcome_page import describe_settings, name_run
from cepheid.simulation.report.quantities import write_short
from cepheid.simulation.report.scales import Scale, linear_scale, logarithmic_scale, scale_across
from cepheid.simulation.report.sweep_charts import chart_bars, chart_curves, map_feasible
from cepheid.simulation.report.sweep_curves import choose_across, keeps_up, varied_axes
from cepheid.simulation.report.sweep_page import name_sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER, INK, FAINT, RULE, SHADE = "#ffffff", "#1c2430", "#5b6675", "#dde2e9", "#fbeee5"
PALE, HATCH = "#e9ecf0", "#b4bcc7"
COLOURS = ("#7b8694", "#0072b2", "#d55e00", "#009e73", "#b45f93", "#b58400", "#3d9bd1")  # Okabe and Ito's, for white
MARKS = ("", "o", "s", "^", "D", "v", "p")
DASHES: tuple[Any, ...] = ("--", "-", (0, (6, 2)), (0, (3, 1.5)), (0, (7, 2, 1.5, 2)), (0, (4, 1.5)), (0, (1.5, 1.5)))
WIDTH_IN, DPI = 14.0, 110
MOST_ROWS = 24


def _row_height(chart: HeatMap) -> float:
    """In inches; of many rows lower, and then without words in the cells."""
    return 0.27 if len(chart.rows) <= 30 else 0.17


def draw_outcome(outcome: Outcome, path: Path) -> None:
    """Write the picture, as the kind of file that the path's ending names."""
    digest = digest_outcome(outcome, MOST_ROWS)
    changes = outcome.scenario.changes
    rows: list[list[Chart]] = [[chart_throughput(digest, changes), chart_latency(digest, changes)]]
    maps = [each for each in (map_queues(digest), map_utilisation(digest)) if each is not None]
    side_by_side = all(sum(_measure_map(each)) < WIDTH_IN / 2 - 0.6 for each in maps)
    rows += [[*maps]] if side_by_side else [[each] for each in maps]
    _draw(name_run(outcome.scenario), describe_settings(outcome.scenario), rows, path)


def draw_sweep(sweep: Sweep, path: Path) -> None:
    """Write the picture, as the kind of file that the path's ending names."""
    axes, across = varied_axes(sweep), choose_across(sweep)
    rows: list[list[Chart]] = []
    if across is not None:
        curves = chart_curves(sweep, across)
        rows.append([*curves[:2]])
        if len(axes) == 1:
            rows += [[*curves[start : start + 2]] for start in range(2, len(curves), 2)]
    elif len(axes) == 1:
        rows.append([*chart_bars(sweep, axes[0])])
    if len(axes) >= 2:
        rows += [[each] for each in map_feasible(sweep, across or axes[0])[:3]]
    drawn = (
        "hatched cells" if across is None else "hollow marks" if len(axes) == 1 else "hollow marks and hatched cells"
    )
    behind = not all(map(keeps_up, sweep.points)) and (across is not None or len(axes) >= 2)
    told = f"{len(sweep.points):,} simulations" + (f"; {drawn} do not keep up with what is offered" if behind else "")
    _draw(name_sweep(sweep), told, rows, path)


def _draw(title: str, told: str, rows: Sequence[Sequence[Chart]], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [_height_of(row) for row in rows]
    total = 1.0 + sum(heights)
    with warnings.catch_warnings():
        # a name in letters that the font lacks is drawn as boxes; that is seen, and needs no warning
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        figure = Figure(figsize=(WIDTH_IN, total), dpi=DPI, facecolor=PAPER)
        FigureCanvasAgg(figure)
        _write(figure, 0.35, total - 0.42, title, fontsize=19, fontweight="bold", color=INK)
        _write(figure, 0.35, total - 0.72, told, fontsize=11.5, color=FAINT)
        top = total - 1.0
        for row, height in zip(rows, heights, strict=True):
            for place, chart in enumerate(row):
                _place(figure, chart, place, top, height)
            top -= height
        figure.savefig(path, facecolor=PAPER)


def _measure_map(chart: HeatMap) -> tuple[float, float]:
    """Inches for the names of the rows, and for the cells."""
    wide = 0.085 * max(map(len, chart.rows), default=0) + 0.25
    return wide, min(WIDTH_IN - 0.7 - wide, 0.85 * max(len(chart.columns), 1))


def _height_of(row: Sequence[Chart]) -> float:
    """In inches, with titles and ticks."""
    match row[0]:
        case HeatMap():
            return 1.45 + max(_row_height(chart) * len(chart.rows) for chart in row if isinstance(chart, HeatMap))
        case BarChart() as chart:
            return 0.85 + 0.42 * len(chart.bars)
        case _:
            return 4.3


def _place(figure: Figure, chart: Chart, place: int, top: float, height: float) -> None:
    total = figure.get_figheight()
    left = 0.35 + place * WIDTH_IN / 2
    _write(figure, left, top - 0.25, chart.title, fontsize=12.5, fontweight="bold", color=INK)
    match chart:
        case LineChart():
            box = (left + 0.55, top - height + 0.75, WIDTH_IN / 2 - 1.15, height - 1.3 - 0.2 * _legend_rows(chart))
            axes = figure.add_axes((box[0] / WIDTH_IN, box[1] / total, box[2] / WIDTH_IN, box[3] / total))
            _draw_lines(axes, chart)
            if chart.heights() and _legend_rows(chart):
                _draw_legend(figure, axes, left, top - 0.36)
        case HeatMap():
            wide, long = _measure_map(chart)
            columns = max(len(chart.columns), 1)
            tall = _row_height(chart) * len(chart.rows)
            box = (left + wide, top - 0.75 - tall, long, tall)
            axes = figure.add_axes((box[0] / WIDTH_IN, box[1] / total, box[2] / WIDTH_IN, box[3] / total))
            _draw_heat_map(axes, chart, long / columns)
            _draw_key(figure, chart, left, top - 0.55)
        case BarChart():
            wide = 0.09 * max(len(name) for name, _, _ in chart.bars) + 0.3
            box = (left + wide, top - height + 0.35, WIDTH_IN / 2 - 2.2 - wide, 0.42 * len(chart.bars))
            axes = figure.add_axes((box[0] / WIDTH_IN, box[1] / total, box[2] / WIDTH_IN, box[3] / total))
            _draw_bars(axes, chart)


def _draw_lines(axes: Axes, chart: LineChart) -> None:
    _clear(axes)
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    if not chart.heights():
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "nothing was consumed", transform=axes.transAxes, ha="center", color=FAINT)
        return
    up, levels = (logarithmic_scale if chart.logarithmic else linear_scale)(chart.heights_to_fit(), 0.0, 1.0)
    span, ticks = scale_across([x for line in chart.lines for x, _ in line.points], chart.ticks, 0.0, 1.0)
    axes.set_yscale("log" if chart.logarithmic else "linear")
    axes.set(xlim=(span.low, span.high), ylim=(up.low, up.high))
    axes.minorticks_off()
    axes.set_xticks(ticks, [write_short(tick) for tick in ticks])
    axes.set_yticks(levels, [write_short(level) for level in levels])
    axes.set_xlabel(_plain(chart.across), color=FAINT, fontsize=11)
    for line in chart.lines:
        _draw_line(axes, line)
    for shade in chart.shades:
        begin, end = max(shade.begin, span.low), min(shade.end, span.high)
        axes.axvspan(begin, end, color=SHADE, zorder=0)
        if span.at(end) - span.at(begin) > 0.16:
            place = axes.get_xaxis_transform()
            axes.text((begin + end) / 2, 0.03, shade.name, transform=place, ha="center", color=FAINT)
    _mark_moments(axes, [each for each in chart.moments if span.low <= each.x <= span.high], span)


def _mark_moments(axes: Axes, moments: Sequence[Moment], span: Scale) -> None:
    """Words hang at their line, towards the middle, neighbours one below the other."""
    from matplotlib.patheffects import withStroke

    for number, moment in enumerate(sorted(moments, key=lambda each: each.x)):
        left = span.at(moment.x) > 0.5
        axes.axvline(moment.x, color=FAINT, linewidth=1.0, linestyle=":")
        axes.annotate(
            _plain(moment.name),
            (moment.x, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-5 if left else 5, -11 - 14 * (number % 4)),
            textcoords="offset points",
            ha="right" if left else "left",
            fontsize=10,
            color=FAINT,
            path_effects=[withStroke(linewidth=3, foreground=PAPER)],
            zorder=6,
        )


def _draw_legend(figure: Figure, axes: Axes, left: float, top: float) -> None:
    """Under the title; left, top: inches."""
    labelled = [(str(line.get_label()), line) for line in axes.get_lines()]
    # what is offered is drawn once for each line and named once; matplotlib's own names begin with an underscore
    unique = {(name, str(line.get_color())): line for name, line in labelled if not name.startswith("_")}
    names = [name for name, _ in unique]
    axes.legend(
        unique.values(),
        names,
        loc="upper left",
        bbox_to_anchor=(left + 0.02, top),
        bbox_transform=figure.dpi_scale_trans,
        ncols=_legend_columns(names),
        frameon=False,
        fontsize=9.5,
        labelcolor=FAINT,
        borderaxespad=0.0,
        borderpad=0.0,
        columnspacing=1.4,
        handlelength=2.6,
    )


def _legend_columns(names: Sequence[str]) -> int:
    return max(1, min(len(names), int((WIDTH_IN / 2 - 0.6) / (0.078 * max(map(len, names)) + 0.62))))


def _legend_rows(chart: LineChart) -> int:
    names = [name for name, _ in dict.fromkeys((line.name, line.colour) for line in chart.lines)]
    return -(-len(names) // _legend_columns(names)) if len(names) > 1 else 0


def _draw_line(axes: Axes, line: ChartLine) -> None:
    colour = COLOURS[line.colour]
    points = [(x, np.nan if y is None else y) for x, y in line.points]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if line.band:
        x, low, high = zip(*line.band, strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(
        xs,
        ys,
        color=colour,
        linestyle=DASHES[line.colour],
        linewidth=1.5 if line.colour == 0 else 2.0,
        marker=MARKS[line.colour] if len(points) <= MOST_MARKS else "",
        markersize=5.5,
        markeredgecolor=PAPER,
        markeredgewidth=0.7,
        label=_plain(line.name),
        zorder=2 if line.colour == 0 else 3,
        clip_on=False,
    )
    hollow = [(x, y) for x, y in points if x in line.hollow]
    if hollow:
        axes.plot(
            *zip(*hollow, strict=True),
            color=colour,
            linestyle="",
            marker=MARKS[line.colour],
            markersize=5.5,
            markerfacecolor=PAPER,
            markeredgewidth=1.3,
            zorder=4,
            clip_on=False,
        )


def _draw_heat_map(axes: Axes, chart: HeatMap, wide: float) -> None:
    """Cells with a thin gap; what cannot be read in them is not written."""
    from matplotlib.patches import Rectangle

    _clear(axes)
    axes.spines[:].set_visible(False)
    longest = max((len(cell.text) for row in chart.cells for cell in row), default=0)
    readable = 0.075 * longest + 0.06 <= wide and _row_height(chart) > 0.2
    for down, row in enumerate(chart.cells):
        _hatch_crossed(axes, down, row)
        for along, cell in enumerate(row):
            box: dict[str, Any] = {"linewidth": 0.8, "edgecolor": PAPER}
            if cell.crossed:
                continue
            if cell.share is None:
                axes.add_patch(Rectangle((along, down), 1, 1, fill=False, linewidth=0.8, edgecolor=RULE))
            else:
                axes.add_patch(Rectangle((along, down), 1, 1, facecolor=_tint(chart.colour, cell.share), **box))
            if readable and cell.text:
                strong = cell.share is not None and cell.share > 0.8
                _write_in(axes, along + 0.5, down + 0.53, cell.text, PAPER if strong else INK)
    if chart.key_crossed:
        _draw_border(axes, chart)
    axes.set(xlim=(0, len(chart.columns)), ylim=(len(chart.rows), 0))
    axes.set_yticks(np.arange(len(chart.rows)) + 0.5, [_plain(row) for row in chart.rows])
    axes.tick_params(axis="y", labelsize=10.5 if _row_height(chart) > 0.2 else 8.5)
    every = max(1, int(np.ceil((0.09 * max(map(len, chart.columns), default=0) + 0.1) / wide)))
    places = list(range(0, len(chart.columns), every))
    axes.set_xticks(
        [place + 0.5 for place in places], [_plain(chart.columns[place]) for place in places], fontsize=10.5
    )
    axes.set_xlabel(_plain(chart.across), color=FAINT, fontsize=11)


def _hatch_crossed(axes: Axes, down: int, row: Sequence[HeatCell]) -> None:
    """Neighbours at once: drawing hatches is slow."""
    from matplotlib.patches import Rectangle

    for crossed, group in groupby(enumerate(row), key=lambda each: each[1].crossed):
        places = [place for place, _ in group]
        if crossed:
            look: dict[str, Any] = {"linewidth": 0.0, "hatch": "////", "facecolor": PALE, "edgecolor": HATCH}
            axes.add_patch(Rectangle((places[0], down), len(places), 1, **look))


def _draw_border(axes: Axes, chart: HeatMap) -> None:
    crossed = np.array([[cell.crossed for cell in row] for row in chart.cells])
    for down, along in np.argwhere(crossed[:, 1:] != crossed[:, :-1]):
        axes.plot([along + 1] * 2, [down, down + 1], color=INK, linewidth=2.4, solid_capstyle="projecting", zorder=5)
    for down, along in np.argwhere(crossed[1:] != crossed[:-1]):
        axes.plot([along, along + 1], [down + 1] * 2, color=INK, linewidth=2.4, solid_capstyle="projecting", zorder=5)


def _draw_key(figure: Figure, chart: HeatMap, left: float, y: float) -> None:
    from matplotlib.patches import Rectangle

    total, tall = figure.get_figheight(), 0.15
    x = left

    def box(wide: float, **look: Any) -> None:
        corner = (x / WIDTH_IN, y / total)
        figure.add_artist(Rectangle(corner, wide / WIDTH_IN, tall / total, transform=figure.transFigure, **look))

    x += _write(figure, x, y + 0.02, chart.key[0], fontsize=10, color=FAINT) + 0.1
    for step in range(8):
        box(0.17, facecolor=_tint(chart.colour, step / 7), linewidth=0)
        x += 0.17
    x += 0.1
    x += _write(figure, x, y + 0.02, chart.key[1], fontsize=10, color=FAINT) + 0.35
    if chart.key_crossed:
        box(0.3, facecolor=PALE, hatch="////", edgecolor=HATCH, linewidth=0)
        _write(figure, x + 0.4, y + 0.02, chart.key_crossed, fontsize=10, color=FAINT)


def _draw_bars(axes: Axes, chart: BarChart) -> None:
    _clear(axes)
    axes.spines[:].set_visible(False)
    places = np.arange(len(chart.bars))
    axes.barh(places, [value or 0.0 for _, value, _ in chart.bars], height=0.62, color=COLOURS[chart.colour])
    for place, (_, value, text) in enumerate(chart.bars):
        axes.annotate(
            _plain(text), (value or 0.0, place), xytext=(6, 0), textcoords="offset points", va="center", color=INK
        )
    axes.set_yticks(places, [_plain(name) for name, _, _ in chart.bars], fontsize=11)
    axes.set_xticks([])
    axes.set_ylim(len(chart.bars) - 0.5, -0.5)


def _tint(colour: int, share: float) -> tuple[float, float, float]:
    """The colour on white, stronger for more."""
    from matplotlib.colors import to_rgb

    strength = 0.06 + 0.94 * min(max(share, 0.0), 1.0)
    red, green, blue = (1.0 - strength * (1.0 - part) for part in to_rgb(COLOURS[colour]))
    return red, green, blue


def _clear(axes: Axes) -> None:
    axes.set_facecolor("none")
    axes.tick_params(which="both", colors=FAINT, labelsize=10.5, length=0, pad=6)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.set_axisbelow(True)


def _write(figure: Figure, x: float, y: float, text: str, **look: Any) -> float:
    """At inches from the corner; how wide it became."""
    written = figure.text(x / WIDTH_IN, y / figure.get_figheight(), _plain(text), **look)
    return float(written.get_window_extent().width) / DPI


def _write_in(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    axes.text(x, y, _plain(text), ha="center", va="center", fontsize=9.5, color=colour)


def _plain(text: str) -> str:
    """A dollar in a user's name does not begin a formula, nor an underscore hide a line from the legend."""
    return text.replace("$", r"\$") if not text.startswith("_") else " " + text.replace("$", r"\$")
