"""The report of one run, from the answer down to the scenario."""

from __future__ import annotations

from cepheid.simulation.outcome import Outcome
from cepheid.simulation.report.charts import MOST_LINES
from cepheid.simulation.report.digest import Digest, digest_outcome
from cepheid.simulation.report.outcome_charts import (
    chart_latency,
    chart_throughput,
    map_latency,
    map_queues,
    map_utilisation,
)
from cepheid.simulation.report.page_parts import (
    place_side_by_side,
    write_chart,
    write_figure,
    write_folded,
    write_listing,
    write_note,
    write_section,
    write_table,
    write_tile,
    write_tiles,
    write_title,
)
from cepheid.simulation.report.quantities import (
    NOTHING,
    clean_name,
    write_count,
    write_duration,
    write_money,
    write_share,
)
from cepheid.simulation.report.query_drawing import draw_query
from cepheid.simulation.report.scenario_text import write_scenario
from cepheid.simulation.scenario import Query, Scenario

MOST_ROWS = 24
MOST_OPEN = 12  # rows of a table that are seen without asking
MOST_GRAPHS = 6
MOST_BOXES = 60


def describe_outcome(outcome: Outcome) -> tuple[str, list[str]]:
    """The title of the page, and its parts."""
    scenario, digest = outcome.scenario, digest_outcome(outcome, MOST_ROWS)
    title = name_run(scenario)
    by_minute = [chart_latency(digest, scenario), chart_throughput(digest, scenario)]
    sections = [
        write_title(title),
        write_note(describe_settings(scenario)),
        write_note(warn_of_unhosted(digest)) if digest.unhosted else "",
        write_tiles(_summarise(outcome, digest)),
        write_section("Latency and throughput", place_side_by_side([write_chart(each) for each in by_minute])),
        _list_consumers(scenario, digest),
        write_section("Where events wait", *_show_queues(digest), _list_vertices(digest)),
        write_section("Machines", write_figure(write_chart(map_utilisation(digest))), _list_machines(digest)),
        _draw_graphs(outcome),
        write_section(
            "Scenario",
            write_note(describe_run(outcome)),
            write_folded("the scenario as a file", write_listing(write_scenario(scenario))),
        ),
    ]
    return title, [each for each in sections if each]


def name_run(scenario: Scenario) -> str:
    return f"Simulation of {_count_queries(scenario)} on {_count(len(scenario.vms), 'machine')}"


def describe_settings(scenario: Scenario) -> str:
    parts = [
        f"{scenario.duration_s:g} s in ticks of {scenario.tick_s:g} s",
        f"fidelity {scenario.fidelity}",
        f"scheduler {clean_name(scenario.scheduler)}",
        f"allocation {clean_name(scenario.allocation)}",
    ]
    parts += [f"{scenario.iterations} iterations"] if scenario.iterations != 1 else []
    changes = len(scenario.actions) + len(scenario.failures)
    parts += [_count(changes, "change") + " while running"] if changes else []
    return ", ".join(parts) + "."


def warn_of_unhosted(digest: Digest) -> str:
    names = [clean_name(name) for name in digest.unhosted[:10]]
    more = f" and {len(digest.unhosted) - 10:,} more" if len(digest.unhosted) > 10 else ""
    return f"No server has room for {', '.join(names)}{more}: what is placed there did not run."


