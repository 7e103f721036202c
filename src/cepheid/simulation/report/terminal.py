"""A simulation in the terminal: what came out, how busy the machines were, where events waited, and how it was run."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cepheid.simulation.exploration.plan import CapacityPlan
from cepheid.simulation.exploration.sweep import Axis, Sweep, SweepPoint
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.report.digest import Consumers, Digest, digest_outcome
from cepheid.simulation.report.outcome_page import describe_run, describe_settings, warn_of_unhosted
from cepheid.simulation.report.quantities import (
    clean_name,
    write_count,
    write_duration,
    write_money,
    write_share,
    write_value,
)
from cepheid.simulation.report.sweep_curves import (
    LOADS,
    choose_across,
    find_overload,
    gather_curves,
    keeps_up,
    list_figures,
)

STEPS, PLAIN_STEPS = "▁▂▃▄▅▆▇", "_.-=+*#"  # not up to the full block: rows would run into each other
MOST_MINUTES = 12
WIDE = 100  # columns of a terminal that has room for everything
MOST_POINTS = 60
GOOD, BAD, DIM = "green", "red", "dim"


def show_outcome(outcome: Outcome, console: Console) -> None:
    digest = digest_outcome(outcome)
    plain = console.options.ascii_only
    console.print(Text(describe_settings(outcome.scenario), style=DIM))
    if digest.unhosted:
        console.print(Text(warn_of_unhosted(digest), style=BAD))
    console.print(_list_consumers(digest, plain, narrow=console.width < WIDE))
    if len(digest.consumers) <= 4 and 1 < len(digest.minutes) <= (MOST_MINUTES if console.width >= WIDE else 6):
        console.print(_list_minutes(digest))
    console.print(_list_machines(digest, plain))
    console.print(_list_vertices(digest, plain))
    if outcome.scenario.fidelity == "cepsim":
        note = "throughput: per second in which something was consumed, as CEPSim counts; by minute: over all seconds"
        console.print(Text(note, style=DIM))
    console.print(
        f"{write_count(digest.taken_in)} events taken in, {write_count(digest.handled)} handled by vertices, "
        f"{write_count(digest.dropped)} dropped. {describe_run(outcome)}",
        highlight=False,
        markup=False,
    )


def show_sweep(sweep: Sweep, console: Console) -> None:
    across = choose_across(sweep)
    if len(sweep.points) <= MOST_POINTS:
        console.print(_list_points(f"{len(sweep.points)} simulations", sweep.axes, sweep.points))
    if across is not None and across.name in LOADS:
        console.print(_list_limits(sweep, across))
    elif len(sweep.points) > MOST_POINTS:
        console.print(_list_points(f"the first {MOST_POINTS} simulations", sweep.axes, sweep.points[:MOST_POINTS]))
    if len(sweep.points) > MOST_POINTS:
        note = f"{len(sweep.points):,} simulations: --json, --picture and --report give all of them"
        console.print(Text(note, style=DIM))


def show_plan(plan: CapacityPlan, console: Console) -> None:
    goals = ", ".join(f"{name} <= {_write_goal(name, value)}" for name, value in plan.goals.items())
    asked = f"{write_count(plan.rate)} events/s" + (f" with {goals}" if goals else "")
    if plan.engines is None or plan.enough is None:
        console.print(Text.assemble(("No number of engines", f"bold {BAD}"), f" carries {asked}."))
    else:
        engines = ("1 engine", " carries ") if plan.engines == 1 else (f"{plan.engines:,} engines", " carry ")
        price = plan.enough.cost_per_hour
        cost = f" for {write_money(price)} per hour" if price > 0.0 else ""
        console.print(Text.assemble((engines[0], f"bold {GOOD}"), engines[1], asked, cost, "."))
    if plan.reason:
        console.print(Text(clean_name(plan.reason, 400)))
    points = sorted(plan.tried, key=lambda point: float(point.values.get("engines", 0)))
    if points:
        axes = [Axis("engines", tuple(point.values.get("engines", "") for point in points))]
        console.print(_list_points("what was tried", axes, points, chosen=plan.enough))


def draw_steps(values: Sequence[float], most: float | None = None, plain: bool = False) -> str:
    """A sparkline: one column for each value."""
    steps, top = PLAIN_STEPS if plain else STEPS, most if most is not None else max(values, default=0.0)
    if top <= 0.0:
        return steps[0] * len(values)
    return "".join(steps[min(max(int(value / top * len(steps)), 0), len(steps) - 1)] for value in values)


def draw_bar(share: float, width: int = 16, plain: bool = False) -> str:
    filled = round(min(max(share, 0.0), 1.0) * width)
    return ("#" * filled + "." * (width - filled)) if plain else "█" * filled + "░" * (width - filled)


def _new_table(title: str, *heads: str, words: int = 1) -> Table:
    """Numbers to the right, words and drawings to the left."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), header_style=DIM
    )
    for number, head in enumerate(heads):
        left = number < words or head.endswith("by minute")
        table.add_column(head, justify="left" if left else "right", no_wrap=number >= words)
    return table


