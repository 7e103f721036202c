"""Can the state of a continuous query be bounded?  If not: why, and what would bound it."""

from __future__ import annotations

from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.automaton import longest_match
from cepheid.kernel.pattern import show_pattern


def explain_unbounded(graph: QueryGraph) -> list[str]:
    """One sentence per vertex whose state can grow without end."""
    reasons = []
    for node in graph.vertices.values():
        if isinstance(node, Sequence) and node.program.within is None and len(node.program.steps) > 1:
            steps = ", ".join(step.variable for step in node.program.steps)
            reasons.append(f"SEQ({steps}) has no WITHIN: every event may be needed for ever")
        if isinstance(node, RowPattern) and node.program.within is None:
            if longest_match(node.program.pattern) is None:
                shown = show_pattern(node.program.pattern)
                reasons.append(f"PATTERN ({shown}) can match any number of events and has no WITHIN")
    return reasons


HOW_TO_BOUND = "add WITHIN, for instance WITHIN INTERVAL '10' MINUTE"
