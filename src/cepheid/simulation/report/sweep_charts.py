"""What is drawn of a sweep: offered against achieved, latency in decades, and what is feasible."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cepheid.simulation.exploration.sweep import Axis, Sweep, SweepPoint
from cepheid.simulation.report.charts import (
    MOST_LINES,
    BarChart,
    ChartLine,
    HeatCell,
    HeatMap,
    LineChart,
    Moment,
    Shade,
    logarithmic_share,
    name_range,
)
from cepheid.simulation.report.quantities import (
    clean_name,
    write_count,
    write_duration,
    write_money,
    write_short,
    write_value,
)
from cepheid.simulation.report.sweep_curves import (
    LOADS,
    Curve,
    find_overload,
    gather_curves,
    keeps_up,
    name_axis,
    name_values,
    range_of_latency,
    split_facets,
    thin_curves,
    varied_axes,
)

Figure = Callable[[SweepPoint], float | None]


def chart_curves(sweep: Sweep, across: Axis) -> list[LineChart]:
    """Throughput, latency, utilisation; waiting and cost where they vary."""
    curves = gather_curves(sweep, across)
    shown = thin_curves(curves, MOST_LINES)
    alone = len(shown) == 1

    def trace(name: str, figure: Figure, write: Callable[[float], str], first: int = 1) -> list[ChartLine]:
        return [
            ChartLine(
                name if alone else curve.label,
                [(_at(point, across), figure(point)) for point in curve.points],
                first + number,
                (),
                write,
                frozenset(_at(point, across) for point in curve.points if not keeps_up(point)),
            )
            for number, curve in enumerate(shown)
        ]

    shades = _shade_overload(shown[0], across) if alone else []

    def chart(
        title: str, lines: list[ChartLine], logarithmic: bool = False, moments: Sequence[Moment] = ()
    ) -> LineChart:
        return LineChart(
            title=title,
            across=name_axis(across),
            lines=lines,
            logarithmic=logarithmic,
            shades=shades,
            moments=moments,
        )

    latency = trace("p99", lambda point: _seconds(point.latency_p99_ms), _write_seconds)
    if alone:
        latency += trace("mean", lambda point: _seconds(point.latency_ms), _write_seconds, first=2)
    charts = [
        chart(
            "Throughput, source events/s",
            trace("achieved", lambda point: point.throughput_per_s, write_count) + _trace_offer(curves, across),
            moments=_mark_limit(shown[0], across) if alone else (),
        ),
        chart("Latency, s" if alone else "Latency p99, s", latency, logarithmic=True),
        chart("Utilisation of the busiest machine, %", trace("used", _percent_used, lambda value: f"{value:.0f} %")),
    ]
    if any(point.most_waiting > 0.0 for point in sweep.points):
        waiting = trace("waiting", lambda point: point.most_waiting, write_count)
        charts.append(chart("Most events waiting at a vertex", waiting))
    if any(len({point.cost_per_hour for point in curve.points}) > 1 for curve in curves):
        charts.append(chart("Cost per hour", trace("cost", lambda point: point.cost_per_hour, write_money)))
    return charts


def map_feasible(sweep: Sweep, across: Axis) -> list[HeatMap]:
    """p99 over two axes; one map for each combination of the others."""
    down = next(axis for axis in varied_axes(sweep) if axis.name != across.name)
    low, high = range_of_latency(sweep)
    return [
        HeatMap(
            title="Latency p99" + (f": {name}" if name else ""),
            across=name_axis(across),
            rows=[name_values([down], [y]) for y in reversed(down.values)],
            columns=[write_short(x) if isinstance(x, int | float) else write_value(x) for x in across.values],
            cells=[[_show_point(cells.get((x, y)), low, high) for x in across.values] for y in reversed(down.values)],
            key=name_range(write_duration(low), write_duration(high), high / low),
            key_crossed="does not keep up",
        )
        for name, cells in split_facets(sweep, across, down)
    ]


def chart_bars(sweep: Sweep, axis: Axis) -> list[BarChart]:
    """For an axis of words."""
    throughput: list[tuple[str, float | None, str]] = []
    latency: list[tuple[str, float | None, str]] = []
    for point in sweep.points:
        name, behind = write_value(point.values[axis.name]), "" if keeps_up(point) else ", overloaded"
        throughput.append((name, point.throughput_per_s, write_count(point.throughput_per_s) + behind))
        latency.append((name, point.latency_p99_ms, write_duration(point.latency_p99_ms) + behind))
    return [
        BarChart(title="Throughput, source events/s", bars=throughput),
        BarChart(title="Latency p99", bars=latency, colour=2),
    ]


def _trace_offer(curves: Sequence[Curve], across: Axis) -> list[ChartLine]:
    """What is offered, if that is the same on every curve, but for rounding."""
    offers = {
        tuple((_at(point, across), float(f"{point.offered_per_s:.6g}")) for point in curve.points) for curve in curves
    }
    return [ChartLine("offered", list(offers.pop()), 0, (), write_count)] if len(offers) == 1 else []


def _shade_overload(curve: Curve, across: Axis) -> list[Shade]:
    """From halfway between a point that keeps up and its neighbour that does not."""
    shades = []
    xs = [_at(point, across) for point in curve.points]
    begin: float | None = None
    for number, point in enumerate(curve.points):
        if not keeps_up(point) and begin is None:
            begin = (xs[number - 1] + xs[number]) / 2 if number else float("-inf")
        if keeps_up(point) and begin is not None:
            shades.append(Shade(begin, (xs[number - 1] + xs[number]) / 2, "overloaded"))
            begin = None
    return shades + ([Shade(begin, float("inf"), "overloaded")] if begin is not None else [])


def _mark_limit(curve: Curve, across: Axis) -> list[Moment]:
    last, first = find_overload(curve)
    if across.name not in LOADS or last is None or first is None:
        return []
    middle = (_at(last, across) + _at(first, across)) / 2
    return [Moment(middle, f"keeps up to {write_value(last.values[across.name])}")]


def _show_point(point: SweepPoint | None, low: float, high: float) -> HeatCell:
    if point is None:
        return HeatCell(None, "", "not simulated")
    varied = ", ".join(f"{name} {write_value(value)}" for name, value in point.values.items())
    p99 = point.latency_p99_ms
    described = f"{varied}: p99 {write_duration(p99)}, {write_count(point.throughput_per_s)} events/s"
    return HeatCell(
        logarithmic_share(p99, low, high) if p99 is not None else 0.0 if point.behind else None,
        "" if p99 is None else write_duration(float(f"{p99:.2g}")),
        f"{described}; {clean_name(point.behind, 200)}" if point.behind else described,
        crossed=not keeps_up(point),
    )


def _at(point: SweepPoint, across: Axis) -> float:
    return float(point.values[across.name])


def _seconds(milliseconds: float | None) -> float | None:
    """Decades have no zero."""
    return milliseconds / 1000.0 if milliseconds is not None and milliseconds > 0.0 else None


def _write_seconds(seconds: float) -> str:
    return write_duration(seconds * 1000.0)


def _percent_used(point: SweepPoint) -> float:
    return 100.0 * point.utilisation