def describe_run(outcome: Outcome) -> str:
    equal = len(outcome.scenario.vms) - outcome.ran
    merged = f", {equal:,} recognised as equal to one of them" if equal > 0 else ""
    return (
        f"Simulated in {write_duration(outcome.elapsed_s * 1000.0)} by the {outcome.engine} engine, "
        f"{outcome.peak_memory_mb:,.0f} MB at most; {_count(outcome.ran, 'machine')} run{merged}."
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _count_queries(scenario: Scenario) -> str:
    copies = sum(query.copies for query in scenario.queries)
    if copies == 1:
        return f"query {clean_name(scenario.queries[0].name)}"
    return f"{copies:,} queries"


def _summarise(outcome: Outcome, digest: Digest) -> list[str]:
    everyone = digest.everyone
    steady = [everyone.throughput_in(minute) for minute in digest.minutes]
    achieved = steady[-1] if steady else 0.0
    share = achieved / everyone.offered_per_s if everyone.offered_per_s > 0.0 else 1.0
    return [
        write_tile(write_duration(digest.latency_ms), "mean latency"),
        write_tile(write_duration(everyone.percentiles()[2]), "p99 latency of the slowest consumer"),
        write_tile(
            f"{write_count(achieved)} /s",
            f"throughput in the last full minute, {write_share(share)} of what is offered",
            bad=share < 0.95,
        ),
        write_tile(write_share(digest.busiest), "busiest machine", bad=digest.busiest > 0.95),
        write_tile(write_count(digest.most_waiting), "events waiting at one vertex, at most"),
        write_tile(write_count(digest.dropped), "events dropped", bad=digest.dropped > 0.0),
        write_tile(write_money(digest.cost), f"cost over {write_duration(outcome.scenario.duration_s * 1000.0)}")
        if digest.cost > 0.0
        else write_tile(NOTHING, "cost: nothing has a price"),
        write_tile(write_count(digest.taken_in), f"events taken in, {write_count(digest.handled)} handled by vertices"),
    ]


def _list_consumers(scenario: Scenario, digest: Digest) -> str:
    heads = ("consumer", "latency", "p50", "p95", "p99", "throughput /s", "offered /s")
    rows = []
    for row in digest.consumers:
        spread = row.latency()
        latency = write_duration(spread.middle if spread else None)
        if spread and len(row.members) > 1:
            latency += f" ({write_duration(spread.low)} to {write_duration(spread.high)})"
        throughput, offered = write_count(row.throughput()), write_count(row.offered_per_s)
        rows.append([row.name, latency, *map(write_duration, row.percentiles()), throughput, offered])
    notes = []
    if any(len(row.members) > 1 for row in digest.consumers):
        notes.append("Several consumers in a row: the median latency (least to greatest), the worst percentiles, sums.")
    if scenario.fidelity == "cepsim":
        notes.append(
            "Throughput as CEPSim counts it: over the seconds in which something was consumed, so that a query which "
            "gives out now and then shows more than is offered. The chart counts all seconds."
        )
    several = [write_figure(write_chart(map_latency(digest)))] if len(digest.consumers) > MOST_LINES else []
    return write_section("Consumers", *several, write_table(heads, rows), *map(write_note, notes))


def _show_queues(digest: Digest) -> list[str]:
    chart = map_queues(digest)
    if chart is None:
        return [write_note("Nothing waited when queues were looked at, once a second.")]
    hidden = len(digest.vertices) - len(chart.rows)
    notes = [write_note(f"{_count(hidden, 'row')} left out: nothing waited there.")] if hidden else []
    return [write_figure(write_chart(chart)), *notes]


def _list_vertices(digest: Digest) -> str:
    heads = ("vertex", "machine", "processed", "most waiting", "dropped")
    rows = [
        [row.name, row.vm(), write_count(row.processed()), write_count(row.most_waiting()), write_count(row.dropped())]
        for row in digest.vertices
    ]
    bad = [number for number, row in enumerate(digest.vertices) if row.dropped() > 0.0]
    table = write_table(heads, rows, words=2, bad=bad)
    return table if len(rows) <= MOST_OPEN else write_folded(f"{_count(len(rows), 'row')} of vertices", table)


def _list_machines(digest: Digest) -> str:
    rows = [
        [row.name, write_share(digest.average(row.utilisation())), write_money(row.cost())] for row in digest.machines
    ]
    if digest.transfer_cost > 0.0:
        rows.append(["transfers between machines", "", write_money(digest.transfer_cost)])
    if len(rows) > 1:
        rows.append(["together", "", write_money(digest.cost)])
    table = write_table(("machine", "utilisation", "cost"), rows)
    return table if len(rows) <= MOST_OPEN else write_folded(f"{_count(len(rows), 'row')} of machines", table)


def _draw_graphs(outcome: Outcome) -> str:
    """One for each shape of query; thousands of queries seldom have more than a few."""
    shapes: dict[object, list[Query]] = {}
    for query in outcome.scenario.queries:
        alike = tuple((each.id, each.kind) for each in query.vertices), query.edges
        shapes.setdefault(alike, []).append(query)
    work: dict[tuple[str, str], float] = {}
    for each, instance in zip(outcome.vertices(), outcome.layout.instances, strict=True):
        name = (each.query, each.vertex)
        work[name] = work.get(name, 0.0) + each.processed * instance.vertex.ipe
    drawn = []
    for queries in list(shapes.values())[:MOST_GRAPHS]:
        query = queries[0]
        if len(query.vertices) > MOST_BOXES:
            drawn.append(write_note(f"{clean_name(query.name)} has {len(query.vertices):,} vertices: not drawn."))
            continue
        spent = {vertex.id: work.get((query.name, vertex.id), 0.0) for vertex in query.vertices}
        others = ""
        if len(queries) > 1:
            others = f", and {len(queries) - 1:,} more of the same shape"
        copies = f", {query.copies:,} copies" * (query.copies > 1)
        drawn.append(write_note(f"{clean_name(query.name)}{copies}{others}"))
        drawn.append(write_figure(draw_query(query, spent, outcome.scenario.duration_s)))
    left = len(shapes) - MOST_GRAPHS
    drawn += [write_note(f"{left:,} more shapes are not drawn.")] if left > 0 else []
    note = write_note(
        "On each edge its selectivity; in each box what an event costs, and the vertex's share of the query's work."
    )
    return write_section("Queries", note, *drawn) if drawn else ""
