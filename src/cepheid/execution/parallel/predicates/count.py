"""Windows of so many events, one every so many: the windows of the thesis' experiments."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.errors import InvalidInput
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.split_window import SplitWindow


@dataclass(slots=True)
class EventsSeen:
    count: int = 0

    def clone(self) -> EventsSeen:
        return EventsSeen(self.count)


class CountPredicate:
    includes_end = True

    def __init__(self, size: int, slide: int) -> None:
        if size < 1 or slide < 1:
            raise InvalidInput(f"windows of {size} events every {slide}", hint="both must be 1 or more")
        self._size, self._slide = size, slide

    def begin(self) -> EventsSeen:
        return EventsSeen()

    def opens(self, event: Event, data: EventsSeen) -> bool:  # noqa: ARG002 (only their number counts)
        data.count += 1
        return (data.count - 1) % self._slide == 0

    def closes(self, event: Event, window: SplitWindow, data: EventsSeen) -> bool:  # noqa: ARG002
        return data.count - window.rank >= self._size
