"""What is drawn of one run: latency and throughput by minute, where events wait, how busy machines are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from cepheid.deployment import describe_action
from cepheid.simulation.report.charts import (
    MOST_LINES,
    ChartLine,
    HeatCell,
    HeatMap,
    LineChart,
    Moment,
    logarithmic_share,
    name_range,
)
from cepheid.simulation.report.digest import Consumers, Digest, Machines, Vertices
from cepheid.simulation.report.quantities import clean_name, write_count, write_duration, write_share, write_short
from cepheid.simulation.scenario import Scenario

LONGEST_NAME = 44  # letters beside a chart
LONGEST_MARK = 25  # letters at a moment
Value = TypeVar("Value")
FAR_APART = 30.0  # latencies that differ more are drawn in decades


def chart_latency(digest: Digest, scenario: Scenario) -> LineChart:
    """A line for each consumer, or, if they are many, the median and all around it."""
    rows = _choose_rows(digest)
    spreads = [[(x, row.latency_in(minute)) for x, minute in _place_minutes(digest)] for row in rows]
    known = [spread.middle for row in spreads for _, spread in row if spread]
    unit, name = _choose_unit(known)
    lines = [
        ChartLine(
            _name_line(row, rows, "median"),
            [(x, spread.middle / unit if spread else None) for x, spread in by_minute],
            1 + number,
            [(x, each.low / unit, each.high / unit) for x, each in by_minute if each] if len(row.members) > 1 else (),
            lambda y: write_duration(y * unit),
        )
        for number, (row, by_minute) in enumerate(zip(rows, spreads, strict=True))
    ]
    banded = any(line.band for line in lines)
    return LineChart(
        title=f"Latency, {name}" + (" (band: from the least to the greatest)" if banded else ""),
        across="minute",
        lines=lines,
        logarithmic=max(known, default=1.0) > FAR_APART * min(known, default=1.0) > 0.0,
        ticks=digest.minutes,
        moments=_mark_changes(scenario),
    )


def chart_throughput(digest: Digest, scenario: Scenario) -> LineChart:
    rows = _choose_rows(digest)
    achieved = [
        ChartLine(
            _name_line(row, rows, "achieved"),
            [(x, row.throughput_in(minute)) for x, minute in _place_minutes(digest)],
            1 + number,
            (),
            write_count,
        )
        for number, row in enumerate(rows)
    ]
    offered = [ChartLine("offered", [(x, row.offered_per_s) for x, _ in _place_minutes(digest)], 0) for row in rows]
    return LineChart(
        title="Throughput, source events/s",
        across="minute",
        lines=[*achieved, *offered],
        ticks=digest.minutes,
        moments=_mark_changes(scenario),
    )


def map_latency(digest: Digest) -> HeatMap:
    """For more consumers than a chart has lines."""
    medians = [
        [each.middle if each else None for each in map(row.latency_in, digest.minutes)] for row in digest.consumers
    ]
    known = [value for row in medians for value in row if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)

    def show(value: float | None) -> HeatCell:
        share = None if value is None else logarithmic_share(value, low, high)
        return HeatCell(share, write_duration(value), write_duration(value))

    key = name_range(write_duration(low), write_duration(high), high / low if low > 0.0 else 1.0)
    return _map_minutes("Latency of each minute", digest, digest.consumers, medians, show, key)


def map_queues(digest: Digest) -> HeatMap | None:
    """Only vertices where something waited; None: there are none."""
    rows = [row for row in digest.vertices if any(row.waiting()[minute] > 0.0 for minute in digest.minutes)]
    if not rows:
        return None
    waiting = [[row.waiting()[minute] for minute in digest.minutes] for row in rows]
    most = max(map(max, waiting))

    def show(value: float) -> HeatCell:
        text = write_short(float(f"{value:.2g}" if value < 10.0 else f"{value:.3g}"))
        return HeatCell(logarithmic_share(1.0 + value, 1.0, 1.0 + most), text, f"{write_count(value)} waiting")

    key = name_range("0", write_count(most), most)
    return _map_minutes("Events waiting, mean of each minute", digest, rows, waiting, show, key)


def map_utilisation(digest: Digest) -> HeatMap:
    shares = [[row.utilisation()[minute] for minute in digest.minutes] for row in digest.machines]

    def show(share: float) -> HeatCell:
        return HeatCell(share, write_share(share), write_share(share))

    return _map_minutes("Utilisation of machines", digest, digest.machines, shares, show, ("0 %", "100 %"), colour=2)


def _map_minutes(
    title: str,
    digest: Digest,
    rows: Sequence[Consumers | Vertices | Machines],
    values: Sequence[Sequence[Value]],
    show: Callable[[Value], HeatCell],
    key: tuple[str, str],
    colour: int = 1,
) -> HeatMap:
    """values: of each row, by minute."""
    cells = []
    for row, by_minute in zip(rows, values, strict=True):
        shown = [(minute, show(value)) for minute, value in zip(digest.minutes, by_minute, strict=True)]
        cells.append([replace(cell, hint=f"{row.name}, minute {minute}: {cell.hint}") for minute, cell in shown])
    return HeatMap(
        title=title,
        across="minute",
        rows=[clean_name(row.name, LONGEST_NAME) for row in rows],
        columns=[str(minute) for minute in digest.minutes],
        cells=cells,
        key=key,
        colour=colour,
    )


def _place_minutes(digest: Digest) -> list[tuple[float, int]]:
    """Each at its number; one alone from side to side, or there would be no line."""
    if len(digest.minutes) > 1:
        return [(minute, minute) for minute in digest.minutes]
    return [(minute + side, minute) for minute in digest.minutes for side in (-0.4, 0.4)]


def _choose_rows(digest: Digest) -> Sequence[Consumers]:
    return digest.consumers if len(digest.consumers) <= MOST_LINES else (digest.everyone,)


def _name_line(row: Consumers, rows: Sequence[Consumers], alone: str) -> str:
    return clean_name(row.name, LONGEST_NAME) if len(rows) > 1 else alone


def _choose_unit(latencies_ms: Sequence[float]) -> tuple[float, str]:
    most = max(latencies_ms, default=0.0)
    return (6e4, "min") if most >= 1.2e5 else (1e3, "s") if most >= 1e3 else (1.0, "ms")


def _mark_changes(scenario: Scenario) -> list[Moment]:
    """A point of a chart is a whole minute, drawn at its number: so half a minute further left."""
    happens = [(each.at_s, f"fail {each.machine}") for each in scenario.failures]
    happens += [(each.at_s, describe_action(each.action)) for each in scenario.actions]
    return [Moment(at_s / 60.0 - 0.5, clean_name(name, LONGEST_MARK)) for at_s, name in sorted(happens)]
