"""What was measured of operator instances, as tables that fit into 100 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.table import Table

from cepheid.simulation.report.quantities import write_count

MakeTable = Callable[..., Table]


def list_instances(part: dict[str, Any], make: MakeTable) -> Iterator[Table | str]:
    """make: a table with a title and columns."""
    extent, paper = part["extent"], part["paper"]
    counts = [f"{each:,}" for each in part["events"].values()]
    told = f"windows of {extent['size']:,} events every {extent['slide']:,}, 100 us each"
    yield f"Operator instances: {counts[0]} to {counts[-1]} events (the thesis: {paper['events']:,}), {told}"
    yield _table_by_instances(part, make)
    yield _table_over_time(
        "Latency over time by speculation, ms: at the peak, and once nothing is late", part["factors"], make
    )
    yield _table_over_time(
        "Latency over time by checkpoints, ms: at the peak, and once nothing is late", part["intervals"], make
    )
    small = f"windows of {extent['time_size']:,} every {extent['time_slide']:,}"
    yield f"over time: {extent['over_time']:,} events, {small}"
    yield _table_goals(part, make)


def _table_by_instances(part: dict[str, Any], make: MakeTable) -> Table:
    title = "By instances: events/s, and the mean latency of a source limited to nine tenths of that, ms"
    table = make(title, "experiment", "strategy", *part["waits"])
    names = {"waits": "7.6.1 waits", "speculates": "7.6.2 speculates", "out_of_order": "7.6.3 out of order"}
    for key, name in names.items():
        for strategy in ("open box", "black box"):
            runs = [row[strategy] for row in part[key].values()]
            if "events_per_s" in runs[0]:
                table.add_row(name, f"{strategy}, events/s", *(f"{run['events_per_s']:,.0f}" for run in runs))
            table.add_row(name, f"{strategy}, ms", *(write_count(run["mean_ms"]) for run in runs))
            if key == "speculates":
                table.add_row(name, f"{strategy}, factor", *(f"{run['mean_factor']:.2f}" for run in runs))
        table.add_section()
    return table


def _table_over_time(title: str, rows: dict[str, Any], make: MakeTable) -> Table:
    names = list(next(iter(rows.values())))
    table = make(title, "instances", *names)
    for instances, runs in rows.items():
        for key, when in (("peak_ms", "peak"), ("after_ms", "after")):
            table.add_row(f"{instances}, {when}", *(write_count(runs[name][key]) for name in names))
        table.add_section()
    return table


def _table_goals(part: dict[str, Any], make: MakeTable) -> Table:
    table = make("What is asked of it", "figure", "asked", "measured")
    boxes, idle, sent, kept = (part[key] for key in ("boxes", "idle", "sent_bytes", "kept_bytes"))
    for name, row in boxes["rows"].items():
        rates = " / ".join(f"{row[each]['events_per_s']:,.0f}" for each in ("open box", "black box"))
        what = f"open box / black box, {boxes['instances']} instances, {name}"
        asked = f">= {boxes['asked']:g}" if row["is_asked"] else ""
        spread = "-".join(f"{each:g}" for each in row["spread"])
        table.add_row(what, asked, f"{row['ratio']:g} ({spread}): {rates} events/s")
    table.add_row("adaptive / full speculation, idle: median latency", f"<= {idle['asked']:g}", f"{idle['of_full']:g}")
    for instances, row in part["after_peak"].items():
        after = ", ".join(write_count(each) for each in row["after_ms"])
        verdict = f"{row['falls']} of {row['of']} steps: {after} ms"
        table.add_row(f"falls as speculation rises, after the peak, {instances} instances", "all", verdict)
    for data_bytes, row in sent["rows"].items():
        what = f"internal replay / sending again, events of {data_bytes} bytes"
        table.add_row(what, f"< {sent['asked']:.0%}", f"{row['share']:.1%}")
    states = f"{kept['data_bytes']:,} / {kept['with_windows_bytes']:,} / {kept['with_all_bytes']:,} bytes"
    table.add_row("a state: its data / with windows / and events", "", states)
    return table
