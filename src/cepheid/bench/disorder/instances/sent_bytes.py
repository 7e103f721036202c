"""What a replay sends, beside what would be sent if every event since the last state was sent again to those who had
it, with the windows that start there: the internal replay of the thesis against the one of [MP13b]."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cepheid.bench.disorder.instances.streams import CLOCK_SOURCES, SCHEMA, Stream
from cepheid.disorder.consistency_manager import ConsistencyManager, EventName
from cepheid.disorder.waits.fixed import FixedWait
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.events import Arrival, Event, read_release
from cepheid.execution.parallel.host.message_codec import MessageBatch, encode_messages
from cepheid.execution.parallel.messages import Envelope, OpenWindow, SendEvent
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.splitter import Splitter

INSTANCES = 4
DATA_BYTES = (1, 20, 100, 1_000)  # of an event


class _SendingAgain(Splitter):
    """Notes what would be sent again."""

    def __init__(self, size: int, slide: int) -> None:
        super().__init__(CountPredicate(size, slide), INSTANCES, RoundRobin(), EveryEvents(50))
        self.again: list[Envelope] = []

    def _go_back(self, event: Event) -> None:
        until, had, since = self.position, dict(self.has_event), self.states.find_before(event.name)
        super()._go_back(event)
        for each in self.events.list_between(since, until):
            owners = INSTANCES if each == event.name else had.get(each, 0).bit_count()
            self.again += [self._wrap(SendEvent(self.events[each]))] * owners
        self.again += [
            self._wrap(OpenWindow(window.number, window.first))
            for window in (*self.closed, *self.state.windows)
            if window.first > since
        ]

    def _wrap(self, message: Any) -> Envelope:
        return Envelope(0, False, self.floor, message)


def release_all(stream: Stream, wait_us: int) -> list[Arrival]:
    """As a consistency manager lets events go that holds none back."""
    manager = ConsistencyManager(CLOCK_SOURCES, FixedWait(wait_us))
    manager.speculation = 0.0
    data: dict[EventName, Any] = {event.name: event.data for event in stream.events}
    released = [each for event in stream.events for each in manager.take(event.name)]
    return [read_release(each, data[each.event]) for each in (*released, *manager.finish())]


def measure_sent_bytes(stream: Stream, wait_us: int, size: int, slide: int) -> dict[str, Any]:
    """By the size of what events carry."""
    rows = {}
    for data_bytes in DATA_BYTES:
        data = {"sort": "x" * data_bytes}
        events = tuple(Event(event.name, data) for event in stream.events)
        rows[str(data_bytes)] = _measure(replace(stream, events=events), wait_us, size, slide)
    return {"events": len(stream.events), "rows": rows}


def _measure(stream: Stream, wait_us: int, size: int, slide: int) -> dict[str, Any]:
    splitter, urgent = _SendingAgain(size, slide), [list[Envelope]() for _ in range(INSTANCES)]
    for arrival in release_all(stream, wait_us):
        for to, envelope in splitter.receive(arrival):
            urgent[to].append(envelope)
        while splitter.step() is not None:
            pass
    ours, again = sum(map(_count_bytes, urgent)), _count_bytes(splitter.again)
    told = {"recoveries": splitter.recoveries, "replay_bytes": ours, "again_bytes": again}
    return {**told, "share": round(ours / again, 4)}


def _count_bytes(sent: list[Envelope]) -> int:
    return len(encode_messages(MessageBatch(0, False, False, sent), SCHEMA))
