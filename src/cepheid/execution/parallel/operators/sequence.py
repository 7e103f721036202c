"""A sequence in a window: events of given sorts, one after the other, whatever lies between (Figure 7-2).

──a──▶ (1) ──b──▶ (2) ──c──▶ match, and from the start again
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.messages import Match


@dataclass(slots=True)
class Found:
    """Events of the sequence so far; shared by clones until one goes on."""

    events: tuple[EventName, ...] = ()


class SequenceOperator:
    """sorts: what the events of the sequence are, in order.  read: the sort of an event."""

    def __init__(self, sorts: Sequence[Any], read: Callable[[Event], Any]) -> None:
        if not sorts:
            raise InvalidInput("a sequence of no events", hint="name at least one sort of event")
        self._sorts, self._read = tuple(sorts), read

    def begin(self) -> Found:
        return Found()

    def process(self, event: Event, data: Found) -> tuple[Match, ...]:
        if self._read(event) != self._sorts[len(data.events)]:
            return ()
        data.events = (*data.events, event.name)
        if len(data.events) < len(self._sorts):
            return ()
        match, data.events = Match(data.events), ()
        return (match,)

    def finish(self, data: Found) -> tuple[Match, ...]:  # noqa: ARG002
        return ()

    def clone(self, data: Found) -> Found:
        return Found(data.events)
