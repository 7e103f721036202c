"""A query graph as a scenario: the graph that is explained and run is the one that is simulated.

    Source -> Project -> WindowAggregate -> Sink     =>     producer -> operator -> window -> consumer

Vertices keep their names, so that what the simulator tells of `sequence_1` is about the `sequence_1` that `explain`
shows.  Each query is one of the scenario; what several share belongs to the first of them.  All of it runs on one
machine with the processors of the cluster, batch by batch: as Spark does, and as pushes do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from cepheid.application import Cluster
from cepheid.cost.profile import Profile
from cepheid.errors import InvalidInput, suggest_name
from cepheid.graph.operators import Sink, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.placement.place_chains import place_chains
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import stream_of
from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.scenario import MicroBatch, Query, Scenario, ScenarioEdge, ScenarioVertex, Vm
from cepheid.simulation.scenarios.default_costs import OVERHEAD_S, default_ipe
from cepheid.simulation.scenarios.graph_flow import GraphFlow, Keys
from cepheid.simulation.scenarios.vertex_model import VertexModel

MACHINE = "cluster"
PASSING_IPE = 2.0  # of a vertex whose work was measured with another; one event must be worth a run
LEAST_SELECTIVITY = 1e-9  # rooms of queues are divided by it
DURATION_S = 300.0
TICK_S = {"embedded": 0.01, "spark": 0.1}  # small beside what a batch takes


def scenario_of_graph(
    placed: PlacedGraph,
    rates: Mapping[str, ArrivalProcess],
    profile: Profile | None = None,
    cluster: Cluster | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    keys: Keys | None = None,
    selectivities: Mapping[str, float] | None = None,
) -> Scenario:
    """rates: what comes in, by the names of sources.  profile: what vertices cost.  It measures queries as a whole: if
    it has a vertex of one, what the others cost is in there; those of other queries cost what their kind does
    (default_costs.py).  settings: fields of the scenario that are to be otherwise.  keys: how many different keys a
    source has, or its columns have.  selectivities: by query, rows that come out for each event that comes in."""
    given = GraphSetting(rates, profile, cluster or Cluster(), settings or {}, keys or {}, selectivities or {})
    return make_scenario(placed, given)


def make_scenario(placed: PlacedGraph, given: GraphSetting) -> Scenario:
    return replace(given.make_base(), queries=_part_queries(placed.graph, model_graph(placed, given)))


@dataclass(frozen=True)
class GraphSetting:
    """What a graph is simulated with: see `scenario_of_graph`."""

    rates: Mapping[str, ArrivalProcess]
    profile: Profile | None
    cluster: Cluster
    settings: Mapping[str, Any]
    keys: Keys
    selectivities: Mapping[str, float]

    def make_base(self) -> Scenario:
        """The scenario without its queries."""
        if self.profile is not None and self.profile.host != self.cluster.host:
            raise InvalidInput(
                f'the profile was measured on the host "{self.profile.host}", the cluster is "{self.cluster.host}"',
                hint=f"calibrate with --host {self.cluster.host}",
            )
        return _make_base(self.cluster, self.profile, self.settings)


@dataclass(frozen=True)
class GraphModel:
    """The vertices of a graph as those of scenarios, and the selectivity between each two that are joined."""

    vertices: Mapping[str, ScenarioVertex]
    selectivity: Mapping[tuple[str, str], float]


def model_graph(placed: PlacedGraph, given: GraphSetting) -> GraphModel:
    base, graph = given.make_base(), placed.graph
    flow = GraphFlow(graph, given.rates, given.profile, given.keys, base.duration_s)
    overrides: dict[str, float] = {}
    for query, wanted in given.selectivities.items():
        overrides |= flow.fit_query(query, wanted, overrides)
    models = flow.flow_through(overrides)[0]
    costs = _find_costs(placed, models, given.profile, given.cluster, base.scheduler == "micro_batch")
    vertices = {}
    for name, model in models.items():
        node = graph.vertices[name]
        vertices[name] = ScenarioVertex(
            id=name,
            kind=model.kind,
            ipe=costs[name],
            arrivals=given.rates[stream_of(node.name)] if isinstance(node, Source) else None,
            window_s=model.window_s,
            advance_s=model.advance_s,
            output=model.output,
            limits_output=False,
        )
    # A vertex that reads another twice (a self-join) has one queue for it here, with twice the events
    selectivity: dict[tuple[str, str], float] = {}
    for edge in graph.edges:
        each = max(models[edge.source].selectivity, LEAST_SELECTIVITY)
        pair = (edge.source, edge.target)
        selectivity[pair] = selectivity.get(pair, 0.0) + each
    return GraphModel(vertices, selectivity)


def _make_base(cluster: Cluster, profile: Profile | None, settings: Mapping[str, Any]) -> Scenario:
    others = {"queries", "vms", "datacentres", "links", "failures", "actions", "planner"}
    known = {field.name for field in fields(Scenario)} - others
    for name in settings:
        if name not in known:
            raise InvalidInput(f'a simulation has no setting "{name}"', hint=suggest_name(name, sorted(known)))
    fidelity = settings.get("fidelity", "corrected")
    scheduler = settings.get("scheduler", "micro_batch" if fidelity == "corrected" else "dynamic")
    if fidelity == "cepsim" and scheduler == "micro_batch":
        raise InvalidInput('CEPSim has no scheduler "micro_batch"', hint='fidelity = "corrected"')
    vm = Vm(
        name=MACHINE,
        pes=cluster.processors,
        mips=cluster.mips,
        price_per_hour=cluster.price_per_hour * cluster.engines,
    )
    given: dict[str, Any] = {
        "duration_s": DURATION_S,
        "tick_s": TICK_S[cluster.host],
        "fidelity": fidelity,
        "scheduler": scheduler,
    }
    if fidelity == "cepsim":
        given["cloudlet_pes"] = cluster.processors  # corrected: all of the machine anyway
    if scheduler == "micro_batch":
        overhead = OVERHEAD_S[cluster.host] if profile is None else profile.overhead_s
        given["micro_batch"] = MicroBatch(interval_s=cluster.trigger_s, overhead_s=overhead)
    return Scenario(queries=(), vms=(vm,), **{**given, **settings})


def _find_costs(
    placed: PlacedGraph,
    models: Mapping[str, VertexModel],
    profile: Profile | None,
    cluster: Cluster,
    in_batches: bool,
) -> dict[str, float]:
    """Instructions per event.  What one engine does while the others wait takes as long on many processors as on one:
    in batches, which have all of them, it costs as many times more."""
    found = {} if profile is None else {name: profile.of(placed.graph.digests[name], name) for name in models}
    measured = {name: each.ipe for name, each in found.items() if each is not None}
    foreign = [] if profile is None else [name for name, each in profile.vertices.items() if each not in found.values()]
    if foreign and (profile is None or not profile.vertices[foreign[0]].digest or not measured):
        raise InvalidInput(
            f'the profile has a vertex "{foreign[0]}" that the graph has not: it is of other queries',
            hint=f"calibrate again; {suggest_name(foreign[0], models)}",
        )
    covered = {
        name
        for sink in placed.graph.of_role("consumer")
        for reached in [placed.graph.reach(sink, placed.graph.inputs)]
        if measured.keys() & set(reached)
        for name in reached
    }
    costs = {
        name: PASSING_IPE if name in covered else default_ipe(cluster.host, model.work)
        for name, model in models.items()
    } | measured
    for name in _find_unsplit(placed) if in_batches else ():
        costs[name] *= cluster.processors / (profile.pes if profile is not None and name in measured else 1)
    return costs


def _find_unsplit(placed: PlacedGraph) -> set[str]:
    """What runs in one engine, however many there are."""
    chained = place_chains(placed)
    return {name for name in chained.at_engines() if not chained.places[name].parallel_by}


def _part_queries(graph: QueryGraph, model: GraphModel) -> tuple[Query, ...]:
    owner: dict[str, str] = {}
    names = []
    for sink, node in graph.vertices.items():
        if isinstance(node, Sink):
            names.append(node.query)
            for name in graph.reach(sink, graph.inputs):
                owner.setdefault(name, node.query)
    return tuple(
        Query(
            name=query,
            vertices=tuple(model.vertices[name] for name in graph.order if owner.get(name) == query),
            edges=tuple(
                ScenarioEdge(source if owner[source] == query else f"{owner[source]}.{source}", target, share)
                for (source, target), share in model.selectivity.items()
                if owner.get(target) == query
            ),
            placement={name: MACHINE for name in graph.order if owner.get(name) == query},
        )
        for query in names
    )
