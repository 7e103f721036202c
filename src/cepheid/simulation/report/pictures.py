"""Which charts a picture of a run or of a sweep has, and where: what a report shows, for slides and pages.

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

from pathlib import Path

from cepheid.simulation.exploration.sweep import Sweep
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.report.chart_layout import WIDTH, lay_out_chart
from cepheid.simulation.report.charts import Chart
from cepheid.simulation.report.digest import digest_outcome
from cepheid.simulation.report.outcome_charts import chart_latency, chart_throughput, map_queues, map_utilisation
from cepheid.simulation.report.outcome_page import describe_settings, name_run
from cepheid.simulation.report.png import draw_png
from cepheid.simulation.report.sweep_charts import chart_bars, chart_curves, map_feasible
from cepheid.simulation.report.sweep_curves import choose_across, keeps_up, varied_axes
from cepheid.simulation.report.sweep_page import name_sweep

MOST_ROWS = 24


def draw_outcome(outcome: Outcome, path: Path) -> None:
    """Write the picture, as the kind of file that the path's ending names."""
    digest = digest_outcome(outcome, MOST_ROWS)
    rows = [[lay_out_chart(draw(digest, outcome.scenario)) for draw in (chart_throughput, chart_latency)]]
    maps = [lay_out_chart(each) for each in (map_queues(digest), map_utilisation(digest)) if each is not None]
    rows += [maps] if all(each.width <= WIDTH for each in maps) else [[each] for each in maps]
    draw_png(name_run(outcome.scenario), describe_settings(outcome.scenario), rows, path)


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
    note = f"; {drawn} do not keep up with what is offered" if behind else ""
    draw_png(
        name_sweep(sweep),
        f"{len(sweep.points):,} simulations{note}",
        [[lay_out_chart(each) for each in row] for row in rows],
        path,
    )
