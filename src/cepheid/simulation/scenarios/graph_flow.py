"""How many events pass each vertex of a query graph: from the rates of sources, vertex by vertex, to the sinks.

What only data can tell (patterns, filters, joins) comes from a profile, or from the user, who knows the selectivity of
the query as a whole; else it is guessed (vertex_model.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from cepheid.cost.profile import Profile
from cepheid.errors import InvalidInput, suggest_name
from cepheid.graph.column_origin import trace_columns
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import HostWindow, OverRows, Sink, Source, WindowAggregate, WindowJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.processing_time import stream_of
from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.scenarios.vertex_model import Flow, VertexModel, model_vertex

GUESSED_KEYS = 1000.0
Overrides = Mapping[str, float]
Keys = Mapping[str, float | Mapping[str, float]]  # by source: of its events as a whole, or of each column


class GraphFlow:
    """rates: by the names of sources.  keys: of sources or of their columns.  duration_s: rates are means over it."""

    def __init__(
        self,
        graph: QueryGraph,
        rates: Mapping[str, ArrivalProcess],
        profile: Profile | None,
        keys: Keys,
        duration_s: float,
    ) -> None:
        self.graph, self.profile, self.keys = graph, profile, keys
        self.offered = {}
        for name, node in graph.vertices.items():
            if isinstance(node, Source):
                stream = stream_of(node.name)
                if stream not in rates:
                    raise InvalidInput(
                        f'nothing says how many events come from "{stream}"', hint="give it a rate_per_s or arrivals"
                    )
                self.offered[name] = rates[stream].mean_rate(duration_s)
            elif not graph.inputs(name):
                raise InvalidInput(f'"{name}" reads no stream: there is nothing to simulate', hint=node.describe())

    def flow_through(self, overrides: Overrides) -> tuple[dict[str, VertexModel], dict[str, float]]:
        """The models of vertices, and how many rows per second leave each.  overrides: selectivities."""
        models: dict[str, VertexModel] = {}
        leaving: dict[str, float] = {}
        for name in self.graph.order:
            flow = Flow(
                rates_per_s=tuple(leaving[source] for source in self.graph.inputs(name)), keys=self.count_keys(name)
            )
            model = self.use_profile(name, model_vertex(self.graph.vertices[name], flow), flow)
            if name in overrides:
                model = replace(model, selectivity=overrides[name])
            models[name] = model
            leaving[name] = self.offered[name] if name in self.offered else model.rows_per_s(flow)
        return models, leaving

    def use_profile(self, name: str, model: VertexModel, flow: Flow) -> VertexModel:
        measured = None if self.profile is None else self.profile.of(self.graph.digests[name], name)
        if measured is None or model.kind in ("producer", "consumer"):
            return model
        if model.kind == "operator":
            return replace(model, selectivity=measured.selectivity)
        if self.knows_keys(name) or model.output is None:
            return model
        return replace(model, output=measured.selectivity * flow.rate_per_s * model.advance_s)

    def knows_keys(self, vertex: str) -> bool:
        return self._find_keys(vertex) is not None

    def count_keys(self, vertex: str) -> float:
        found = self._find_keys(vertex)
        return GUESSED_KEYS if found is None else found

    def _find_keys(self, vertex: str) -> float | None:
        """How many groups the events of a window or join have: as told of a source, or the product of what is told of
        the columns that it groups by."""
        stated = [self.keys[name] for name in self.list_sources(vertex) if name in self.keys]
        whole = [each for each in stated if not isinstance(each, Mapping)]
        if whole:
            return max(whole)
        counts = {}
        for column in _grouping_columns(self.graph.vertices[vertex]):
            origins = trace_columns(self.graph, self.graph.inputs(vertex)[0], column) or []
            known = [
                (source.name, origin, by_column[origin])
                for source, origin in origins
                if isinstance(by_column := self.keys.get(source.name), Mapping) and origin in by_column
            ]
            if not known:
                return None
            counts[known[0][:2]] = known[0][2]  # a column may be a key and a group
        return math.prod(counts.values()) if counts else None

    def list_sources(self, vertex: str) -> list[str]:
        reached = self.graph.reach(vertex, self.graph.inputs)
        return [stream_of(node.name) for name in reached if isinstance(node := self.graph.vertices[name], Source)]

    def fit_query(self, query: str, wanted: float, overrides: Overrides) -> dict[str, float]:
        """The selectivity of one vertex by which the query as a whole has the wanted one: of the last that only data
        decide, if possible one that no other query reads."""
        sinks = {node.query: name for name, node in self.graph.vertices.items() if isinstance(node, Sink)}
        if query not in sinks:
            raise InvalidInput(f'there is no query "{query}"', hint=suggest_name(query, sinks))
        own = self.graph.reach(sinks[query], self.graph.inputs)
        models = self.flow_through(overrides)[0]
        last_window = max((place for place, name in enumerate(own) if models[name].kind == "window"), default=-1)
        fitting = [name for place, name in enumerate(own) if place > last_window and models[name].by_data]
        if not fitting:
            raise InvalidInput(
                f'query "{query}": its selectivity follows from its windows, and cannot be chosen',
                hint="leave out selectivity; `keys` of a source says how many groups a window has",
            )
        alone = [name for name in fitting if self._count_readers(name) == 1]
        vertex = (alone or fitting)[-1]
        arriving = sum(self.offered[name] for name in own if name in self.offered)
        at_one = self.flow_through({**overrides, vertex: 1.0})[1][sinks[query]]
        return {vertex: wanted * arriving / at_one} if at_one > 0.0 else {}

    def _count_readers(self, vertex: str) -> int:
        reached = self.graph.reach(vertex, self.graph.outputs)
        return sum(isinstance(self.graph.vertices[name], Sink) for name in reached)


def _grouping_columns(node: PlanNode) -> list[str]:
    match node:
        case WindowAggregate(keys=keys, groups=groups) | HostWindow(keys=keys, groups=groups):
            return [*(f"_key{number}" for number in range(keys)), *(f"_group{number}" for number in range(groups))]
        case WindowJoin(keys=keys) | OverRows(keys=keys):
            return [f"_key{number}" for number in range(keys)]
    return []
