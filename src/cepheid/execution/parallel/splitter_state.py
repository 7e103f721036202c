"""What a splitter knows at one place of the stream, and saves at checkpoints (4.6.1).

Copies are cheap: windows are values and stand in a tuple; only the data of the predicate and the scheduler are cloned.

Not in here, unlike in the thesis: which events wait for an acknowledgement, and the number of the last window.  Events
are not sent again after a recovery, so they are not acknowledged again; and a number that was given once could still
stand in a message on its way.  Windows that are closed are not copied either: which of them were closed at a place is
seen from where they end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cepheid.execution.parallel.schedulers.scheduler import Scheduler
from cepheid.execution.parallel.split_window import SplitWindow


@dataclass(slots=True)
class SplitterState:
    """rank: how many events came before.  pending: a window that a replay may still open ("event for new window")."""

    rank: int
    windows: tuple[SplitWindow, ...]
    data: Any
    scheduler: Scheduler
    pending: SplitWindow | None = None

    def clone(self) -> SplitterState:
        return replace(self, data=self.data.clone(), scheduler=self.scheduler.clone())
