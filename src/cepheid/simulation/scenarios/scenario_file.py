"""A scenario as a TOML file.

    [simulation]          duration_s, tick_s, iterations, fidelity, scheduler, allocation, network_delay_s,
                          cloudlet_pes, placements
    [micro_batch]         interval_s, overhead_s, max_events
    [[vm]]                name, pes, mips, ram_mb, price_per_hour, datacentre
    [[datacentre]]        name, cloud, hosts = [{ name, pes, mips, ram_mb, count }]
    [[link]]              source, target, latency_s, bandwidth_mbps, price_per_gb
    [[change]]            at_s, action, query, vertex, vm, pes, for_s, pause_s, loses (change_tables.py)
    [[query]]             name, copies, vertices, edges = [[source, target, selectivity]],
                          placement = "VM" or { VM = ["vertex", ...] }

What is left out takes the default of its record in scenario.py, with two exceptions that CEPSim makes: the queue of a
window holds 1024 events, and a window advances by its whole length.  Files that a scenario names are looked for beside
it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from cepheid.errors import CepheidError, InvalidScenario
from cepheid.simulation.allocation import ALLOCATIONS
from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.reference.schedulers import SCHEDULERS
from cepheid.simulation.scenario import (
    Datacentre,
    Host,
    Link,
    MicroBatch,
    Query,
    Scenario,
    ScenarioEdge,
    ScenarioVertex,
    Vm,
)
from cepheid.simulation.scenarios.change_tables import KEYS as CHANGE_KEYS
from cepheid.simulation.scenarios.change_tables import read_changes
from cepheid.simulation.scenarios.scenario_checks import check_scenario
from cepheid.toml_files.reading import parse_table, places_in, read_text
from cepheid.toml_files.table import Table

FIDELITIES = ("cepsim", "corrected")
QUEUE_OF_WINDOWS = 1024.0
COMMON = ("id", "kind", "ipe", "weight", "queue")
KEYS_OF: dict[str, tuple[str, ...]] = {
    "producer": (*COMMON, "rate_per_s", "arrivals", "limited", "sheds", "bytes"),
    "operator": (*COMMON, "bytes", "state_bytes"),
    "window": (*COMMON, "window_s", "advance_s", "output", "limit_output", "bytes", "state_bytes"),
    "consumer": COMMON,
}
VERTEX_KEYS = tuple(dict.fromkeys(key for keys in KEYS_OF.values() for key in keys))
QUERY_KEYS = ("name", "copies", "vertices", "edges", "placement")
TOP = ("simulation", "micro_batch", "vm", "datacentre", "link", "change", "query")
SIMULATION = (
    "duration_s",
    "tick_s",
    "iterations",
    "fidelity",
    "scheduler",
    "allocation",
    "network_delay_s",
    "cloudlet_pes",
    "placements",
)


def read_scenario(path: Path | str, fidelity: str | None = None) -> Scenario:
    """fidelity: in place of the one in the file."""
    path = Path(path)
    return parse_scenario(read_text(path, "scenario", hint=f"paths start from {Path.cwd()}"), path, fidelity)


def parse_scenario(text: str, path: Path, fidelity: str | None = None) -> Scenario:
    """path: for messages, and where other files are looked for."""
    with places_in(text, path):
        scenario = _make_scenario(parse_table(text, "the scenario", TOP, InvalidScenario), path.parent, fidelity)
        check_scenario(scenario)
    return scenario


def _make_scenario(top: Table, folder: Path, fidelity: str | None) -> Scenario:
    top.value("simulation", hint="[simulation] says at least how long: duration_s = 301.0")
    settings = top.table("simulation", "[simulation]", SIMULATION)
    batches = top.table("micro_batch", "[micro_batch]", _names(MicroBatch))
    written = settings.choice("fidelity", FIDELITIES, "cepsim")
    queries = tuple(_read_query(each, folder) for each in top.tables("query", "query", QUERY_KEYS))
    vms = tuple(_read_vm(each) for each in top.tables("vm", "vm", _names(Vm)))
    changes = read_changes(top.tables("change", "change", CHANGE_KEYS), queries, vms)
    return Scenario(
        queries=queries,
        vms=vms,
        duration_s=settings.number("duration_s"),
        tick_s=settings.number("tick_s", 0.1),
        iterations=settings.whole("iterations", 1),
        fidelity=cast(Any, fidelity or written),
        scheduler=settings.choice("scheduler", list(SCHEDULERS), "dynamic"),
        allocation=settings.choice("allocation", ALLOCATIONS, "uniform"),
        network_delay_s=settings.number("network_delay_s", 0.001, zero=True),
        cloudlet_pes=settings.whole("cloudlet_pes") if settings.has("cloudlet_pes") else None,
        placements=cast(Any, settings.choice("placements", ("vm", "query"), "vm")),
        datacentres=tuple(
            _read_datacentre(each) for each in top.tables("datacentre", "datacentre", _names(Datacentre))
        ),
        links=tuple(_read_link(each) for each in top.tables("link", "link", _names(Link))),
        micro_batch=MicroBatch(
            **{key: batches.number(key, 0.0, zero=True) for key in ("interval_s", "overhead_s", "max_events")}
        ),
        failures=changes.failures,
        actions=changes.actions,
    )


def _read_vm(table: Table) -> Vm:
    return Vm(
        name=table.text("name"),
        pes=table.whole("pes", 1),
        mips=table.number("mips", 2500.0),
        ram_mb=table.number("ram_mb", 0.0, zero=True),
        price_per_hour=table.number("price_per_hour", 0.0, zero=True),
        datacentre=table.text("datacentre", ""),
    )


def _read_datacentre(table: Table) -> Datacentre:
    return Datacentre(
        name=table.text("name"),
        cloud=table.text("cloud", ""),
        hosts=tuple(_read_host(host) for host in table.tables("hosts", "host", _names(Host))),
    )


def _read_host(table: Table) -> Host:
    return Host(
        name=table.text("name"),
        pes=table.whole("pes"),
        mips=table.number("mips"),
        ram_mb=table.number("ram_mb", float("inf"), endless=True),
        count=table.whole("count", 1),
    )


def _read_link(table: Table) -> Link:
    return Link(
        source=table.text("source"),
        target=table.text("target"),
        latency_s=table.number("latency_s", zero=True),
        bandwidth_mbps=table.number("bandwidth_mbps", 0.0, zero=True),
        price_per_gb=table.number("price_per_gb", 0.0, zero=True),
    )


def _read_query(table: Table, folder: Path) -> Query:
    name = table.text("name")
    table.value("vertices", hint='write vertices = [{ id = "spout", kind = "producer", ipe = 1000.0 }, ...]')
    vertices = tuple(
        _read_vertex(vertex, folder)
        for vertex in table.tables("vertices", "vertex", VERTEX_KEYS, named_by="id", part_of=f' of query "{name}"')
    )
    return Query(
        name=name,
        vertices=vertices,
        edges=tuple(_read_edge(edge, number, table) for number, edge in enumerate(table.elements("edges"))),
        placement=_read_placement(table, [vertex.id for vertex in vertices]),
        copies=table.whole("copies", 1),
    )


def _read_vertex(table: Table, folder: Path) -> ScenarioVertex:
    kind = table.choice("kind", KEYS_OF)
    for key in table.fields:
        if key not in KEYS_OF[kind]:
            owners = " or ".join(f'"{owner}"' for owner, keys in KEYS_OF.items() if key in keys)
            raise table.mistake(f'is of kind "{kind}", which has no {key}', key, hint=f"{key} is for kind = {owners}")
    is_window = kind == "window"
    window_s = table.number("window_s") if is_window else 0.0
    return ScenarioVertex(
        id=table.text("id"),
        kind=cast(Any, kind),
        ipe=table.number("ipe"),
        queue=table.number("queue", QUEUE_OF_WINDOWS if is_window else 0.0, zero=True),
        weight=table.number("weight", 1.0),
        arrivals=_read_arrivals(table, folder) if kind == "producer" else None,
        limited=table.flag("limited", True),
        sheds=table.flag("sheds", False),
        window_s=window_s,
        advance_s=table.number("advance_s", window_s) if is_window else 0.0,
        output=table.number("output", zero=True) if table.has("output") else None,
        limits_output=table.flag("limit_output", True),
        bytes=table.number("bytes", 100.0, zero=True),
        state_bytes=table.number("state_bytes", 0.0, zero=True),
    )


def _read_arrivals(table: Table, folder: Path) -> ArrivalProcess:
    if table.has("rate_per_s") and table.has("arrivals"):
        raise table.mistake(
            "has both rate_per_s and arrivals", "arrivals", hint="one of the two says how events come in"
        )
    if table.has("rate_per_s"):
        return Uniform(table.number("rate_per_s"))
    if not table.has("arrivals"):
        hint = 'or arrivals = { kind = "poisson", rate_per_s = 1000.0, seed = 1 }, or another kind'
        raise table.mistake('lacks the key "rate_per_s"', hint=hint)
    hint = '{ kind = "poisson", rate_per_s = 1000.0 }'
    described = table.table("arrivals", f"what arrives at {table.title}", hint=hint).fields
    from cepheid.simulation.arrivals import make_arrivals

    try:
        return make_arrivals(described, folder)
    except InvalidScenario:
        raise
    except CepheidError as problem:
        hint = problem.hint or 'write for instance arrivals = { kind = "poisson", rate_per_s = 100.0 }'
        raise table.mistake(f"has arrivals that do not fit: {problem.message}", "arrivals", hint=hint) from None


def _read_edge(each: object, number: int, query: Table) -> ScenarioEdge:
    match each:
        case [str(source), str(target)]:
            return ScenarioEdge(source, target)
        case [str(source), str(target), int() | float() as selectivity] if not isinstance(selectivity, bool):
            if 0.0 <= selectivity <= sys.float_info.max:
                return ScenarioEdge(source, target, float(selectivity))
            problem = f"has an edge with a selectivity of {selectivity}"
            raise query.mistake(problem, "edges", number, hint="events out for each one in: 0 or more")
    problem = f"has an edge, number {number + 1}, that is not of the form [source, target, selectivity]"
    raise query.mistake(problem, "edges", number, hint='for instance ["spout", "end", 0.95]')


def _read_placement(query: Table, ids: list[str]) -> Mapping[str, str]:
    """The machine of each vertex."""
    given = query.value("placement", hint='placement = "vm1" puts all vertices on that machine')
    if isinstance(given, str):
        return dict.fromkeys(ids, given)
    if not isinstance(given, dict):
        raise query.mistake("needs a placement of the form", "placement", hint='"vm1" or { vm1 = ["spout", "end"] }')
    placement: dict[str, str] = {}
    for vm, vertices in given.items():
        if not isinstance(vertices, list) or not all(isinstance(vertex, str) for vertex in vertices):
            problem = f'needs a list of the vertices that are placed on "{vm}"'
            raise query.mistake(problem, "placement", vm, hint=f'{{ {vm} = ["spout", "end"] }}')
        for vertex in vertices:
            if vertex in placement:
                both = f'"{vm}"' if placement[vertex] == vm else f'"{placement[vertex]}" and on "{vm}"'
                hint = f'leave "{vertex}" in one list only'
                raise query.mistake(f'places vertex "{vertex}" twice, on {both}', "placement", vm, hint=hint)
            placement[vertex] = vm
    return placement


def _names(record: Any) -> Collection[str]:
    """The fields of a record, which are the keys of its table."""
    return [field.name for field in fields(record)]
