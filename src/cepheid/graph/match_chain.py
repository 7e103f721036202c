"""How far the matches of MATCH_RECOGNIZE hang together: where one ends decides where the next may begin.

    events of a key      1   2   3   4   5   6   7   8
    matches                 [2───────4]     [6───7]
    a search begins at   1   2           5   6       8

A search looks at nothing before the event that it begins at.  So from an event on at which a search begins with a late
event among those before it, and began without, all matches are the same.  An event that is in no match, or is the
first of one, is such an event; and no match is longer than WITHIN, so one is never far.

Not so where a search asks for more than the events from its first one on, up to WITHIN: the number of the match, the
start of the partition, PREV of the first event, NEXT of the last one; where an absence or a frame lasts for a time or a
count of its own; where matches overlap, so that it cannot be seen from them where searches began.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.graph.operators.row_pattern import RowPattern
from cepheid.kernel.automaton import build_automaton, find_beginnings
from cepheid.kernel.condition_reach import list_labels
from cepheid.kernel.expression import Cell, Classifier, Expression, HostCall, Position, list_leaves
from cepheid.kernel.pattern import Anchor, Exclusion, list_timed, walk_pattern


def find_longest_match(node: RowPattern) -> int | None:
    """In microseconds, where late events can be put right between two searches; None: where they cannot."""
    program = node.program
    is_plain = program.frame is None and not program.timeouts and not list_timed(program.pattern)
    has_marks = any(isinstance(part, Anchor | Exclusion) for part in walk_pattern(program.pattern))
    tells_searches = program.skip.kind == "past_last" or (program.skip.kind == "to_next" and not program.unmatched)
    if program.within is None or not is_plain or has_marks or not tells_searches or node.is_numbered:
        return None
    return program.within if _looks_inside(node) else None


def _looks_inside(node: RowPattern) -> bool:
    """Is all that conditions and cells read between the first event of a match and the last?"""
    automaton = build_automaton(node.program.pattern)
    beginnings = find_beginnings(automaton)
    labels = list_labels(node.program, automaton)
    if beginnings is None or node.program.lookahead:
        return False
    first = {label for number, label in enumerate(labels) if number in beginnings}

    def is_inside(position: Position, tested: str | None) -> bool:
        named = {tested} if position.variables == () and position.pick == "last" else set(position.variables)
        is_behind_first = bool(named) and None not in named and not named & first
        return position.shift == 0 or (position.shift == -1 and is_behind_first)

    told = [is_inside(cell.position, None) for cell in node.cells]
    for label, condition in labels.items():
        if condition is not None:
            told += [is_inside(position, label) for position in _list_positions(condition)]
    return all(told)


def _list_positions(condition: Expression) -> Iterator[Position]:
    for leaf in list_leaves(condition):
        if isinstance(leaf, Cell | Classifier):
            yield leaf.position
        elif isinstance(leaf, HostCall):
            yield from (position for _, position in leaf.arguments)
            yield from (fact.position for fact in leaf.facts if isinstance(fact, Classifier))
