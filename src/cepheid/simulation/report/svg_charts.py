"""Charts as SVG.

A line has a colour, a dash and a mark of its own, so that it is told apart without colour; a cell of a heat map is one
strong colour, more or less of it, so that it reads on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
from cepheid.simulation.report.quantities import write_short
from cepheid.simulation.report.scales import Scale, linear_scale, logarithmic_scale, scale_across
from cepheid.simulation.report.svg import hint, label, picture, polyline, shape, width_of

WIDTH, HEIGHT = 560.0, 300.0
PAGE_WIDTH = 1180.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 16.0, 40.0, 44.0
TEXT = 12.0


def draw_svg(chart: Chart) -> str:
    match chart:
        case LineChart():
            return _draw_lines(chart) if chart.heights() else _draw_nothing(chart.title)
        case HeatMap():
            return _draw_heat_map(chart)
        case BarChart():
            return _draw_bars(chart)


def _draw_lines(chart: LineChart) -> str:
    legend, rows = _draw_legend(chart.lines)
    top = TOP + 18.0 * rows
    foot, height = top + HEIGHT - TOP - BOTTOM, top + HEIGHT - TOP
    up, levels = (logarithmic_scale if chart.logarithmic else linear_scale)(chart.heights_to_fit(), foot, top)
    xs = [x for line in chart.lines for x, _ in line.points]
    span, ticks = scale_across(xs, chart.ticks, LEFT, WIDTH - RIGHT)
    parts = [label(0.0, 14.0, chart.title, kind="title"), *legend]
    for shade in chart.shades:
        begin, end = span.at(max(shade.begin, span.low)), span.at(min(shade.end, span.high))
        parts.append(shape("rect", x=begin, y=top, width=max(end - begin, 0.0), height=foot - top, kind="shade"))
        if width_of(shade.name, TEXT) < end - begin - 8.0:
            parts.append(label((begin + end) / 2, foot - 8.0, shade.name, kind="note", text_anchor="middle"))
    for level in levels:
        y = up.at(level)
        parts.append(shape("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, kind="grid"))
        parts.append(label(LEFT - 7.0, y + 4.0, write_short(level), text_anchor="end", kind="tick"))
    for tick in ticks:
        x = span.at(tick)
        parts.append(shape("line", x1=x, x2=x, y1=foot, y2=foot + 4.0, kind="axis"))
        parts.append(label(x, foot + 18.0, write_short(tick), text_anchor="middle", kind="tick"))
    parts.append(shape("line", x1=LEFT, x2=WIDTH - RIGHT, y1=foot, y2=foot, kind="axis"))
    parts.append(label((LEFT + WIDTH - RIGHT) / 2, foot + 36.0, chart.across, text_anchor="middle", kind="tick"))
    parts += _draw_moments([each for each in chart.moments if span.low <= each.x <= span.high], span, top, foot)
    for line in chart.lines:
        parts += _draw_line(line, span, up)
    return picture(WIDTH, height, parts, chart.title)


def _draw_nothing(title: str) -> str:
    middle = label(WIDTH / 2, 60.0, "nothing was consumed", text_anchor="middle", kind="tick")
    return picture(WIDTH, 100.0, [label(0.0, 14.0, title, kind="title"), middle], title)


def _draw_legend(lines: Sequence[ChartLine]) -> tuple[list[str], int]:
    """Names of the lines in rows under the title; how many rows."""
    if len(lines) == 1:
        return [], 0
    parts: list[str] = []
    x, row = 0.0, 0
    for line in {(line.name, line.colour): line for line in lines}.values():
        wide = 30.0 + width_of(line.name, TEXT) + 14.0
        if x and x + wide > WIDTH:
            x, row = 0.0, row + 1
        y = 32.0 + 18.0 * row
        parts.append(shape("line", x1=x, x2=x + 24.0, y1=y, y2=y, kind=f"line s{line.colour}"))
        parts.append(_draw_mark(x + 12.0, y, line.colour))
        parts.append(label(x + 30.0, y + 4.0, line.name, kind="tick"))
        x += wide
    return parts, row + 1


def _draw_moments(moments: Sequence[Moment], span: Scale, top: float, foot: float) -> list[str]:
    """Words hang at the line, towards the middle; close ones one below the other."""
    parts = []
    for number, each in enumerate(sorted(moments, key=lambda moment: moment.x)):
        x = span.at(each.x)
        left = x > (LEFT + WIDTH - RIGHT) / 2
        parts.append(shape("line", x1=x, x2=x, y1=top, y2=foot, kind="moment"))
        y = top + 12.0 + 15.0 * (number % 4)
        anchor = "end" if left else "start"
        parts.append(label(x + (-5.0 if left else 5.0), y, each.name, text_anchor=anchor, kind="note halo"))
    return parts


def _draw_line(line: ChartLine, span: Scale, up: Scale) -> list[str]:
    parts = []
    if line.band:
        highs = [(span.at(x), up.at(high)) for x, _, high in line.band]
        lows = [(span.at(x), up.at(low)) for x, low, _ in line.band]
        parts.append(polyline([*highs, *reversed(lows)], kind=f"band f{line.colour}"))
    run: list[tuple[float, float]] = []
    for x, y in [*line.points, (0.0, None)]:
        if y is not None:
            run.append((span.at(x), up.at(y)))
        elif run:
            if len(run) > 1:
                parts.append(polyline(run, kind=f"line s{line.colour}"))
            run = []
    if line.colour or len(line.points) == 1:
        parts += [
            _draw_mark(
                span.at(x), up.at(y), line.colour, f"{line.name}, {write_short(x)}: {line.write(y)}", x in line.hollow
            )
            for x, y in line.points
            if y is not None and (len(line.points) <= MOST_MARKS or x in line.hollow)
        ]
    return parts


def _draw_mark(x: float, y: float, colour: int, told: str = "", hollow: bool = False) -> str:
    """A shape for each colour."""
    size, inside = 3.6, hint(told) if told else ""
    kind = f"hollow s{colour}" if hollow else f"mark f{colour}"
    corners = {
        2: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        3: ((0, -1.3), (1.2, 1), (-1.2, 1)),
        4: ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
        5: ((0, 1.3), (1.2, -1), (-1.2, -1)),
        6: ((0, -1.4), (1.33, -0.4), (0.8, 1.1), (-0.8, 1.1), (-1.33, -0.4)),
    }.get(colour)
    if colour == 0:
        return ""
    if corners is None:
        return shape("circle", inside, cx=x, cy=y, r=size, kind=kind)
    points = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
    return shape("polygon", inside, points=points, kind=kind)


def _draw_bars(chart: BarChart) -> str:
    bars, colour = chart.bars, chart.colour
    left = max(width_of(name, TEXT) for name, _, _ in bars) + 12.0
    right = max(width_of(text, TEXT) for _, _, text in bars) + 12.0
    most = max((value or 0.0 for _, value, _ in bars), default=0.0) or 1.0
    parts = [label(0.0, 14.0, chart.title, kind="title")]
    for number, (name, value, text) in enumerate(bars):
        y, long = 28.0 + 28.0 * number, (WIDTH - left - right) * (value or 0.0) / most
        parts.append(label(left - 8.0, y + 14.0, name, text_anchor="end", kind="tick"))
        parts.append(shape("rect", x=left, y=y, width=max(long, 1.0), height=19.0, rx=2, kind=f"f{colour}"))
        parts.append(label(left + long + 7.0, y + 14.0, text))
    return picture(WIDTH, 34.0 + 28.0 * len(bars), parts, chart.title)


def _draw_heat_map(chart: HeatMap) -> str:
    cells, rows, columns, colour = chart.cells, chart.rows, chart.columns, chart.colour
    size = 11.5
    left = max((width_of(row, size) for row in rows), default=0.0) + 14.0
    wide = min(max((PAGE_WIDTH - left - RIGHT) / max(len(columns), 1), 9.0), 76.0)
    tall = 22.0 if len(rows) <= 40 else 14.0
    top = 46.0
    total = max(left + wide * len(columns) + RIGHT, WIDTH)
    foot = top + tall * len(rows)
    widest = max((width_of(cell.text, 11.0) for row in cells for cell in row), default=0.0)
    shows_text = widest + 4.0 <= wide and tall >= 16.0
    parts = [label(0.0, 14.0, chart.title, kind="title"), *_draw_key(chart)]
    for number, row in enumerate(rows):
        y = top + tall * number
        parts.append(label(left - 8.0, y + tall / 2 + 4.0, row, text_anchor="end", kind="tick"))
        for place, cell in enumerate(cells[number]):
            parts.append(_draw_cell(cell, left + wide * place, y, wide, tall, colour, shows_text))
    every = max(1, math.ceil(max((width_of(name, size) for name in columns), default=0.0) * 1.25 / wide))
    for place, name in enumerate(columns):
        if place % every == 0:
            parts.append(label(left + wide * (place + 0.5), foot + 16.0, name, text_anchor="middle", kind="tick"))
    parts.append(label(left + wide * len(columns) / 2, foot + 34.0, chart.across, text_anchor="middle", kind="tick"))
    if chart.key_crossed:
        parts.append(_draw_border(cells, left, top, wide, tall))
    return picture(total, foot + 42.0, parts, chart.title, natural=True)


def _draw_key(chart: HeatMap) -> list[str]:
    (low, high), crossed, colour = chart.key, chart.key_crossed, chart.colour
    x, parts = 0.0, []
    parts.append(label(x, 34.0, low, kind="tick"))
    x += width_of(low, TEXT) + 6.0
    for step in range(8):
        parts.append(
            shape(
                "rect", x=x, y=24.0, width=14.0, height=12.0, kind=f"f{colour}", fill_opacity=f"{_strength(step / 7)}"
            )
        )
        x += 14.0
    parts.append(label(x + 6.0, 34.0, high, kind="tick"))
    x += width_of(high, TEXT) + 26.0
    if crossed:
        parts.append(shape("rect", x=x, y=24.0, width=20.0, height=12.0, kind="crossed"))
        parts.append(label(x + 26.0, 34.0, crossed, kind="tick"))
    return parts


def _draw_cell(cell: HeatCell, x: float, y: float, wide: float, tall: float, colour: int, shows_text: bool) -> str:
    box = {"x": x + 0.5, "y": y + 0.5, "width": wide - 1.0, "height": tall - 1.0}
    told = hint(cell.told)
    if cell.share is None:
        return shape("rect", told, **box, kind="absent")
    if cell.crossed:
        return shape("rect", **box, kind="pale") + shape("rect", told, **box, kind="crossed")
    strength = _strength(cell.share)
    drawn = shape("rect", told, **box, kind=f"f{colour}", fill_opacity=f"{strength:.3f}")
    if shows_text and cell.text:
        kind = "cell strong" if strength > 0.8 else "cell"
        drawn += label(x + wide / 2, y + tall / 2 + 4.0, cell.text, text_anchor="middle", kind=kind)
    return drawn


def _draw_border(cells: Sequence[Sequence[HeatCell]], left: float, top: float, wide: float, tall: float) -> str:
    """Along each edge between a crossed cell and one that is not."""
    steps = []
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            x, y = left + wide * column, top + tall * row
            if column + 1 < len(line) and cell.crossed != line[column + 1].crossed:
                steps.append(f"M{x + wide:.1f},{y:.1f} v{tall:.1f}")
            if row + 1 < len(cells) and cell.crossed != cells[row + 1][column].crossed:
                steps.append(f"M{x:.1f},{y + tall:.1f} h{wide:.1f}")
    return shape("path", d=" ".join(steps), kind="border") if steps else ""


def _strength(share: float) -> float:
    """Even nothing is seen to be a cell."""
    return 0.06 + 0.94 * min(max(share, 0.0), 1.0)
