"""The splitting unit: cuts the stream into windows, and goes back by itself when an event comes late (Algorithm 2).

    arrival ─▶ behind what was handled? ──no──▶ queue ─▶ step: predicate ─▶ windows ─▶ instances
                        └─yes─▶ sent to all, state restored, replay (internal_replay.py), END

An event that is out of order for others and still ahead of what was handled here slips into the queue (Figure 5-2).

What is deterministic is forgotten: all before clock - K, except that one state is always kept (4.5), so that an event
may be later than K said.  The thesis reads K and clock from each event.  Yet a consistency manager that raises its
speculation factor holds back several events that are older than those let go, and when its clock moves lets them go one
after the other: the new clock - K is ahead of the later ones.  So the clock that holds here is the one before the last:
a new one shows that everything of the old one is here.
"""

from __future__ import annotations

from collections.abc import Callable

from cepheid.disorder.consistency_manager import EventName
from cepheid.event_time import BEGINNING
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel
from cepheid.execution.parallel.events import Arrival, Event
from cepheid.execution.parallel.internal_replay import InternalReplay
from cepheid.execution.parallel.messages import EndOfReplay, Sending
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.schedulers.scheduler import Scheduler
from cepheid.execution.parallel.splitting import Splitting, no_time


class Splitter(Splitting):
    """recoveries: late events that made it go back.  slipped: those that it could slip into the queue."""

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
        self._clock = self._slack = self._stable = BEGINNING

    # --- what comes in -----------------------------------------------------------------------------------
    def receive(self, arrival: Arrival) -> list[Sending]:
        """Messages to instances: none, unless the event is late."""
        event = arrival.event
        self._learn_clock(arrival)
        self.refuse_twice(event)
        if event.name <= self.states.floor:
            self.refuse(event)
            return []
        if event.name > self.position and len(self.events) and event.name < self.events.last:
            self.slipped += 1
        self.events.add(event)
        if arrival.is_speculative:
            self.speculative.add(event.name)
        if event.name < self.position:
            self._go_back(event)
        return self.take_out()

    def step(self) -> list[Sending] | None:
        """Handle the next event; None: there is none."""
        upcoming = self.events.next_after(self.position)
        if upcoming is None:
            return None
        self.save_if_due(upcoming)
        began = self.now()
        self.handle(self.events[upcoming])
        self.progress.learn_process(self.now() - began)
        self._forget()
        return self.take_out()

    @property
    def floor(self) -> EventName:
        """Nothing at or before it will be touched again."""
        return self.states.floor

    @property
    def first_open(self) -> EventName:
        """No window that may still change starts before this event."""
        windows = [*self.state.windows, *self.closed]
        return min((window.first for window in windows), default=self.position)

    # --- inside ------------------------------------------------------------------------------------------
    def _go_back(self, event: Event) -> None:
        self.recoveries += 1
        self.is_replaying = True
        self.send_event(range(len(self.loads)), event, late=True)
        until, before = self.position, (*self.closed, *self.state.windows)
        self.position, saved = self.states.go_back_before(event.name)
        self.state = saved.clone()
        self.closed = [window for window in self.closed if window.end is not None and window.end <= self.position]
        self.progress.restart()
        InternalReplay(self, before).run(until)
        for instance in range(len(self.loads)):
            self.send(instance, EndOfReplay())
        self.is_replaying = False

    def _learn_clock(self, arrival: Arrival) -> None:
        if arrival.clock > self._clock:
            if self._clock > BEGINNING:
                self._stable = max(self._stable, self._clock - self._slack)
            self._clock, self._slack = arrival.clock, arrival.slack
        self._slack = max(self._slack, arrival.slack)

    def _forget(self) -> None:
        if not self.states.drop_before(EventName(self._stable, -1, -1)):
            return
        floor = self.states.floor
        for name in self.events.drop_through(floor):
            self.has_event.pop(name, None)
            self.speculative.discard(name)
        self.closed = [window for window in self.closed if window.end is not None and window.end > floor]
