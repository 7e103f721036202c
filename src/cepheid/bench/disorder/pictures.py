"""What was measured, as pictures.

speculation.png    latency over corrections, for each query
late_cost.png      how many times an event in order a late one costs, over the events that are kept
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from cepheid.simulation.report.chart_layout import lay_out_chart
from cepheid.simulation.report.charts import ChartLine, LineChart
from cepheid.simulation.report.png import draw_png


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
        drawn.append(_draw(title, told, [_chart_run(*run) for run in part["runs"].items()], folder / "speculation.png"))
    if "late" in result:
        title = "What an event costs that comes late, in events in order"
        charts = [_chart_late(result["late"], size) for size in (1, 100)]
        drawn.append(_draw(title, about, charts, folder / "late_cost.png"))
    return drawn


def _draw(title: str, told: str, charts: list[LineChart], path: Path) -> Path:
    draw_png(title, told, [[lay_out_chart(chart) for chart in charts]], path)
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


def _chart_late(part: dict[str, Any], size: int) -> LineChart:
    queries = dict.fromkeys(row["query"] for row in part["rows"].values())
    what = "one event a push" if size == 1 else f"{size} events a push"
    return LineChart(
        title=f"{what}: time of a late push over one in order",
        across="events kept, as a power of ten",
        lines=[
            ChartLine(
                query,
                [
                    (math.log10(row["kept"]), row[f"ratio_{size}"])
                    for row in part["rows"].values()
                    if row["query"] == query
                ],
                colour,
            )
            for colour, query in enumerate(queries, 1)
        ],
        logarithmic=True,
    )
