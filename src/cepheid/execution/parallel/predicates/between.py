"""Windows by meaning: from an event of one sort until one of another, which is the last event in them.

Each event of the first sort opens a window, while others are open as well; one of the second sort closes all that were
open before it came.
"""

from __future__ import annotations

from collections.abc import Callable

from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.predicates.predicate import NoData
from cepheid.execution.parallel.split_window import SplitWindow


class BetweenPredicate:
    includes_end = True

    def __init__(self, starts: Callable[[Event], bool], ends: Callable[[Event], bool]) -> None:
        self._starts, self._ends = starts, ends

    def begin(self) -> NoData:
        return NoData()

    def opens(self, event: Event, data: NoData) -> bool:  # noqa: ARG002
        return self._starts(event)

    def closes(self, event: Event, window: SplitWindow, data: NoData) -> bool:  # noqa: ARG002
        return event.name != window.first and self._ends(event)
