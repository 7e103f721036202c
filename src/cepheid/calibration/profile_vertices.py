"""From what queries cost as a whole to the vertices of their graph.

A query is measured from outside, so what it costs belongs to one of its vertices: the first that remembers (a pattern,
a window), or, if there is none, the first that does anything.  The others only pass events on; what the simulator
takes for that (PASSING_IPE) is taken off, so that all together cost what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.cost.profile import NOMINAL_MIPS, HostName, Method, Profile, QueryProfile, VertexProfile
from cepheid.graph.operators import Filter, Sink
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.simulation.scenarios.graph_scenario import PASSING_IPE

LEAST_PART = 0.1  # of what was measured: at least that much stays with the bearer


def make_profile(
    placed: PlacedGraph,
    measured: Mapping[str, QueryProfile],
    host: HostName,
    pes: int,
    method: Method = "regression",
) -> Profile:
    """measured: by the names of the queries in the graph.  What queries share is charged to the first of them."""
    vertices: dict[str, VertexProfile] = {}
    for query, cost in measured.items():
        own = [name for name in _list_vertices(placed, query) if name not in vertices]
        if own:
            vertices |= _charge(placed, own, cost, pes, method)
    return Profile(
        host=host,
        mips=NOMINAL_MIPS,
        pes=pes,
        overhead_s=sum(cost.overhead(method) for cost in measured.values()),
        vertices=vertices,
        queries=measured,
    )


def _list_vertices(placed: PlacedGraph, query: str) -> list[str]:
    """The operators of a query, in the order of its events."""
    graph = placed.graph
    sinks = [name for name, node in graph.vertices.items() if isinstance(node, Sink) and node.query == query]
    own = {name for sink in sinks for name in graph.reach(sink, graph.inputs)}
    return [name for name in graph.order if name in own and graph.vertices[name].role == "operator"]


def _charge(
    placed: PlacedGraph, own: list[str], cost: QueryProfile, pes: int, method: Method
) -> dict[str, VertexProfile]:
    engines = [name for name in own if placed.places[name].site == "engines"]
    bearer = engines[0] if engines else own[0]
    before = own[: own.index(bearer)]
    filters = [name for name in before if isinstance(placed.graph.vertices[name], Filter)]
    reach = cost.reach if filters else 1.0  # without a filter all events come through
    total = cost.seconds(method) * pes * NOMINAL_MIPS * 1e6
    after = len(own) - len(before)  # operators behind the bearer, and the sink
    passing = PASSING_IPE * (1 + len(before) + after * cost.selectivity)
    ipe = max(total - passing, LEAST_PART * total) / reach
    charged = {bearer: (ipe, cost.selectivity / reach)}
    if filters:
        charged[filters[-1]] = (PASSING_IPE, reach)
    charged |= dict.fromkeys(engines[1:], (PASSING_IPE, 1.0))
    digests = placed.graph.digests
    return {
        name: VertexProfile(ipe=each, selectivity=selectivity, digest=digests[name], method=method)
        for name, (each, selectivity) in charged.items()
    }
