"""What an instance asks of an operator; a user's own is any object like this.

    begin ─▶ process, for each event of the window in order ─▶ finish, once it has ended

What an operator knows of a window stands in data that it makes itself.  An instance clones it for checkpoints and goes
on with a clone after a recovery; data that never changes in place may be its own clone.  The same events give the same
matches: an operator asks no clock and no chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.messages import Match


class Operator(Protocol):
    def begin(self) -> Any:
        """Data of a window before its first event."""
        ...

    def process(self, event: Event, data: Any) -> Iterable[Match]:
        """May change the data in place."""
        ...

    def finish(self, data: Any) -> Iterable[Match]:
        """The window has ended."""
        ...

    def clone(self, data: Any) -> Any: ...
