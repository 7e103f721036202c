"""What a splitter asks of a predicate: does a window start with this event, does this one end with it?

    event ─▶ opens ─▶ a window starts with it
          ─▶ closes, for each open window, the oldest first ─▶ it ends here

Whatever a predicate remembers stands in its data, which a splitter clones for its checkpoints; so the same events in
the same order always give the same windows.  An event opens one window at most.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.split_window import SplitWindow


class PredicateData(Protocol):
    def clone(self) -> Self: ...


class Predicate(Protocol):
    includes_end: bool  # is the event that closes a window the last one in it?

    def begin(self) -> Any:
        """Data (PredicateData) before the first event."""
        ...

    def opens(self, event: Event, data: Any) -> bool:
        """Asked once for each event, before `closes`."""
        ...

    def closes(self, event: Event, window: SplitWindow, data: Any) -> bool:
        """Asked once for each event and each window that is open, one that has just opened included."""
        ...


class NoData:
    """Of predicates that remember nothing."""

    def clone(self) -> NoData:
        return self
