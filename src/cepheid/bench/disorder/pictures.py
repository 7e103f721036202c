"""What was measured, as pictures.

speculation.png    latency over corrections, for each query
late_cost.png      what a late event costs over the events that are kept: beside what is allowed, and alone
instances_*.png    operator instances by their number and over time, in the form of the thesis' Figures 7-3 to 7-17
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from cepheid.bench.disorder.instances.draw_figures import draw_instances
from cepheid.simulation.report.chart_layout import lay_out_chart
from cepheid.simulation.report.charts import ChartLine, LineChart
from cepheid.simulation.report.png import draw_png

MOST_LINES = 4  # of a chart
OF_LATE = {
    "one event a push, late: ms": "late_1_ms",
    "one event a push: of what is allowed": "of_allowed_1",
    "100 events a push: of what is allowed": "of_allowed_100",
}


def draw_pictures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Of those parts that were measured."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{result['cores']} cores, one of them used; commit {result['commit']}, seed {result['seed']}"
    drawn = []
    if "speculation" in result:
        part = result["speculation"]
        title = f"What earlier rows cost: {part['stream']}"
        told = (
            f"{part['events']:,} events, corrected for {part['bound_s']:g} s; each mark holds events for less; {about}"
        )
        drawn.append(
            _draw(title, told, [[_chart_run(*run) for run in part["runs"].items()]], folder / "speculation.png")
        )
    if "late" in result:
        part = result["late"]
        queries = list(dict.fromkeys(row["query"] for row in part["rows"].values()))
        shown = [queries[at : at + MOST_LINES] for at in range(0, len(queries), MOST_LINES)]
        charts = [[_chart_late(part, title, key, each) for each in shown] for title, key in OF_LATE.items()]
        told = f"events that wait for nothing and may all be corrected; {about}"
        drawn.append(_draw("What an event costs that comes late", told, charts, folder / "late_cost.png"))
    if "instances" in result:
        drawn += draw_instances(result["instances"], about_machine(result), folder)
    return drawn


def about_machine(result: dict[str, Any]) -> str:
    return f"{result['cores']} cores; commit {result['commit']}, seed {result['seed']}"


def _draw(title: str, told: str, rows: list[list[LineChart]], path: Path) -> Path:
    draw_png(title, told, [[lay_out_chart(chart) for chart in row] for row in rows], path)
    return path


def _chart_run(query: str, runs: dict[str, Any]) -> LineChart:
    """From events that are held for the whole wait to those that are not held at all."""
    found = [run for name, run in runs.items() if name.startswith("holds")]
    waits = runs["waits for all"]
    return LineChart(
        title=f"{query}: latency of rows, ms",
        across="corrections per 1,000 rows",
        lines=[
            ChartLine("p99, corrected", [(run["corrections_per_1000"], run["p99_ms"]) for run in found], 2),
            ChartLine("median, corrected", [(run["corrections_per_1000"], run["p50_ms"]) for run in found], 1),
            ChartLine("median, waits for all", [(waits["corrections_per_1000"], waits["p50_ms"])], 3, has_line=False),
        ],
        logarithmic=True,
    )


def _chart_late(part: dict[str, Any], title: str, key: str, queries: list[str]) -> LineChart:
    """key: of what is drawn, in each row."""
    points: dict[str, list[tuple[float, float | None]]] = {query: [] for query in queries}
    for row in part["rows"].values():
        if row["query"] in points:
            points[row["query"]].append((math.log10(row["kept"]), row[key]))
    lines = [ChartLine(query, each, colour) for colour, (query, each) in enumerate(points.items(), 1)]
    return LineChart(title=title, across="events kept, as a power of ten", lines=lines, logarithmic=True)
