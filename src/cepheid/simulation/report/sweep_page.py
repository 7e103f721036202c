"""The report of a sweep: what is offered against what is achieved, latency in decades, where it stops keeping up."""

from __future__ import annotations

from cepheid.simulation.exploration.sweep import Axis, Sweep
from cepheid.simulation.report.charts import MOST_LINES
from cepheid.simulation.report.page_parts import (
    place_side_by_side,
    write_chart,
    write_figure,
    write_folded,
    write_note,
    write_section,
    write_table,
    write_title,
)
from cepheid.simulation.report.quantities import write_duration, write_money, write_share, write_value
from cepheid.simulation.report.sweep_charts import chart_bars, chart_curves, map_feasible
from cepheid.simulation.report.sweep_curves import (
    LOADS,
    choose_across,
    find_overload,
    gather_curves,
    keeps_up,
    list_figures,
    name_axis,
    varied_axes,
)

MOST_FACETS = 6
MOST_POINTS = 2_000
MOST_OPEN = 40  # rows of a table that are seen without asking
HEADS = ("latency", "p99", "throughput /s", "offered /s", "utilisation", "most waiting", "dropped", "cost/h")


def describe_sweep(sweep: Sweep) -> tuple[str, list[str]]:
    """The title of the page, and its parts."""
    axes = varied_axes(sweep)
    title = name_sweep(sweep)
    across = choose_across(sweep)
    sections = [
        write_title(title),
        write_note(
            f"{len(sweep.points):,} simulations. One keeps up when consumers get what producers are offered and no "
            "queue goes on growing. Where it does not, latencies say little: they grow with the length of the run, or "
            "leave out what has to wait outside."
        ),
    ]
    if across is not None:
        sections.append(_show_curves(sweep, across))
    elif len(axes) == 1:
        bars = [write_chart(each) for each in chart_bars(sweep, axes[0])]
        sections.append(write_section(f"By {axes[0].name}", place_side_by_side(bars)))
    if len(axes) >= 2:
        sections.append(_show_maps(sweep, across or axes[0]))
    if across is not None:
        sections.append(_list_limits(sweep, across))
    sections.append(write_section("All points", _list_points(sweep)))
    return title, [each for each in sections if each]


def name_sweep(sweep: Sweep) -> str:
    return f"Sweep over {' and '.join(axis.name for axis in varied_axes(sweep))}"


def _show_curves(sweep: Sweep, across: Axis) -> str:
    curves = len(gather_curves(sweep, across))
    notes = [] if all(map(keeps_up, sweep.points)) else ["Hollow marks: does not keep up."]
    notes += [f"{MOST_LINES} of {curves} curves are drawn."] if curves > MOST_LINES else []
    charts = [write_chart(each) for each in chart_curves(sweep, across)]
    return write_section(f"Over {name_axis(across)}", place_side_by_side(charts), write_note(" ".join(notes)))


def _show_maps(sweep: Sweep, across: Axis) -> str:
    maps = map_feasible(sweep, across)
    left = len(maps) - MOST_FACETS
    notes = [write_note(f"{left:,} more combinations are in the table.")] if left > 0 else []
    return write_section("What is feasible", *(write_figure(write_chart(each)) for each in maps[:MOST_FACETS]), *notes)


def _list_limits(sweep: Sweep, across: Axis) -> str:
    """The most of the axis across that each curve carries; of interest if it is a load."""
    if across.name not in LOADS:
        return ""
    rows, bad = [], []
    for number, curve in enumerate(gather_curves(sweep, across)):
        last, first = find_overload(curve)
        rows.append(
            [
                curve.label or "all",
                write_value(last.values[across.name]) if last else "none",
                write_value(first.values[across.name]) if first else "never here",
                write_duration(last.latency_p99_ms) if last else "",
                write_share(last.utilisation) if last else "",
                write_money(last.cost_per_hour) if last else "",
            ]
        )
        bad += [number] if last is None else []
    heads = ("", f"highest {across.name} that keeps up", "overloaded at", "p99 there", "utilisation there", "cost/h")
    table = write_table(heads, rows, bad=bad)
    return write_section(
        "How much it carries", table if len(rows) <= MOST_OPEN else write_folded(f"{len(rows):,} curves", table)
    )


def _list_points(sweep: Sweep) -> str:
    rows = [
        [
            *(write_value(point.values[axis.name]) for axis in sweep.axes),
            *list_figures(point),
            "" if keeps_up(point) else "overloaded",
        ]
        for point in sweep.points[:MOST_POINTS]
    ]
    bad = [number for number, point in enumerate(sweep.points[:MOST_POINTS]) if not keeps_up(point)]
    heads = [*(axis.name for axis in sweep.axes), *HEADS, ""]
    table = write_table(heads, rows, words=0, bad=bad)
    return table if len(rows) <= MOST_OPEN else write_folded(f"{len(rows):,} of {len(sweep.points):,} points", table)
