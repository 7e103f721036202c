"""How far an event reaches where rows are about its neighbours: so many events before and behind, or all without a gap.

ROWS 3, LAG(x, 2)      e1  e2 [e3] e4  e5  e6       e3 touches its own row and those of the 2 events behind it,
                       └───────────┴───┘            which are about e1 to e5
SESSION 10 s           e1 e2      e3 e4 e5     e6   e4 touches the session in which it is, which begins and ends
                                 └────────┘         where no event is near enough
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.graph.operators import OverRows, WindowAggregate


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A row is about so many events of its scope before it, and behind it; or, with a gap, about those between two
    gaps that are longer."""

    before: int = 0
    behind: int = 0
    gap_us: int = 0


def find_neighbours(node: WindowAggregate | OverRows) -> Neighbours | None:
    return _of_window(node) if isinstance(node, WindowAggregate) else _of_functions(node)


def unite_neighbours(found: Sequence[Neighbours | None]) -> Neighbours | None:
    """Of vertices that share an engine; None: they have too little in common."""
    known = [each for each in found if each is not None]
    if len(known) < len(found) or len({each.gap_us > 0 for each in known}) > 1:
        return None
    return Neighbours(*(max(values) for values in zip(*((n.before, n.behind, n.gap_us) for n in known), strict=True)))


def _of_window(node: WindowAggregate) -> Neighbours | None:
    program, arranged = node.program, node.arrangement
    window, when = program.window, program.evaluation.when
    is_arranged = bool(arranged.order) or arranged.limit is not None or arranged.offset
    is_compared = any(cell.kind in ("evaluation", "rank") for cell in node.cells)
    if window.size is None or program.shows != "concerned" or program.members or is_compared or is_arranged:
        return None
    if window.kind == "count" and window.is_sliding and when == "event" and not window.peers:
        return Neighbours(before=window.size - 1)
    if window.kind == "session" and when == "close":
        return Neighbours(gap_us=window.size)
    return None


def _of_functions(node: OverRows) -> Neighbours | None:
    program, frame = node.program, node.program.frame
    before, behind = 0, 0
    if program.framed:
        if frame.kind != "rows" or frame.start is None:
            return None
        before, behind = max(0, -frame.start), max(0, frame.end)
    for function in program.functions:
        if not function.picks or (function.column is not None and not function.in_frame):
            return None
        before = max(before, function.number if function.function == "lag" else 0)
        behind = max(behind, function.number if function.function == "lead" else 0)
    return Neighbours(before, behind)
