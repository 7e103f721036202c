"""Apply rules until none has anything to say, and remember each application.

Each rule has a list of vertices that it has not looked at since something near them changed.  The first rule with
something to say is applied; then all rules look again at the neighbourhood of the change, and only there.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.cost.estimate import Estimate
from cepheid.graph.attributes import Beliefs
from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.rule import Rule

NEAR = 3  # edges: no rule looks further than from a stateful vertex through its layout to the filter below
MOST_PER_VERTEX = 100  # applications; more, and rules undo one another


@dataclass(frozen=True, slots=True)
class RuleApplication:
    """One rule applied once: the vertices that are new or changed, those that are gone, and what came out."""

    rule: str
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    after: QueryGraph


def rewrite_graph(
    graph: QueryGraph, rules: tuple[Rule, ...], beliefs: Beliefs
) -> tuple[QueryGraph, tuple[RuleApplication, ...]]:
    """The graph that no rule changes any more, and the trace of how it came about."""
    trace: list[RuleApplication] = []
    waiting: list[dict[str, None]] = [dict.fromkeys(graph.vertices) for _ in rules]
    while (found := _apply_one(graph, rules, beliefs, waiting)) is not None:
        rule, after = found
        application = _compare(rule, graph, after)
        near = _find_neighbourhood(after, application.changed) | _find_neighbourhood(graph, application.gone)
        graph = after
        for vertices in waiting:
            vertices.update(dict.fromkeys(vertex for vertex in graph.vertices if vertex in near))
        trace.append(application)
        assert len(trace) < MOST_PER_VERTEX * len(graph.vertices), (
            f"rules undo one another: {[step.rule for step in trace[-6:]]}"
        )
    return graph, tuple(trace)


def _apply_one(
    graph: QueryGraph, rules: tuple[Rule, ...], beliefs: Beliefs, waiting: list[dict[str, None]]
) -> tuple[str, QueryGraph] | None:
    """The first rule that has something to say at a vertex it has not looked at."""
    for rule, vertices in zip(rules, waiting, strict=True):
        while vertices:
            vertex = next(iter(vertices))
            if isinstance(graph.vertices.get(vertex), rule.looks_at):
                after = rule.apply(graph, vertex)
                if after is not None and rule.pays(Estimate(graph, beliefs), vertex):
                    return rule.name, after  # the vertex stays on the list: there may be more to say
            del vertices[vertex]
    return None


def _compare(rule: str, before: QueryGraph, after: QueryGraph) -> RuleApplication:
    old, new = before.vertices, after.vertices
    changed = [vertex for vertex, node in new.items() if old.get(vertex) is not node and old.get(vertex) != node]
    moved = {edge.target for edge in set(before.edges) ^ set(after.edges)} & new.keys()
    gone = tuple(vertex for vertex in old if vertex not in new)
    return RuleApplication(rule, tuple(changed or sorted(moved)), gone, after)


def _find_neighbourhood(graph: QueryGraph, vertices: tuple[str, ...]) -> set[str]:
    near = set(vertices)
    edge = near
    for _ in range(NEAR):
        edge = {name for vertex in edge for name in (*graph.inputs(vertex), *graph.outputs(vertex)) if name not in near}
        near |= edge
    return near
