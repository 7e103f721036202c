"""What work in order and a replay have in common: the state of a splitter, and how windows and events go out.

An event is sent once to an instance, whatever number of its windows it is in (batching, 3.3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel, Progress
from cepheid.execution.parallel.events import BEFORE_ALL, Event
from cepheid.execution.parallel.messages import CloseWindow, Envelope, OpenWindow, SendEvent, Sending
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.saved_states import SavedStates
from cepheid.execution.parallel.schedulers.scheduler import Scheduler
from cepheid.execution.parallel.sorted_events import SortedEvents
from cepheid.execution.parallel.split_window import NOBODY, SplitWindow
from cepheid.execution.parallel.splitter_state import SplitterState


def no_time() -> float:
    """Nobody measures."""
    return 0.0


class Splitting:
    """now: seconds, for checkpoint models that weigh times.  loads: messages that instances have not handled yet.
    too_late: events that came when they could no longer be put right."""

    def __init__(
        self,
        predicate: Predicate,
        instances: int,
        scheduler: Scheduler,
        checkpoints: CheckpointModel,
        now: Callable[[], float] = no_time,
    ) -> None:
        if instances < 1:
            raise InvalidInput(f"{instances} operator instances", hint="give 1 or more")
        self.predicate = predicate
        self.state = SplitterState(0, (), predicate.begin(), scheduler)
        self.position = BEFORE_ALL  # the last event that was handled
        self.events = SortedEvents()
        self.closed: list[SplitWindow] = []
        self.loads = [0] * instances
        self.states = SavedStates(BEFORE_ALL, self.state.clone())
        self.progress = Progress()
        self.speculative: set[EventName] = set()
        self.has_event: dict[EventName, int] = {}  # a bit for each instance that was sent it
        self.is_replaying = False
        self.too_late = 0
        self._late: list[Event] = []
        self.now = now
        self._checkpoints = checkpoints
        self._turn = self._next_window = 0
        self._out: list[Sending] = []

    def save_if_due(self, upcoming: EventName) -> None:
        """A checkpoint in front of this event, if the model asks for one."""
        is_speculative = upcoming in self.speculative
        if self._checkpoints.is_due(self.progress, is_speculative) and self.position > self.states.newest:
            began = self.now()
            self.states.save(self.position, self.state.clone())
            self.progress.restart()
            self.progress.learn_save(self.now() - began)
        self.progress.count(is_speculative)

    def handle(self, event: Event) -> None:
        """An event that is the next one in order."""
        if self.predicate.opens(event, self.state.data):
            self.start(SplitWindow(NOBODY, event.name, self.state.rank, NOBODY))
        self._close_windows(event)
        self.pass_on(event, late=False)
        self.move_to(event.name)

    def _close_windows(self, event: Event) -> None:
        still_open = []
        for window in self.state.windows:
            if self.predicate.closes(event, window, self.state.data):
                self.closed.append(replace(window, end=event.name))
                self.send(window.instance, CloseWindow(window.number, event.name))
            else:
                still_open.append(window)
        if len(still_open) < len(self.state.windows):
            self.state.windows = tuple(still_open)

    def move_to(self, position: EventName) -> None:
        self.position = position
        self.state.rank += 1

    def start(self, asked: SplitWindow) -> SplitWindow:
        """Give a window to an instance."""
        instance = self.choose_instance(asked.first)
        window = replace(asked, number=self._next_window, instance=instance)
        self._next_window += 1
        self.state.windows = (*self.state.windows, window)
        self.send(instance, OpenWindow(window.number, window.first))
        return window

    def choose_instance(self, first: EventName) -> int:
        chosen = self.state.scheduler.choose(first, self.loads)
        if not 0 <= chosen < len(self.loads):
            hint = f"answer 0 to {len(self.loads) - 1}"
            raise InvalidInput(f"the scheduler chose instance {chosen} of {len(self.loads)}", hint=hint)
        return chosen

    def pass_on(self, event: Event, late: bool) -> None:
        """To all instances with a window that it is in, unless they have it."""
        owners = {window.instance for window in self.state.windows}
        if self.predicate.includes_end:
            owners |= {window.instance for window in reversed(self.closed) if window.end == event.name}
        self.send_event(sorted(owners), event, late)

    def send_event(self, instances: Iterable[int], event: Event, late: bool) -> None:
        """To those that do not have it yet: one message for all of them."""
        have_it = self.has_event.get(event.name, 0)
        missing = [each for each in instances if not have_it >> each & 1]
        if missing:
            envelope = self._enclose(SendEvent(event, late, event.name in self.speculative))
            for each in missing:
                have_it |= 1 << each
                self._out.append(Sending(each, envelope))
                self.loads[each] += 1
            self.has_event[event.name] = have_it

    def send(self, instance: int, message: Any) -> None:
        self._out.append(Sending(instance, self._enclose(message)))
        self.loads[instance] += 1

    def _enclose(self, message: Any) -> Envelope:
        envelope = Envelope(self._turn, self.is_replaying, self.states.floor, message)
        self._turn += 1
        return envelope

    def hear(self, instance: int, handled: int, replies: Iterable[Any] = ()) -> None:  # noqa: ARG002
        """An instance has handled so many more messages.  replies: what it was asked for."""
        self.loads[instance] -= handled

    @property
    def is_blocked(self) -> bool:
        """Does it wait for answers of instances?"""
        return False

    def refuse(self, event: Event) -> None:
        """It is too late to be put right."""
        self.too_late += 1
        self._late.append(event)

    def refuse_twice(self, event: Event) -> None:
        if event.name in self.events:
            time, source, sequence = event.name
            told = f"event {sequence} of source {source} at {time} has come twice"
            raise InvalidInput(told, hint="give the events of each source sequence numbers of their own")

    def take_late(self) -> list[Event]:
        """Events that came too late, since somebody asked."""
        late, self._late = self._late, []
        return late

    def take_out(self) -> list[Sending]:
        """The messages that have been written since."""
        out, self._out = self._out, []
        return out
