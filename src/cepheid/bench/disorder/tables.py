"""What was measured, as tables that fit into 100 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from cepheid.bench.disorder.instances.list_tables import list_instances
from cepheid.simulation.report.quantities import write_count


def list_tables(result: dict[str, Any]) -> Iterator[Table | str]:
    """Tables, and sentences that stand between them."""
    if "waiting" in result:
        yield from _list_waiting(result["waiting"])
    if "speculation" in result:
        yield from _list_speculation(result["speculation"])
    if "late" in result:
        yield from (_table_late(result["late"], size) for size in (1, 100))
        yield "allowed: three pushes in order, and one in order of the events that are looked at again"
    if "throughput" in result:
        yield _table_throughput(result["throughput"])
    if "engines" in result:
        yield _table_engines(result["engines"])
    if "instances" in result:
        yield from list_instances(result["instances"], _make)


def _list_waiting(part: dict[str, Any]) -> Iterator[Table | str]:
    title = f"Streams in disorder, {part['events']:,} events each: lateness in seconds"
    streams = _make(title, "delays", "out of order", "p99", "p99.9", "max", "oracle")
    for name, row in part["rows"].items():
        lateness = [write_count(row[key]) for key in ("p99_s", "p999_s", "max_s", "oracle_s")]
        streams.add_row(name, f"{row['out_of_order']:.1%}", *lateness)
    yield streams
    yield f"oracle: the shortest fixed wait after which at most {1 - part['goal']:.1%} are late, chosen afterwards"
    rules = list(next(iter(part["rows"].values()))["rules"])
    waits = _make("Mean wait in seconds, and how many oracles that is", "delays", *rules)
    late = _make("Late all the same, over what is asked for", "delays", *rules)
    for name, row in part["rows"].items():
        found = [row["rules"][rule] for rule in rules]
        waits.add_row(name, *(f"{write_count(each['mean_s'])} {_times(each['of_oracle'])}" for each in found))
        late.add_row(name, *(f"{each['late']:.3%} {_times(each['of_goal'])}" for each in found))
    yield waits
    yield late
    if part["missing"]:
        yield f"left out, since there is no such rule: {', '.join(part['missing'])}"


def _list_speculation(part: dict[str, Any]) -> Iterator[Table | str]:
    title = f"{part['stream']}: {part['events']:,} events, corrected for {part['bound_s']:g} s"
    table = _make(title, "query", "setting", "p50 ms", "p99 ms", "rows", "corrections per 1,000 rows")
    for query, runs in part["runs"].items():
        for name, run in runs.items():
            corrections = f"{run['corrections_per_1000']:,.1f}"
            table.add_row(
                query, name, f"{run['p50_ms']:,.0f}", f"{run['p99_ms']:,.0f}", f"{run['rows']:,}", corrections
            )
        table.add_section()
    yield table
    batch = f"those {part['batch_ms']} ms"
    yield f"latency: from the arrival of a row's last event to the end of {batch} of arrivals it came out in"


def _table_late(part: dict[str, Any], size: int) -> Table:
    many = "one event" if size == 1 else f"{size} events"
    title = f"{many} a push that come late, beside others in order: ms, median of {part['repeats']}"
    table = _make(title, "query", "kept", "in order", "late", "looked at again", "of allowed")
    last = None
    for row in part["rows"].values():
        if last not in (None, row["query"]):
            table.add_section()
        last = row["query"]
        cells = [
            write_count(row[f"{kind}_{size}{unit}"])
            for kind, unit in (("in_order", "_ms"), ("late", "_ms"), ("again", ""))
        ]
        table.add_row(row["query"], f"{row['kept']:,}", *cells, f"{row[f'of_allowed_{size}']:.2f}")
    return table


def _table_throughput(part: dict[str, Any]) -> Table:
    title = f"Nothing is late: {part['events']:,} events in pushes of {part['push']:,}, kept for {part['bound']}"
    table = _make(title, "query", "final, events/s", "changes, events/s", "ratio", "asked")
    for name, row in part["rows"].items():
        asked = f"{part['asked']:.2f}"
        table.add_row(name, f"{row['final_per_s']:,}", f"{row['changes_per_s']:,}", f"{row['ratio']:.2f}", asked)
    return table


def _table_engines(part: dict[str, Any]) -> Table:
    title = f"In several processes: {part['events']:,} events in pushes of {part['push']:,}; events/s"
    table = _make(title, "query", "this process", "engines=1", "engines=2", "2 of 1", "2 of this", "overhead of 1")
    for name, row in part["rows"].items():
        rates = [f"{row[way]:,}" for way in ("this process", "engines=1", "engines=2")]
        table.add_row(name, *rates, f"{row['two_of_one']:.2f}", f"{row['two_of_this']:.2f}", f"{row['overhead']:+.1%}")
    return table


def _make(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(first, no_wrap=False, overflow="fold")
    for name in others:
        table.add_column(name, justify="left" if name in ("setting", "strategy") else "right")
    return table


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"x{write_count(ratio)}"