def _list_consumers(digest: Digest, plain: bool, narrow: bool) -> Table:
    """narrow: without what can best be missed."""
    heads = ["consumer", "latency", "p50", "p95", "p99", "throughput/s", "offered/s", "by minute"]
    table = _new_table(
        f"\nConsumers ({len(digest.everyone.members):,})", *(h for h in heads if not narrow or h != "offered/s")
    )
    for row in digest.consumers:
        spread = row.latency()
        latency = write_duration(spread.middle if spread else None)
        if spread and len(row.members) > 1 and not narrow:
            latency += f" ({write_duration(spread.low)} .. {write_duration(spread.high)})"
        table.add_row(
            Text(row.name),
            latency,
            *map(write_duration, row.percentiles()),
            write_count(row.throughput()),
            *([] if narrow else [write_count(row.offered_per_s)]),
            draw_steps(_latencies(row, digest), plain=plain),
        )
    return table


def _latencies(row: Consumers, digest: Digest) -> list[float]:
    spreads = [row.latency_in(minute) for minute in digest.minutes]
    return [spread.middle if spread else 0.0 for spread in spreads]


def _list_minutes(digest: Digest) -> Table:
    table = _new_table("\nBy minute", "consumer", "", *(str(minute) for minute in digest.minutes), words=2)
    for row in digest.consumers:
        spreads = [row.latency_in(minute) for minute in digest.minutes]
        table.add_row(Text(row.name), "latency", *(write_duration(each.middle if each else None) for each in spreads))
        table.add_row("", "events/s", *(write_count(row.throughput_in(minute)) for minute in digest.minutes))
    return table


def _list_machines(digest: Digest, plain: bool) -> Table:
    table = _new_table("\nMachines", "machine", "utilisation", "", "by minute", "cost", words=2)
    for row in digest.machines:
        shares = row.utilisation()
        mean = digest.average(shares)
        table.add_row(
            Text(row.name),
            Text(draw_bar(mean, plain=plain), style=BAD if mean > 0.95 else ""),
            write_share(mean),
            draw_steps([shares[minute] for minute in digest.minutes], 1.0, plain),
            write_money(row.cost()),
        )
    if digest.transfer_cost > 0.0:
        table.add_row(Text("transfers", style=DIM), "", "", "", write_money(digest.transfer_cost))
    if table.row_count > 1:
        table.add_row(Text("together", style=DIM), "", "", "", write_money(digest.cost))
    return table


def _list_vertices(digest: Digest, plain: bool) -> Table:
    heads = ("vertex", "machine", "processed", "by minute", "waiting", "dropped")
    table = _new_table("\nVertices: processed, waiting (by minute, at most), dropped", *heads, words=2)
    for row in digest.vertices:
        waiting = row.waiting()
        table.add_row(
            Text(row.name),
            Text(row.vm()),
            write_count(row.processed()),
            draw_steps([waiting[minute] for minute in digest.minutes], plain=plain),
            write_count(row.most_waiting()),
            Text(write_count(row.dropped()), style=BAD if row.dropped() > 0.0 else ""),
        )
    return table


def _list_points(
    title: str, axes: Sequence[Axis], points: Sequence[SweepPoint], chosen: SweepPoint | None = None
) -> Table:
    heads = ("latency", "p99", "achieved/s", "offered/s", "busy", "waiting", "dropped", "cost/h")
    rows = [list_figures(point) for point in points]
    shown = [place for place in range(len(heads)) if place < 6 or any(row[place] != "0" for row in rows)]
    table = _new_table(f"\n{title}", *(axis.name for axis in axes), *(heads[place] for place in shown), "", words=0)
    for point, row in zip(points, rows, strict=True):
        style = f"bold {GOOD}" if point is chosen else "" if keeps_up(point) else BAD
        values = [write_value(point.values.get(axis.name, "")) for axis in axes]
        word = "enough" if point is chosen else "" if keeps_up(point) else "behind"
        table.add_row(*(Text(each) for each in [*values, *(row[place] for place in shown), word]), style=style)
    return table


def _list_limits(sweep: Sweep, across: Axis) -> Table:
    heads = ("", f"highest {across.name} that keeps up", "behind at", "p99 there", "busy there", "cost/h")
    table = _new_table("\nHow much it carries", *heads)
    for curve in gather_curves(sweep, across):
        last, first = find_overload(curve)
        table.add_row(
            Text(curve.label or "all"),
            write_value(last.values[across.name]) if last else Text("none", style=BAD),
            write_value(first.values[across.name]) if first else "never here",
            *(
                (write_duration(last.latency_p99_ms), write_share(last.utilisation), write_money(last.cost_per_hour))
                if last
                else ()
            ),
        )
    return table


def _write_goal(name: str, value: float) -> str:
    return write_duration(value) if name.startswith("latency") else write_money(value)
