"""A sweep as curves: which of its axes lies across, one curve for each combination of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.simulation.exploration.sweep import Axis, Sweep, SweepPoint
from cepheid.simulation.report.quantities import write_count, write_duration, write_money, write_share, write_value

LOADS = {"rate", "copies"}  # more of these is harder
UNITS = {
    "rate": "events/s into each query",
    "engines": "engines",
    "tick_s": "tick, s",
    "network_delay_s": "network delay, s",
    "mips": "MIPS of a processor",
    "pes": "processors of a machine",
    "queue": "events a queue holds",
    "copies": "copies of each query",
}


@dataclass(frozen=True, slots=True)
class Curve:
    """points: by rising value of the axis across."""

    label: str
    points: tuple[SweepPoint, ...]


def keeps_up(point: SweepPoint) -> bool:
    return not point.behind


def name_axis(axis: Axis) -> str:
    return UNITS.get(axis.name, axis.name)


def is_numeric(axis: Axis) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values)


def varied_axes(sweep: Sweep) -> list[Axis]:
    """Those with more than one value; the first one if there is none."""
    return [axis for axis in sweep.axes if len(axis.values) > 1] or list(sweep.axes[:1])


def choose_across(sweep: Sweep) -> Axis | None:
    """The rate if it is varied, else the numeric axis with the most values."""
    numeric = [axis for axis in varied_axes(sweep) if is_numeric(axis)]
    return max(numeric, key=lambda axis: (axis.name == "rate", len(axis.values)), default=None)


def gather_curves(sweep: Sweep, across: Axis) -> list[Curve]:
    others = [axis for axis in varied_axes(sweep) if axis.name != across.name]
    grouped: dict[tuple[Any, ...], list[SweepPoint]] = {}
    for point in sweep.points:
        grouped.setdefault(tuple(point.values[axis.name] for axis in others), []).append(point)
    return [
        Curve(name_values(others, values), tuple(sorted(points, key=lambda point: float(point.values[across.name]))))
        for values, points in grouped.items()
    ]


def name_values(axes: Sequence[Axis], values: Sequence[Any]) -> str:
    """5 engines, scheduler dynamic."""
    return ", ".join(_name_value(axis, value) for axis, value in zip(axes, values, strict=True))


def _name_value(axis: Axis, value: object) -> str:
    if axis.name in {"engines", "copies"}:
        return (
            f"{write_value(value)} {axis.name}"
            if value != 1
            else {"engines": "1 engine", "copies": "1 copy"}[axis.name]
        )
    return f"{axis.name} {write_value(value)}"


def find_overload(curve: Curve) -> tuple[SweepPoint | None, SweepPoint | None]:
    """The last point that keeps up before the first one that does not, and that one."""
    last = None
    for point in curve.points:
        if not keeps_up(point):
            return last, point
        last = point
    return last, None


def split_facets(sweep: Sweep, first: Axis, second: Axis) -> list[tuple[str, dict[tuple[Any, Any], SweepPoint]]]:
    """The points by their values on two axes, one table for each combination of the remaining axes."""
    rest = [axis for axis in varied_axes(sweep) if axis.name not in {first.name, second.name}]
    facets: dict[tuple[Any, ...], dict[tuple[Any, Any], SweepPoint]] = {}
    for point in sweep.points:
        cells = facets.setdefault(tuple(point.values[axis.name] for axis in rest), {})
        cells[point.values[first.name], point.values[second.name]] = point
    return [(name_values(rest, values), cells) for values, cells in facets.items()]


def thin_curves(curves: Sequence[Curve], most: int) -> list[Curve]:
    """The first, the last, and some evenly between them."""
    if len(curves) <= most:
        return list(curves)
    return [curves[round(number * (len(curves) - 1) / (most - 1))] for number in range(most)]


def range_of_latency(sweep: Sweep) -> tuple[float, float]:
    """The least and the greatest p99, in ms, of the points that keep up; of all if none does."""
    known = [(point.latency_p99_ms, keeps_up(point)) for point in sweep.points if point.latency_p99_ms]
    chosen = [latency for latency, keeps in known if keeps] or [latency for latency, _ in known] or [1.0]
    return min(chosen), max(chosen)


def list_figures(point: SweepPoint) -> list[str]:
    """Latency, p99, throughput, offered, utilisation, most waiting, dropped, cost per hour."""
    return [
        write_duration(point.latency_ms),
        write_duration(point.latency_p99_ms),
        write_count(point.throughput_per_s),
        write_count(point.offered_per_s),
        write_share(point.utilisation),
        write_count(point.most_waiting),
        write_count(point.dropped),
        write_money(point.cost_per_hour),
    ]
