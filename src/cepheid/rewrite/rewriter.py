"""Apply rules until none has anything to say, and remember each application."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.rule_order import RULES, Rule

MOST_APPLICATIONS = 1000


@dataclass(frozen=True, slots=True)
class Application:
    """One rule applied once."""

    rule: str
    before: QueryGraph
    after: QueryGraph


def rewrite_graph(graph: QueryGraph, rules: tuple[Rule, ...] = RULES) -> tuple[QueryGraph, tuple[Application, ...]]:
    """The graph that no rule changes any more, and the trace of how it came about."""
    trace: list[Application] = []
    while True:
        for rule in rules:
            after = rule(graph)
            if after is not None:
                trace.append(Application(rule.__name__, graph, after))
                graph = after
                break
        else:
            return graph, tuple(trace)
        assert len(trace) < MOST_APPLICATIONS, f"rules undo one another: {[step.rule for step in trace[-6:]]}"
