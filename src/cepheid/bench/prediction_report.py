"""Predicted and measured side by side: as rows, and as a picture.

+----------------+----------------+
| Q2 embedded    | Q5 embedded    |     throughput over offered rate: the line as predicted, marks as measured,
+----------------+----------------+     filled where the host kept up
| Q2 spark       | Q5 spark       |
+----------------+----------------+
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cepheid.simulation.report.chart_layout import lay_out_chart
from cepheid.simulation.report.charts import ChartLine, LineChart, Moment, Shade
from cepheid.simulation.report.png import draw_png


def list_rows(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """One row for each comparison."""
    return {
        f"{title}, {row['what']}": {
            "offered": row["offered_per_s"] if row["offered_per_s"] is not None else "",
            "predicted": row["predicted_per_s"],
            "measured": row["measured_per_s"],
            "error": f"{row['error']:+.1%}",
        }
        for title, compared in result["predictions"].items()
        for row in compared["rows"]
    }


def draw_report(result: dict[str, Any], path: Path) -> None:
    """As the kind of file that the path's ending names."""
    charts = [lay_out_chart(_chart_one(title, each, result["asked"])) for title, each in result["predictions"].items()]
    draw_png(
        f"Predicted by the simulator, then measured: worst error {result['worst_error']:.1%}",
        f"asked: {result['asked']:.0%}; {result['cores']} cores, commit {result['commit']}, load before "
        f"{result['load_before']}; hollow marks: measured while the backlog grew",
        [charts[place : place + 2] for place in range(0, len(charts), 2)],
        path,
    )


def _chart_one(title: str, each: dict[str, Any], asked: float) -> LineChart:
    *rows, overload = each["rows"]
    limit, found = overload["predicted_per_s"], overload["measured_per_s"]
    runs = each["runs"]
    right = max(*(run["offered_per_s"] for run in runs), limit, found)
    curve = [(0.0, 0.0), (limit, limit), (right, limit)]
    low, high = each["overload_between"]
    verdict = f"overload: predicted {limit / 1e6:.3g} M/s, measured {found / 1e6:.3g} ({overload['error']:+.1%})"
    return LineChart(
        title=f"{title}: throughput, events/s",
        across=f"offered, events/s  ({each['overhead_ms']:,.4g} ms a batch + {each['event_us']:.3g} µs an event)",
        lines=[
            ChartLine(
                f"predicted, within {asked:.0%}",
                curve,
                2,
                [(x, y * (1.0 - asked), y * (1.0 + asked)) for x, y in curve],
                has_marks=False,
            ),
            _mark_runs("predicted", [(row["offered_per_s"], row["predicted_per_s"]) for row in rows], 2),
            _mark_runs(
                "measured",
                [(run["offered_per_s"], run["throughput_per_s"]) for run in runs],
                1,
                frozenset(run["offered_per_s"] for run in runs if run["overloaded"]),
            ),
        ],
        moments=[Moment(limit, verdict)],
        shades=[Shade(low, high, "measured")],
    )


def _mark_runs(
    name: str, points: Sequence[tuple[float, float]], colour: int, hollow: frozenset[float] = frozenset()
) -> ChartLine:
    return ChartLine(name, points, colour, hollow=hollow, has_line=False)
