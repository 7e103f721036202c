"""Can the state of a continuous query be bounded?  If not: why, and what would bound it.

A pattern without WITHIN needs a bounded number of events per key if it

- matches at most so many events: `a b{1,5} c`, or SEQ whose events are neighbours, or whose partial matches are limited
  (LIMIT PARTIALS) and have no repeated term; or
- repeats only what the data end: in `down+ up`, with a condition on `down`, the first event that is neither
  settles the run, however long it was.  Data that never end it are possible: who wants a bound whatever comes
  (strict=True) is refused such a pattern, others are not warned of it.

It has no bound if something in it repeats whatever comes: `a any* c` waits for its c for ever, and so does
`a NOT b c`, which passes over whatever is not a b; `a NOT b FOR 2 s c` passes over the events of 2 s.  `$` waits for
the end of the stream.  In a WINDOW, a frame of n rows bounds all of that; SEEK in a frame without end has no bound, as
a match may begin at any row to come.
"""

from __future__ import annotations

from cepheid.graph.operators import OverRows, RowPattern, Sequence, WindowAggregate, WindowJoin
from cepheid.graph.operators.window_aggregate import show_window
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.automaton import longest_match
from cepheid.kernel.expression import (
    Aggregate,
    Cell,
    Constant,
    Expression,
    Fact,
    list_cells,
    list_leaves,
    list_variables,
)
from cepheid.kernel.pattern import (
    Absence,
    Absent,
    Alternation,
    Anchor,
    AnyOrder,
    Repetition,
    RowPatternProgram,
    SequenceProgram,
    Step,
    Term,
    list_parts,
    list_timed,
    show_pattern,
    walk_pattern,
)
from cepheid.kernel.pattern import RowPattern as Pattern
from cepheid.kernel.sequence_flow import Flow, Way
from cepheid.kernel.window import WindowProgram

HOW_TO_BOUND_WINDOW = "give the window a size, for instance RANGE 1 HOUR"
HOW_TO_LOOK_BACK = "look back instead, LAG or ASOF JOIN with >=, or FIRST_VALUE over a frame that ends"
HOW_TO_BOUND = "add WITHIN, for instance WITHIN INTERVAL '10' MINUTE"


def describe_remedy(graph: QueryGraph) -> str:
    """What would bound the state of those that have none."""
    windows = [
        isinstance(node, WindowAggregate | WindowJoin | OverRows)
        for node in graph.vertices.values()
        if _explain_vertex(node) is not None
    ]
    waiting = [node for node in graph.vertices.values() if isinstance(node, OverRows) and _explain_vertex(node)]
    if waiting and len(waiting) == len(windows):
        return HOW_TO_LOOK_BACK
    return HOW_TO_BOUND_WINDOW if all(windows) else HOW_TO_BOUND


def explain_unbounded(graph: QueryGraph) -> list[str]:
    """One sentence per vertex whose state can grow without end."""
    reasons = [_explain_vertex(graph.vertices[vertex]) for vertex in graph.order]
    return [reason for reason in reasons if reason is not None]


def explain_bound_of_data(graph: QueryGraph) -> list[str]:
    """One sentence per vertex whose state only the data bound: that of a repeated term with a condition."""
    reasons = [_explain_runs(graph.vertices[vertex]) for vertex in graph.order]
    return [reason for reason in reasons if reason is not None]


def _explain_runs(node: object) -> str | None:
    if _explain_vertex(node) is not None:
        return None
    match node:
        case RowPattern(program=program) if program.within is None:
            if program.frame is not None and program.frame.following is not None:
                return None
            parts = walk_pattern(program.pattern)
            run = next((part for part in parts if isinstance(part, Repetition) and part.most is None), None)
            shown, pattern = run and show_pattern(run), f"PATTERN ({show_pattern(program.pattern)})"
        case Sequence(program=sequence) if sequence.within is None:
            shown = next((f"{step.variable}[]" for step in sequence.steps if step.repeated), None)
            pattern = f"SEQ({', '.join(term.variable for term in sequence.terms)})"
        case _:
            return None
    return None if shown is None else f"{pattern} has no WITHIN, and {shown} takes events for as long as they fulfil it"


