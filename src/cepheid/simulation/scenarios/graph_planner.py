"""Queries as SQL, patterns or graphs that come into a simulation while it runs.

    "SELECT ..." ─compile─▶ graph ─add_graph─▶ one graph with what is there ─model_graph─▶ what is new, as a Query

As in a live session: what is equal to something that is there is computed once, and an altered query goes on with the
vertices that have the same digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepheid.compiler import compile_query, place_graph
from cepheid.errors import InvalidInput
from cepheid.graph.merge_graphs import add_graph
from cepheid.graph.operators import Sink
from cepheid.graph.query_graph import QueryGraph
from cepheid.hosts import HostTraits
from cepheid.language.builder.pattern_builder import Pattern
from cepheid.language.catalog import Catalog
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.simulation.scenario import Query, Scaled, Scenario, ScenarioEdge
from cepheid.simulation.scenarios.graph_scenario import MACHINE, GraphSetting, make_scenario, model_graph

if TYPE_CHECKING:
    from cepheid.deployment import QueryForm


def plan_scenario(placed: PlacedGraph, host: HostTraits, catalog: Catalog, setting: GraphSetting) -> Scenario:
    """The scenario of a graph, into which more queries over the streams of the catalog may come."""
    scenario = make_scenario(placed, setting)
    homes = {vertex.id: f"{query.name}.{vertex.id}" for query in scenario.queries for vertex in query.vertices}
    return replace(scenario, planner=GraphPlanner(placed, host, catalog, setting, homes))


@dataclass(frozen=True)
class GraphPlanner:
    """placed: the graph of all queries that ever were.  homes: of each of its vertices, where it is in the scenario, as
    `query.vertex`."""

    placed: PlacedGraph
    host: HostTraits
    catalog: Catalog
    setting: GraphSetting
    homes: Mapping[str, str]

    def plan(
        self, name: str, query: QueryForm, *, replaces: tuple[str, ...] = (), shares: bool = True
    ) -> tuple[Query, GraphPlanner]:
        graph = self._compile(name, query)
        whole, labels = add_graph(self.placed.graph, graph)
        placed = place_graph(whole, self.host)
        (sink,) = (labels[vertex] for vertex in graph.of_role("consumer"))
        homes = {**self.homes, **self._find_same(whole, list(labels.values()), replaces)} if shares else {}
        own = _find_own(whole, sink, homes)
        model = model_graph(placed, self.setting)
        edges: dict[tuple[str, str], float] = {}
        for (source, target), share in model.selectivity.items():
            if target in own:
                pair = (homes.get(source, source), target)
                edges[pair] = edges.get(pair, 0.0) + share
        planned = Query(
            name=name,
            vertices=tuple(model.vertices[vertex] for vertex in whole.order if vertex in own),
            edges=tuple(ScenarioEdge(*pair, share) for pair, share in edges.items()),
            placement={vertex: MACHINE for vertex in whole.order if vertex in own},
        )
        addresses = {vertex: f"{name}.{vertex}" for vertex in own}
        return planned, replace(self, placed=placed, homes={**addresses, **homes, **self.homes})

    def scale(self, engines: int) -> Scaled:
        setting = replace(self.setting, cluster=replace(self.setting.cluster, engines=engines))
        costs = {name: vertex.ipe for name, vertex in model_graph(self.placed, setting).vertices.items()}
        queries = frozenset(node.query for node in self.placed.graph.vertices.values() if isinstance(node, Sink))
        return Scaled(replace(self, setting=setting), MACHINE, setting.cluster.processors, queries, costs)

    def _compile(self, name: str, query: QueryForm) -> QueryGraph:
        if isinstance(query, str | Pattern):
            return compile_query({name: query}, self.catalog, self.host).queries[name].rewritten
        if not isinstance(query, QueryGraph):
            told = f'query "{name}" is a {type(query).__name__}'
            raise InvalidInput(told, hint="give SQL text, a pattern of cep.pattern, or a graph")
        sinks = query.of_role("consumer")
        if len(sinks) != 1:
            hint = "give a graph with one consumer; several queries are several actions"
            raise InvalidInput(f'the graph of query "{name}" has {len(sinks)} consumers', hint=hint)
        return query.with_node(sinks[0], Sink(query=name))

    def _find_same(self, whole: QueryGraph, vertices: list[str], replaces: tuple[str, ...]) -> dict[str, str]:
        """Of vertices that are not there yet, those with the digest of one of a query that is replaced: they only call
        columns otherwise."""
        known = {
            whole.digests[vertex]: home
            for vertex, home in self.homes.items()
            if home.partition(".")[0] in replaces and not isinstance(whole.vertices[vertex], Sink)
        }
        fresh = [vertex for vertex in vertices if vertex not in self.homes and whole.digests[vertex] in known]
        return {vertex: known[whole.digests[vertex]] for vertex in fresh}


def _find_own(graph: QueryGraph, sink: str, homes: Mapping[str, str]) -> set[str]:
    """What leads to the sink, up to what is there already."""
    own: set[str] = set()
    waiting = [sink]
    while waiting:
        vertex = waiting.pop()
        if vertex not in own and vertex not in homes:
            own.add(vertex)
            waiting += graph.inputs(vertex)
    return own
