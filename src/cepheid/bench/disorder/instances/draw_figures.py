"""Operator instances as pictures, in the form of the thesis' figures.

instances_numbers.png        Figures 7-3 to 7-7: throughput and latency by instances
instances_speculation.png    Figures 7-8 to 7-12: latency over time, a chart for each number of instances
instances_checkpoints.png    Figures 7-13 to 7-17: the same, by the events between two checkpoints
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cepheid.bench.disorder.instances.experiments import BLACK_SIZE, BLACK_SLIDE
from cepheid.bench.disorder.instances.streams import RAMP, RAMP_STREAM_S
from cepheid.simulation.report.chart_layout import lay_out_chart
from cepheid.simulation.report.charts import ChartLine, LineChart
from cepheid.simulation.report.png import draw_png

LATE_UNTIL = RAMP.end_s / RAMP_STREAM_S  # of a stream
COLOURS = {"open box": 1, "black box": 2}
FIRST_OF_FACTORS, FIRST_OF_INTERVALS = 8, 13  # figures; one for each number of instances
NUMBERS = (1, 2, 4, 8, 16)  # of instances, in the order of the figures


def draw_instances(part: dict[str, Any], about: str, folder: Path) -> list[Path]:
    extent = part["extent"]
    windows = f"windows of {extent['size']:,} events every {extent['slide']:,}"
    small = f"windows of {extent['time_size']:,} every {extent['time_slide']:,}"
    told = f"{windows} (a black box that speculates: {BLACK_SIZE} every {BLACK_SLIDE}), 100 us of load; {about}"
    over_time = (
        f"{extent['over_time']:,} events, {small}, 100 us of load, C late in the first {LATE_UNTIL:.0%}; {about}"
    )
    by_number = [
        _chart_numbers(part["waits"], "Figure 7-3: throughput without speculation, events/s", "events_per_s"),
        _chart_numbers(part["waits"], "Figure 7-4: mean latency without speculation, ms", "mean_ms"),
        _chart_numbers(part["speculates"], "Figure 7-5: throughput with speculation, events/s", "events_per_s"),
        _chart_numbers(part["speculates"], "Figure 7-6: mean latency with speculation, ms", "mean_ms"),
        _chart_numbers(part["out_of_order"], "Figure 7-7: mean latency out of order, no speculation, ms", "mean_ms"),
    ]
    factors = [_chart_time(each, runs, FIRST_OF_FACTORS) for each, runs in part["factors"].items()]
    intervals = [_chart_time(each, runs, FIRST_OF_INTERVALS) for each, runs in part["intervals"].items()]
    return [
        _draw("Operator instances by their number", told, by_number, folder / "instances_numbers.png"),
        _draw("Latency over time, by speculation", over_time, factors, folder / "instances_speculation.png"),
        _draw(
            "Latency over time, by the events between checkpoints",
            over_time,
            intervals,
            folder / "instances_checkpoints.png",
        ),
    ]


def _draw(title: str, told: str, charts: list[LineChart], path: Path) -> Path:
    drawings = [lay_out_chart(chart) for chart in charts]
    draw_png(title, told, [drawings[at : at + 2] for at in range(0, len(drawings), 2)], path)
    return path


def _chart_numbers(rows: dict[str, Any], title: str, key: str) -> LineChart:
    lines = [
        ChartLine(strategy, [(int(instances), row[strategy][key]) for instances, row in rows.items()], colour)
        for strategy, colour in COLOURS.items()
    ]
    return LineChart(
        title=title,
        across="operator instances",
        lines=lines,
        logarithmic=_is_wide(lines),
        ticks=[int(each) for each in rows],
    )


def _chart_time(instances: str, runs: dict[str, Any], first: int) -> LineChart:
    colour = 0 if first == FIRST_OF_FACTORS else 1  # of the run that the others are compared with
    lines = [
        ChartLine(_name(name), list(zip(run["at_s"], run["ms"], strict=True)), number, has_marks=number > 0)
        for number, (name, run) in enumerate(runs.items(), colour)
    ]
    figure = first + NUMBERS.index(int(instances))
    counted = f"{instances} instance" + ("" if instances == "1" else "s")
    return LineChart(
        title=f"Figure 7-{figure}: mean latency, ms; {counted}",
        across="seconds since the first event",
        lines=lines,
        logarithmic=True,
    )


def _name(run: str) -> str:
    return f"{run} speculation" if run.endswith("%") else run


def _is_wide(lines: list[ChartLine]) -> bool:
    heights = [y for line in lines for _, y in line.points if y]
    return max(heights) > 20 * min(heights)
