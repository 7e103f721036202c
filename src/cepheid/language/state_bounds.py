"""Can the state of a continuous query be bounded?  If not: why, and what would bound it.

A pattern without WITHIN needs a bounded number of events per key if it

- matches at most so many events: `a b{1,5} c`, or SEQ whose events are neighbours; or
- repeats only what the data end: in `down+ up`, with a condition on `down`, the first event that is neither
  settles the run, however long it was.

It has no bound if something in it repeats whatever comes: `a any* c` waits for its c for ever.
"""

from __future__ import annotations

from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import Constant, Expression, list_cells
from cepheid.kernel.pattern import (
    Alternation,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    Term,
    show_pattern,
)
from cepheid.kernel.pattern import RowPattern as Pattern

HOW_TO_BOUND = "add WITHIN, for instance WITHIN INTERVAL '10' MINUTE"


def explain_unbounded(graph: QueryGraph) -> list[str]:
    """One sentence per vertex whose state can grow without end."""
    reasons = [_explain_vertex(graph.vertices[vertex]) for vertex in graph.order]
    return [reason for reason in reasons if reason is not None]


def _explain_vertex(node: object) -> str | None:
    match node:
        case Sequence(program=program) if program.within is None and program.strategy.startswith("skip_till"):
            steps = ", ".join(step.variable for step in program.steps)
            return f"SEQ({steps}) has no WITHIN: every event may be needed for ever" if len(program.steps) > 1 else None
        case RowPattern(program=program) if program.within is None:
            endless = find_endless(program.pattern, dict(program.conditions))
            if endless is not None:
                shown = show_pattern(program.pattern)
                return f"PATTERN ({shown}) has no WITHIN, and {show_pattern(endless)} may take events for ever"
    return None


def find_endless(pattern: Pattern, conditions: dict[str, Expression]) -> Repetition | None:
    """A part without upper bound that goes on whatever events come."""
    if isinstance(pattern, Repetition) and pattern.most is None and _free_ways(pattern.item, conditions)[1]:
        return pattern
    return next((found for part in _parts(pattern) if (found := find_endless(part, conditions))), None)


def _free_ways(pattern: Pattern, conditions: dict[str, Expression]) -> tuple[bool, bool]:
    """Is there a way through the pattern that takes no event, and one whose every event may be any?"""
    if isinstance(pattern, Term):
        return False, _always_holds(pattern.variable, conditions.get(pattern.variable))
    empty, free = zip(*[_free_ways(part, conditions) for part in _parts(pattern)] or [(True, False)], strict=True)
    match pattern:
        case Alternation():
            return any(empty), any(free)
        case Repetition(least=least):
            return least == 0 or empty[0], free[0]
    return all(empty), any(free) and all(map(any, zip(empty, free, strict=True)))


def _always_holds(variable: str, condition: Expression | None) -> bool:
    """Nothing to fulfil, or nothing that depends on the events to come: once true, it stays true."""
    if condition is None:
        return True
    if isinstance(condition, Constant):
        return condition.value is True
    positions = [cell.position for cell in list_cells(condition)]
    return not any(place.pick == "last" and variable in (place.variables or (variable,)) for place in positions)


def _parts(pattern: Pattern) -> tuple[Pattern, ...]:
    match pattern:
        case Concatenation(items=parts) | Alternation(options=parts) | Permutation(items=parts):
            return parts
        case Repetition(item=item) | Exclusion(item=item):
            return (item,)
    return ()
