"""How far an event reaches: which rows of an engine it can touch, so that only those are looked at again.

                 back_us          fore_us
    ──[──────────────────── a ──────────────]──▶ time      a row *at* a is about events in there and in its scope only
    ──[──────── t ───────────────────]─────────▶           so an event at t touches rows at t - fore_us .. t + back_us
        fore_us          back_us

    SEQ ... WITHIN w                    at its first event            w behind it, and w before it if it is an absence
    sliding window of w, for each event  at the event                 w before it
    tumbling, hopping windows of w       at the end of the window     w before it
    windows that are joined              at the event that arrives    the longest window before it

The *scope* is what else confines it: columns that all events of a row agree on.  Where a match decides about those that
follow it (MATCH_RECOGNIZE), the scope is all that does: rows hang on every event of their key that may still change,
though mostly it can be seen from the matches how far (match_chain.py).  Where rows are counted (ROWS 10, LAG), or
events are neighbours (sessions), the scope is that, too, and the neighbours say how far (neighbours.py).
Where rows depend on more than that (CONSUME MATCHED, runs of ROWS, no WITHIN), there is no reach, and an engine goes
back as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass

from cepheid.graph.match_chain import find_longest_match
from cepheid.graph.neighbours import Neighbours, find_neighbours, unite_neighbours
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import OverRows, RowPattern, Sequence, WindowAggregate, WindowJoin
from cepheid.kernel.pattern import Absent, SequenceProgram

MOST_SHARE = 3  # of the events that are kept; if more of them are touched, going back is no dearer
ALWAYS_LITTLE = 4096  # events that are no work
REACHES = 3  # so many times the longest match is looked at around a late event, where matches hang together
ENDLESS_US = 1 << 61  # longer than from any event to any other


@dataclass(frozen=True, slots=True)
class Reach:
    """scope: columns of the layout of events.  chain_us: where matches hang together and can be parted, the longest.
    neighbours: where they say how far."""

    back_us: int
    fore_us: int
    scope: tuple[str, ...]
    chain_us: int | None = None
    neighbours: Neighbours | None = None

    @property
    def span_us(self) -> int:
        """How far an event may be from another one with which it is in a row, or decides about one."""
        return self.back_us + self.fore_us

    @property
    def stretch_us(self) -> int:
        """About as long as the spans that are looked at; 0: that hangs on how dense events are."""
        if self.neighbours is not None:
            return 2 * REACHES * self.neighbours.gap_us
        return self.span_us if self.chain_us is None else 2 * REACHES * self.chain_us

    @property
    def is_endless(self) -> bool:
        """May an event touch any row of its scope?"""
        return self.back_us == ENDLESS_US


def find_reach(nodes: List[EngineNode]) -> Reach | None:
    """For vertices that share an engine; None: an event may touch anything."""
    found = [_find_reach(node, nodes) for node in nodes]
    known = [reach for reach in found if reach is not None]
    if len(known) < len(found) or len({reach.scope for reach in known}) > 1:
        return None
    if len(known) == 1:
        return known[0]
    if any(reach.neighbours for reach in known):
        together = unite_neighbours([reach.neighbours for reach in known])
        return None if together is None else Reach(ENDLESS_US, ENDLESS_US, known[0].scope, neighbours=together)
    return Reach(max(reach.back_us for reach in known), max(reach.fore_us for reach in known), known[0].scope)


def pays_alone(touched: int, kept: int) -> bool:
    """Is it cheaper to look at these events again than to go back and look at all?"""
    return touched <= ALWAYS_LITTLE or MOST_SHARE * touched <= kept


def _find_reach(node: EngineNode, nodes: List[EngineNode]) -> Reach | None:
    keys = tuple(f"_key{number}" for number in range(node.keys))
    match node:
        case RowPattern():
            chain = find_longest_match(node)
            if node.predicates or (not keys and chain is None):
                return None
            return Reach(ENDLESS_US, ENDLESS_US, keys, chain)
        case Sequence(program=program):
            if program.within is None or _do_matches_depend(program) or node.predicates:
                return None
            back = program.within if isinstance(program.items[0], Absent) else 0
            return Reach(back, program.within, keys)
        case WindowAggregate() | OverRows():
            neighbours = find_neighbours(node)
            if neighbours is not None:
                return Reach(ENDLESS_US, ENDLESS_US, keys, neighbours=neighbours)
            return _reach_of_window(node, keys, nodes) if isinstance(node, WindowAggregate) else None
        case WindowJoin(program=program):
            sizes = [window.size for window in program.inputs]
            if program.emits_leavers or any(window.kind != "time" for window in program.inputs) or None in sizes:
                return None
            return Reach(max(size for size in sizes if size is not None), 0, keys)
    return None


def _do_matches_depend(program: SequenceProgram) -> bool:
    """Does a match hang on others, or on more than the events within its time?"""
    flow = program.flow
    is_apart = flow is None or (flow.begins == "always" and not flow.waits)
    return not is_apart or program.consume or program.limit is not None or program.strategy == "strict"


def _reach_of_window(node: WindowAggregate, keys: tuple[str, ...], nodes: List[EngineNode]) -> Reach | None:
    program = node.program
    window, when = program.window, program.evaluation.when
    is_hopping = window.slide is not None and when == "close"
    is_sliding = window.is_sliding and when == "event"
    is_numbered = any(cell.kind == "evaluation" for cell in node.cells)
    if window.kind != "time" or window.size is None or program.shows != "concerned" or is_numbered:
        return None
    if not is_hopping and not is_sliding:
        return None
    groups = min(each.groups for each in nodes if isinstance(each, WindowAggregate))
    if all(isinstance(each, WindowAggregate) and are_groups_apart(each, groups) for each in nodes):
        return Reach(window.size, 0, (*keys, *(f"_group{number}" for number in range(groups))))
    return Reach(window.size, 0, keys)


def are_groups_apart(node: WindowAggregate, groups: int) -> bool:
    """Is what a row of a group says the same, whatever events of other groups there are?"""
    arranged = node.arrangement.order or node.arrangement.limit is not None or node.arrangement.offset
    ranked = any(cell.kind == "rank" for cell in node.cells)
    return node.groups == groups and not node.program.members and not arranged and not ranked