def _explain_vertex(node: object) -> str | None:
    match node:
        case Sequence(program=program) if program.within is None:
            return _explain_sequence(program)
        case RowPattern(program=program):
            reason = _explain_row_pattern(program)
            return None if reason is None else f"PATTERN ({show_pattern(program.pattern)}) {reason}"
        case WindowAggregate(program=window_program):
            reason = explain_window(window_program)
            return None if reason is None else f"{show_window(window_program.window)}: {reason}"
        case WindowJoin(program=join, streams=streams):
            endless = [name for name, side in zip(streams, join.inputs, strict=True) if side.size is None]
            return f'the window of "{endless[0]}" never loses an event' if endless else None
        case OverRows(program=over) if any(each.function == "lead" and each.column for each in over.functions):
            what = "LEAD ... IGNORE NULLS" if over.about is None else "ASOF JOIN with <= or <"
            return f"{what}: rows wait for a later one, which may never come"
    return None


def explain_window(program: WindowProgram) -> str | None:
    """Why a window can need ever more memory; None if it cannot."""
    if not program.window.is_landmark:
        return None
    if program.members and program.evaluation.when != "event":
        return "the window never loses an event, and its rows are all of them"
    held = [each.function for each in program.aggregates if not find_aggregate(each.function).mergeable]
    return f"the window never loses an event, and {held[0]} needs all of them" if held else None


def describe_bound(node: RowPattern | Sequence) -> str:
    """How much a key can need, in words."""
    reason = _explain_vertex(node)
    if reason is not None:
        return f"no bound: {reason}; {HOW_TO_BOUND}"
    return _bound_rows(node) if isinstance(node, RowPattern) else _bound_sequence(node.program)


def _bound_rows(node: RowPattern) -> str:
    program = node.program
    cells = [cell for _, condition in program.conditions for cell in list_cells(condition)]
    before = max([node.lookback(), *(-cell.position.shift for cell in cells)])
    if program.frame is not None and program.frame.following is not None:
        return f"at most {program.frame.following + 1 + before} events"
    if program.within is not None:
        return f"the events of {program.within / 1e6:g} s{f', and {before} before them' if before else ''}"
    longest = longest_match(program.pattern)
    timed = dict.fromkeys(map(show_pattern, list_timed(program.pattern)))
    passed = "".join(f", and those that {absence} passes over" for absence in timed)
    if longest is not None:
        return f"at most {longest + program.lookahead + before} events{passed}"
    return "the longest run that the data make: conditions end what is repeated"


def _bound_sequence(program: SequenceProgram) -> str:
    if program.flow is not None:
        return _bound_flow(program, program.flow)
    partials = f"; at most {program.limit} partial matches" if program.limit is not None else ""
    if program.within is not None:
        return f"the events of {program.within / 1e6:g} s{partials}"
    if program.strategy in ("strict", "partition_contiguity"):
        return f"a partial match for each step, of neighbouring events{partials}"
    return f"the events of {program.limit} partial matches" if program.limit is not None else "one event"


def _explain_row_pattern(program: RowPatternProgram) -> str | None:
    if program.frame is not None and program.frame.following is not None:
        return None
    if program.frame is not None and program.frame.seek:
        return "may be sought for ever: SEEK needs a frame that ends, for instance 100 FOLLOWING"
    if program.within is not None:
        return None
    endless = find_endless(program.pattern, dict(program.conditions))
    if endless is not None:
        return f"has no WITHIN, and {show_pattern(endless)} may take events for ever"
    parts = list(walk_pattern(program.pattern))
    passing = next((part for part in parts if isinstance(part, Absence) and part.lasting is None), None)
    if passing is not None:
        return f"has no WITHIN, and {show_pattern(passing)} may pass over events for ever"
    if Anchor("end") in parts:
        return "has no WITHIN, and $ waits for the end of the stream"
    return None


