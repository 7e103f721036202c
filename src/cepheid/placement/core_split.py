"""What one engine may share out among the cores of its machine.

    keyed vertices                                by their keys: no row is about two of them
    windows of the whole stream, one row for      by their groups: a row is about the group of its event, and what
    each event, of its group                      the others do to the window is told by time, or by counting

Engines on other machines see only their own events, so `EngineNode.split` is what may be split among those.  Cores of
one machine have the events of all in front of them: each event comes with its place in the whole stream, by which a
window that counts knows what has left it, and rows of all cores find their order.  What would need more than that, such
as an order among the groups of one evaluation, is left to one core.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass

from cepheid.graph.node import EngineNode
from cepheid.graph.operators import OverRows, RowPattern, Sequence, WindowAggregate, WindowJoin


@dataclass(frozen=True, slots=True)
class CoreSplit:
    """columns: equal values of them stay together; none: one core has to do it all.  counts: the window counts the
    events of the whole stream, by their places.  why: in a few words."""

    columns: tuple[str, ...] = ()
    counts: bool = False
    why: str = ""

    @property
    def keyed(self) -> bool:
        """Is each key, with all that is known of it, on one core?"""
        return bool(self.columns) and self.columns[0].startswith("_key")


ONE_CORE = CoreSplit()


def split_among_cores(nodes: List[EngineNode]) -> CoreSplit:
    """For vertices that share an engine: as all of them allow."""
    splits = list(dict.fromkeys(_split_node(node) for node in nodes))
    for split in splits:
        if not split.columns:
            return split
    if len(splits) > 1:
        return CoreSplit(why="windows over the same events have different groups")
    return splits[0]


def _split_node(node: EngineNode) -> CoreSplit:
    keys = tuple(f"_key{number}" for number in range(node.split))
    match node:
        case RowPattern() | Sequence():
            if node.predicates:
                return CoreSplit(why="conditions in Python run one after another")
            return CoreSplit(keys) if keys else CoreSplit(why="events of all keys are matched together")
        case WindowJoin(program=program):
            endless = program.emits_leavers and any(
                preserved and window.size is None
                for preserved, window in zip(program.preserved, program.inputs, strict=True)
            )
            if endless:
                return CoreSplit(why="what never leaves comes out at the last event of all")
            return CoreSplit(keys) if keys else CoreSplit(why="a window, or a join, sees every event")
        case OverRows():
            return CoreSplit(keys) if keys else CoreSplit(why="rows of the whole stream are counted together")
        case WindowAggregate():
            return _split_window(node, keys)
    raise AssertionError(f"it is not written here how a {type(node).__name__} is split among cores")


def _split_window(node: WindowAggregate, keys: tuple[str, ...]) -> CoreSplit:
    program = node.program
    shown = {cell.kind for cell in node.cells}
    if any(aggregate.python is not None for aggregate in program.aggregates):
        return CoreSplit(why="aggregates in Python run one after another")
    if "evaluation" in shown:
        return CoreSplit(why="evaluations are numbered in their order")
    is_own = program.evaluation.when == "event" and program.shows == "concerned"
    if keys:
        if program.evaluation.when in ("time", "expiry"):
            return CoreSplit(why="keys that are silent are evaluated late, in the order of their next events")
        if program.members and not is_own:
            return CoreSplit(why="rows are events, in the order of evaluations")
        return CoreSplit(keys)
    groups = tuple(f"_group{number}" for number in range(node.groups))
    if not groups:
        return CoreSplit(why="there is one group")
    if not is_own or program.members:
        return CoreSplit(why="groups of one evaluation come out in the order in which they began")
    window = program.window
    if window.kind == "time" and not (window.is_landmark and "start" in shown):
        return CoreSplit(groups)
    if window.kind == "count" and window.is_sliding and "start" not in shown:
        return CoreSplit(groups, counts=True)
    return CoreSplit(why="the window is told by the events of all groups")
