"""Charts as drawings: where everything stands, for pages and pictures alike.

A line has a colour, a dash and a mark of its own, so that it can be recognised without colour; a cell of a heat map is
one strong colour, more or less of it, so that it reads on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

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
from cepheid.simulation.report.drawing import (
    Box,
    Drawing,
    Mark,
    Point,
    Shape,
    Stroke,
    TextLabel,
    line,
    width_of,
    wrap_names,
)
from cepheid.simulation.report.quantities import write_short
from cepheid.simulation.report.scales import Scale, linear_scale, logarithmic_scale, scale_across

WIDTH, HEIGHT = 560.0, 300.0
PAGE_WIDTH = 1180.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 16.0, 40.0, 44.0
TEXT = 12.0
CORNERS: dict[int, tuple[Point, ...]] = {
    1: (),
    2: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    3: ((0, -1.3), (1.2, 1), (-1.2, 1)),
    4: ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    5: ((0, 1.3), (1.2, -1), (-1.2, -1)),
    6: ((0, -1.4), (1.33, -0.4), (0.8, 1.1), (-0.8, 1.1), (-1.33, -0.4)),
}


def lay_out_chart(chart: Chart) -> Drawing:
    match chart:
        case LineChart():
            return _lay_out_lines(chart) if chart.heights() else _lay_out_nothing(chart.title)
        case HeatMap():
            return _lay_out_heat_map(chart)
        case BarChart():
            return _lay_out_bars(chart)


def _lay_out_lines(chart: LineChart) -> Drawing:
    legend, rows = _lay_out_legend(chart.lines)
    top = TOP + 18.0 * rows
    foot = top + HEIGHT - TOP - BOTTOM
    up, levels = (logarithmic_scale if chart.logarithmic else linear_scale)(chart.heights_to_fit(), foot, top)
    xs = [x for line in chart.lines for x, _ in line.points]
    span, ticks = scale_across(xs, chart.ticks, LEFT, WIDTH - RIGHT)
    shapes: list[Shape] = [TextLabel(0.0, 14.0, chart.title, "title"), *legend]
    shapes += _shade(chart, span, top, foot)
    for level in levels:
        y = up.at(level)
        shapes.append(line(LEFT, y, WIDTH - RIGHT, y, "grid"))
        shapes.append(TextLabel(LEFT - 7.0, y + 4.0, write_short(level), "tick", "end"))
    for tick in ticks:
        x = span.at(tick)
        shapes.append(line(x, foot, x, foot + 4.0, "axis"))
        shapes.append(TextLabel(x, foot + 18.0, write_short(tick), "tick", "middle"))
    shapes.append(line(LEFT, foot, WIDTH - RIGHT, foot, "axis"))
    shapes.append(TextLabel((LEFT + WIDTH - RIGHT) / 2, foot + 36.0, chart.across, "tick", "middle"))
    shapes += _mark_moments([each for each in chart.moments if span.low <= each.x <= span.high], span, top, foot)
    for each in chart.lines:
        shapes += _lay_out_line(each, span, up)
    return Drawing(chart.title, WIDTH, top + HEIGHT - TOP, tuple(shapes))


def _lay_out_nothing(title: str) -> Drawing:
    middle = TextLabel(WIDTH / 2, 60.0, "nothing was consumed", "tick", "middle")
    return Drawing(title, WIDTH, 100.0, (TextLabel(0.0, 14.0, title, "title"), middle))


def _shade(chart: LineChart, span: Scale, top: float, foot: float) -> Iterator[Shape]:
    for shade in chart.shades:
        begin, end = span.at(max(shade.begin, span.low)), span.at(min(shade.end, span.high))
        yield Box(begin, top, max(end - begin, 0.0), foot - top, "shade")
        if width_of(shade.name, TEXT) < end - begin - 8.0:
            yield TextLabel((begin + end) / 2, foot - 8.0, shade.name, "note", "middle")


def _lay_out_legend(lines: Sequence[ChartLine]) -> tuple[list[Shape], int]:
    """Names of the lines in rows under the title; how many rows."""
    if len(lines) == 1:
        return [], 0
    named = list({(each.name, each.colour): each for each in lines}.values())
    shapes: list[Shape] = []
    places = wrap_names([each.name for each in named], WIDTH, TEXT, 30.0, 14.0)
    for each, (row, x) in zip(named, places, strict=True):
        y = 32.0 + 18.0 * row
        if each.has_line:
            shapes.append(line(x, y, x + 24.0, y, f"line s{each.colour}"))
        shapes += _mark(x + 12.0, y, each)
        shapes.append(TextLabel(x + 30.0, y + 4.0, each.name, "tick"))
    return shapes, places[-1][0] + 1


def _mark_moments(moments: Sequence[Moment], span: Scale, top: float, foot: float) -> Iterator[Shape]:
    """Words hang at the line, towards the middle; close ones one below the other."""
    for number, each in enumerate(sorted(moments, key=lambda moment: moment.x)):
        x = span.at(each.x)
        left = x > (LEFT + WIDTH - RIGHT) / 2
        yield line(x, top, x, foot, "moment")
        y = top + 12.0 + 15.0 * (number % 4)
        yield TextLabel(x + (-5.0 if left else 5.0), y, each.name, "halo", "end" if left else "start")


def _lay_out_line(each: ChartLine, span: Scale, up: Scale) -> Iterator[Shape]:
    if each.band:
        highs = [(span.at(x), up.at(high)) for x, _, high in each.band]
        lows = [(span.at(x), up.at(low)) for x, low, _ in each.band]
        yield Stroke((*highs, *reversed(lows)), f"band f{each.colour}")
    run: list[Point] = []
    for x, y in [*each.points, (0.0, None)]:
        if y is not None:
            run.append((span.at(x), up.at(y)))
        elif run:
            if len(run) > 1 and each.has_line:
                yield Stroke(tuple(run), f"line s{each.colour}")
            run = []
    for x, y in each.points:
        if y is not None and (len(each.points) <= MOST_MARKS or x in each.hollow):
            hint = f"{each.name}, {write_short(x)}: {each.write(y)}"
            yield from _mark(span.at(x), up.at(y), each, hint, x in each.hollow)


def _mark(x: float, y: float, each: ChartLine, hint: str = "", hollow: bool = False) -> list[Shape]:
    """A shape for each colour; what is only compared with has none."""
    if not each.colour or not each.has_marks:
        return []
    kind = f"hollow s{each.colour}" if hollow else f"mark f{each.colour}"
    return [Mark(x, y, kind, CORNERS[each.colour], 3.6, hint)]


def _lay_out_bars(chart: BarChart) -> Drawing:
    left = max(width_of(name, TEXT) for name, _, _ in chart.bars) + 12.0
    right = max(width_of(text, TEXT) for _, _, text in chart.bars) + 12.0
    most = max((value or 0.0 for _, value, _ in chart.bars), default=0.0) or 1.0
    shapes: list[Shape] = [TextLabel(0.0, 14.0, chart.title, "title")]
    for number, (name, value, text) in enumerate(chart.bars):
        y, long = 28.0 + 28.0 * number, (WIDTH - left - right) * (value or 0.0) / most
        shapes.append(TextLabel(left - 8.0, y + 14.0, name, "tick", "end"))
        shapes.append(Box(left, y, max(long, 1.0), 19.0, f"f{chart.colour}", radius=2.0))
        shapes.append(TextLabel(left + long + 7.0, y + 14.0, text))
    return Drawing(chart.title, WIDTH, 34.0 + 28.0 * len(chart.bars), tuple(shapes))


def _lay_out_heat_map(chart: HeatMap) -> Drawing:
    cells, rows, columns = chart.cells, chart.rows, chart.columns
    size = 11.5
    left = max((width_of(row, size) for row in rows), default=0.0) + 14.0
    wide = min(max((PAGE_WIDTH - left - RIGHT) / max(len(columns), 1), 9.0), 76.0)
    tall = 22.0 if len(rows) <= 40 else 14.0
    top = 46.0
    total = max(left + wide * len(columns) + RIGHT, WIDTH)
    foot = top + tall * len(rows)
    widest = max((width_of(cell.text, 11.0) for row in cells for cell in row), default=0.0)
    shows_text = widest + 4.0 <= wide and tall >= 16.0
    shapes: list[Shape] = [TextLabel(0.0, 14.0, chart.title, "title"), *_lay_out_key(chart)]
    for number, row in enumerate(rows):
        y = top + tall * number
        shapes.append(TextLabel(left - 8.0, y + tall / 2 + 4.0, row, "tick", "end"))
        for place, cell in enumerate(cells[number]):
            shapes += _lay_out_cell(cell, left + wide * place, y, wide, tall, chart.colour, shows_text)
    every = max(1, math.ceil(max((width_of(name, size) for name in columns), default=0.0) * 1.25 / wide))
    for place, name in enumerate(columns):
        if place % every == 0:
            shapes.append(TextLabel(left + wide * (place + 0.5), foot + 16.0, name, "tick", "middle"))
    shapes.append(TextLabel(left + wide * len(columns) / 2, foot + 34.0, chart.across, "tick", "middle"))
    if chart.key_crossed:
        shapes += _lay_out_border(cells, left, top, wide, tall)
    return Drawing(chart.title, total, foot + 42.0, tuple(shapes), natural=True)


def _lay_out_key(chart: HeatMap) -> Iterator[Shape]:
    low, high = chart.key
    yield TextLabel(0.0, 34.0, low, "tick")
    x = width_of(low, TEXT) + 6.0
    for step in range(8):
        yield Box(x + 14.0 * step, 24.0, 14.0, 12.0, f"f{chart.colour}", _strength(step / 7))
    x += 8 * 14.0
    yield TextLabel(x + 6.0, 34.0, high, "tick")
    x += width_of(high, TEXT) + 26.0
    if chart.key_crossed:
        yield Box(x, 24.0, 20.0, 12.0, "crossed")
        yield TextLabel(x + 26.0, 34.0, chart.key_crossed, "tick")


def _lay_out_cell(
    cell: HeatCell, x: float, y: float, wide: float, tall: float, colour: int, shows_text: bool
) -> Iterator[Shape]:
    box = (x + 0.5, y + 0.5, wide - 1.0, tall - 1.0)
    if cell.share is None:
        yield Box(*box, "absent", hint=cell.hint)
    elif cell.crossed:
        yield Box(*box, "crossed", hint=cell.hint)
    else:
        strength = _strength(cell.share)
        yield Box(*box, f"f{colour}", strength, cell.hint)
        if shows_text and cell.text:
            yield TextLabel(
                x + wide / 2, y + tall / 2 + 4.0, cell.text, "strong" if strength > 0.8 else "cell", "middle"
            )


def _lay_out_border(
    cells: Sequence[Sequence[HeatCell]], left: float, top: float, wide: float, tall: float
) -> Iterator[Shape]:
    """Along each edge between a crossed cell and one that is not."""
    for row, cells_of_row in enumerate(cells):
        for column, cell in enumerate(cells_of_row):
            x, y = left + wide * column, top + tall * row
            if column + 1 < len(cells_of_row) and cell.crossed != cells_of_row[column + 1].crossed:
                yield line(x + wide, y, x + wide, y + tall, "border")
            if row + 1 < len(cells) and cell.crossed != cells[row + 1][column].crossed:
                yield line(x, y + tall, x + wide, y + tall, "border")


def _strength(share: float) -> float:
    """Even nothing is seen to be a cell."""
    return 0.06 + 0.94 * min(max(share, 0.0), 1.0)