def _explain_sequence(program: SequenceProgram) -> str | None:
    """Why the state of a SEQ without WITHIN has no bound for each key; None if it has one.

    Partial matches that skip events wait for ever, unless LIMIT PARTIALS says how many may; what they hold grows with
    each element of a repeated term.  Neighbours wait for one event only, unless a repeated term takes whatever comes.
    """
    shown = f"SEQ({', '.join(term.variable for term in program.terms)})"
    if program.flow is not None:
        return _explain_flow(shown, program, program.flow)
    joint = {variable for part in program.joint for variable in list_variables(part)}
    if program.strategy in ("strict", "partition_contiguity"):
        free = [step for step in program.steps if step.repeated and _is_free(step, joint)]
        return f"{shown} has no WITHIN, and {free[0].variable}[] may take events for ever" if free else None
    repeated = [step for step in program.steps if step.repeated]
    positive = [item for item in program.items if not isinstance(item, Absent)]
    if len(positive) == 1 and not isinstance(positive[0], AnyOrder) and not repeated:
        return None
    if program.limit is None:
        return f"{shown} has no WITHIN: every event may be needed for ever"
    if repeated:
        taking = f"how many events {repeated[0].variable}[] takes"
        return f"{shown} has no WITHIN: LIMIT PARTIALS bounds how many partial matches there are, not {taking}"
    judged_late = [absent for absent in program.absences if absent.variable in joint]
    if judged_late:
        return f"{shown} has no WITHIN: every {judged_late[0].variable} may be needed for ever"
    return None


def _bound_flow(program: SequenceProgram, flow: Flow) -> str:
    once = "" if flow.begins == "always" else "; an event of each key that has begun"
    if program.within is not None:
        return f"the events of {program.within / 1e6:g} s that are in partial matches{once}"
    return f"the events of partial matches{once}"


def _explain_flow(shown: str, program: SequenceProgram, flow: Flow) -> str | None:
    """Without WITHIN, what waits for an event that may never come waits for ever; for time, or for a neighbour, it does
    not."""
    if program.within is not None:
        return None
    repeated = next((step for step in program.steps if step.repeated), None)
    endless = [place for place in flow.places[1:] if any(_waits_for_ever(way) for way in place.ways)]
    if endless:
        return f"{shown} has no WITHIN: every event may be needed for ever"
    if repeated is not None and any(
        way.target <= number for number, place in enumerate(flow.places) for way in place.ways
    ):
        return f"{shown} has no WITHIN, and {repeated.variable}[] may take events for ever"
    return None


def _waits_for_ever(way: Way) -> bool:
    return way.variable is not None and way.contiguity != "next"


def _is_free(step: Step, joint: set[str]) -> bool:
    return step.variable not in joint and _always_holds(step.variable, step.condition)


def find_endless(pattern: Pattern, conditions: dict[str, Expression]) -> Repetition | None:
    """A part without upper bound that goes on whatever events come."""
    if isinstance(pattern, Repetition) and pattern.most is None and _free_ways(pattern.item, conditions)[1]:
        return pattern
    return next((found for part in list_parts(pattern) if (found := find_endless(part, conditions))), None)


def _free_ways(pattern: Pattern, conditions: dict[str, Expression]) -> tuple[bool, bool]:
    """Is there a way through the pattern that takes no event, and one whose every event may be any?"""
    if isinstance(pattern, Term):
        return False, _always_holds(pattern.variable, conditions.get(pattern.variable))
    empty, free = zip(*[_free_ways(part, conditions) for part in list_parts(pattern)] or [(True, False)], strict=True)
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
    return not any(_changes(leaf, variable) for leaf in list_leaves(condition))


def _changes(leaf: Cell | Fact, variable: str) -> bool:
    """Does the value depend on events that are yet to be bound to the variable?"""
    match leaf:
        case Cell(position=place):
            return place.pick == "last" and variable in (place.variables or (variable,))
        case Aggregate(variables=variables):
            return variable in (variables or (variable,))
    return False
