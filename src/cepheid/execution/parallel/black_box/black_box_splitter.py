"""Consistency manager and splitting unit by the method of [MP13b]: the whole system is saved, and goes back, as one.

    speculative event ─▶ all instances: save ─▶ own state ─▶ wait for all answers ─▶ the event
    deterministic event ─▶ states are dropped ─▶ the event
    late event ─▶ all: go back to the state before it ─▶ every event since, once more, in full

The optimisations that the thesis grants it are in here: instances are asked before the splitter saves its own state
(4.4), and states may stay where they are, so that only their number travels (5.5).  And one that it does not mention:
where all is speculative, states are dropped that nothing can go back to any more, by K and clock as ours are.

It has no place for a late event in a queue, and after a deterministic event no state to go back to: an event that is
late then cannot be put right (4.5, Figure 4-2).  The thesis lets it through in the wrong order; here it is refused, as
one that is too late for ours is.  The same holds for what a speculation factor that rises has held back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cepheid.disorder.consistency_manager import EventName
from cepheid.event_time import BEGINNING
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel
from cepheid.execution.parallel.events import Arrival
from cepheid.execution.parallel.messages import Envelope, Restore, SaveState, Sending, StateSaved, Together
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.schedulers.scheduler import Scheduler
from cepheid.execution.parallel.splitter_state import SplitterState
from cepheid.execution.parallel.splitting import Splitting, no_time


@dataclass(slots=True)
class SystemState:
    """Of the splitter, with the number of the next window, and of all instances (None: they keep theirs)."""

    number: int
    position: EventName
    splitter: SplitterState
    next_window: int
    instances: dict[int, Any] = field(default_factory=dict)


class BlackBoxSplitter(Splitting):
    """The checkpoint model is not asked: every speculative event has a checkpoint in front of it."""

    def __init__(
        self,
        predicate: Predicate,
        instances: int,
        scheduler: Scheduler,
        checkpoints: CheckpointModel,
        now: Callable[[], float] = no_time,
    ) -> None:
        super().__init__(predicate, instances, scheduler, checkpoints, now)
        self.recoveries = self.slipped = 0
        self._system_states: list[SystemState] = []
        self._arrivals: deque[Arrival] = deque()
        self._awaited: set[int] = set()  # instances that have not answered yet
        self._next_state = 0
        self._clock, self._slack, self._stable = BEGINNING, 0, BEGINNING

    def receive(self, arrival: Arrival) -> list[Sending]:
        self._arrivals.append(arrival)
        return []

    def step(self) -> list[Sending] | None:
        """None: nothing to do, or states of instances are awaited."""
        if self._awaited:
            return None
        upcoming = self.events.next_after(self.position)
        if upcoming is None:
            if not self._arrivals:
                return None
            upcoming = self._take_arrival(self._arrivals.popleft())
            if upcoming is None:
                return self.take_out()
        if upcoming.time + self._slack > self._clock:
            if not self._system_states or self._system_states[-1].position < self.position:
                self._save()
                return self.take_out()
        else:
            self._system_states.clear()
            for each in self.events.drop_through(self.position):
                self.has_event.pop(each, None)
        self.handle(self.events[upcoming])
        self.closed.clear()
        return self.take_out()

    def hear(self, instance: int, handled: int, replies: Iterable[Any] = ()) -> None:
        super().hear(instance, handled)
        for reply in replies:
            if isinstance(reply, StateSaved):
                self._system_states[-1].instances[instance] = reply.state
                self._awaited.discard(instance)

    @property
    def is_blocked(self) -> bool:
        return bool(self._awaited)

    @property
    def floor(self) -> EventName:
        return self._system_states[0].position if self._system_states else self.position

    @property
    def first_open(self) -> EventName:
        """No window that may still change starts before this event."""
        oldest = self._system_states[0].splitter if self._system_states else self.state
        windows = [*oldest.windows, *self.state.windows]
        return min((window.first for window in windows), default=self.floor)

    def take_out(self) -> list[Sending]:
        """Of each instance one envelope: a state is of all messages of an event, or of none."""
        together: dict[int, list[Envelope]] = {}
        for instance, envelope in super().take_out():
            together.setdefault(instance, []).append(envelope)
        return [
            Sending(to, Envelope(each[-1].turn, False, self.floor, Together(tuple(part.message for part in each))))
            for to, each in together.items()
        ]

    def _take_arrival(self, arrival: Arrival) -> EventName | None:
        """Who comes next; None: the event is late."""
        event = arrival.event
        if arrival.clock > self._clock > BEGINNING:  # all of the old clock is here: see splitter.py
            self._stable = max(self._stable, self._clock - self._slack)
        if arrival.clock >= self._clock:
            self._clock, self._slack = arrival.clock, arrival.slack
        self.refuse_twice(event)
        if event.name > self.position:
            self.events.add(event)
            return event.name
        if not self._system_states or self._system_states[0].position >= event.name:
            self.refuse(event)
            return None
        self.events.add(event)
        self._go_back_before(event.name)
        return None

    def _save(self) -> None:
        self._drop_settled()
        oldest = self._system_states[0].number if self._system_states else self._next_state
        for instance in range(len(self.loads)):
            self.send(instance, SaveState(self._next_state, oldest))
        self._awaited = set(range(len(self.loads)))
        saved = SystemState(self._next_state, self.position, self.state.clone(), self._next_window)
        self._system_states.append(saved)
        self._next_state += 1

    def _drop_settled(self) -> None:
        """Keep the newest state that no event can come before, and those behind it."""
        states, stable = self._system_states, EventName(self._stable, -1, -1)
        settled = next((place for place, state in enumerate(states) if state.position > stable), len(states)) - 1
        if settled > 0:
            del states[:settled]
            for each in self.events.drop_through(states[0].position):
                self.has_event.pop(each, None)

    def _go_back_before(self, event: EventName) -> None:
        self.recoveries += 1
        while self._system_states[-1].position >= event:
            self._system_states.pop()
        saved = self._system_states[-1]
        self.position, self.state, self._next_window = saved.position, saved.splitter.clone(), saved.next_window
        self.has_event.clear()
        for instance in range(len(self.loads)):
            self.send(instance, Restore(saved.number, saved.instances[instance]))
