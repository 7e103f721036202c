"""An operator instance: windows in, findings out; it goes back by itself when something has changed behind it.

    receive ─▶ urgent queue ─┬─▶ take: windows and events, in their order (Algorithms 3 and 5)
            └▶ normal queue ─┘                 │
                                               ▼
                  work: the next event, for all windows that it is in (3.4.1) ─▶ findings

Whatever changes, an event, a start or an end of a window, changes at a place in the order of events.  If work has not
come so far, nothing else is to be done (Figure 5-3): that is why late events and messages of a replay overtake.  If it
has, the instance goes back to its newest state before that place.  It then gives out the difference only: a finding
that it had given out and finds again is not said twice, one that it finds no longer is retracted.

What the thesis leaves open, and what was chosen:
- Messages about a window may overtake its pseudo-events: see assigned_windows.py.
- Events and states are dropped by the splitter's floor, which is made of K and clock, and which each message carries.
  An instance that dropped by K and clock alone would lack events when the splitter goes back to the one state that it
  always keeps.  Only messages whose forerunners have all been taken move the floor.
- Nothing is dropped between a late event and its END (waiting phase).
- Work does not pass what waits in the normal queue: the pseudo-event of an end that is not there yet is no reason to
  go back later.
- An event that is in no window is no reason to go back.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import cloudpickle

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.assigned_windows import AssignedWindow, AssignedWindows, Step
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel, Progress
from cepheid.execution.parallel.events import BEFORE_ALL, Event
from cepheid.execution.parallel.messages import (
    Add,
    CloseWindow,
    Delete,
    EndOfReplay,
    Envelope,
    Finding,
    Match,
    OpenWindow,
    SendEvent,
    WindowMessage,
)
from cepheid.execution.parallel.operators.operator import Operator
from cepheid.execution.parallel.saved_states import SavedStates
from cepheid.execution.parallel.sorted_events import SortedEvents
from cepheid.execution.parallel.splitting import no_time


@dataclass(frozen=True, slots=True)
class InstanceState:
    """data: of the operator, for each window that had begun and not ended.  Where windows start and end is not in
    here: no message is sent again (4.6.2, 6.4.2)."""

    data: dict[int, Any]


class OperatorInstance:
    """recoveries: how often it went back; avoided: late events that it could slip in."""

    KEPT: ClassVar[tuple[str, ...]] = (
        *("position", "windows", "events", "recoveries", "avoided", "handled", "is_waiting"),
        *("_urgent", "_normal", "_data", "_states", "_progress", "_speculative", "_early", "_deleted"),
    )

    def __init__(
        self,
        operator: Operator,
        checkpoints: CheckpointModel,
        includes_end: bool,
        now: Callable[[], float] = no_time,
    ) -> None:
        self.position = BEFORE_ALL  # everything up to here is processed
        self.windows = AssignedWindows()
        self.events = SortedEvents()
        self.recoveries = self.avoided = self.handled = 0
        self.is_waiting = False  # for the END of a replay
        self._operator, self._includes_end = operator, includes_end
        self._urgent: deque[Envelope] = deque()
        self._normal: deque[Envelope] = deque()
        self._data: dict[int, Any] = {}
        self._states = SavedStates(BEFORE_ALL, InstanceState({}))
        self._checkpoints, self._progress, self._now = checkpoints, Progress(), now
        self._speculative: set[EventName] = set()
        self._early: dict[int, list[tuple[int, WindowMessage]]] = {}  # messages about windows that are not here yet
        self._deleted: dict[int, int] = {}  # windows, and the turn that deleted them
        self._out: list[Finding] = []
        self.replies: list[Any] = []

    # --- messages ----------------------------------------------------------------------------------------
    def receive(self, envelope: Envelope) -> None:
        (self._urgent if envelope.urgent else self._normal).append(envelope)

    def take(self) -> list[Finding] | None:
        """Handle one message, the urgent ones first; None: there is none."""
        if not self._urgent and not self._normal:
            return None
        envelope = (self._urgent or self._normal).popleft()
        self._handle(envelope.turn, envelope.message)
        if not self._urgent and not (envelope.urgent and self._normal):
            self._forget(envelope)
        return self.take_out()

    def take_replies(self) -> list[Any]:
        """What the splitter asked for."""
        replies, self.replies = self.replies, []
        return replies

    def _handle(self, turn: int, message: Any) -> None:
        self.handled += 1
        match message:
            case SendEvent():
                self._add_event(message)
            case EndOfReplay():
                self.is_waiting = False
            case _:
                self._change_window(turn, message)

    def _add_event(self, message: SendEvent) -> None:
        event = message.event
        if message.late:
            self.is_waiting = True
        if event.name in self.events:
            raise AssertionError(f"event {event.name} was sent twice")
        self.events.add(event)
        if message.is_speculative:
            self._speculative.add(event.name)
        if event.name > self.position:
            self.avoided += message.late
        elif any(window.has(event.name, self._includes_end) for window in self.windows):
            self._go_back_before(event.name)

    def _change_window(self, turn: int, message: WindowMessage) -> None:
        number = message.window
        window = self.windows.find(number)
        if isinstance(message, OpenWindow):
            window = AssignedWindow(number, message.first)
            self.windows.add(window)
            self._go_back_before(message.first)
            for early_turn, early in self._early.pop(number, ()):
                self._change_window(early_turn, early)
        elif window is None:
            if number not in self._deleted:
                self._early.setdefault(number, []).append((turn, message))
        elif isinstance(message, Delete):
            self._delete(window, turn)
        elif isinstance(message, Add):
            self.windows.move_first(window, message.first)
            self._go_back_before(message.first)
        elif turn > window.end_turn:
            window.end_turn = turn
            self._move_end(window, message.end if isinstance(message, CloseWindow) else None)

    def _delete(self, window: AssignedWindow, turn: int) -> None:
        """No recovery: the matches of a window go with it."""
        self.windows.remove(window)
        self._data.pop(window.number, None)
        self._deleted[window.number] = turn
        for step in window.given:
            self._give(window, step, (), keep=True)

    def _move_end(self, window: AssignedWindow, end: EventName | None) -> None:
        old = window.end
        if end == old:
            return
        self.windows.move_end(window, end)
        gone = [step for step in window.given if self._is_outside(window, step)]
        for step in gone:
            self._give(window, step, ())
        changed = min(each for each in (old, end) if each is not None)
        if old is None and changed == self.position and self._includes_end and window.number in self._data:
            self._finish(window)  # its last event is the last that was processed: nothing is to be done again
        else:
            self._go_back_before(changed)

    def _is_outside(self, window: AssignedWindow, step: Step) -> bool:
        event, is_end = step
        return event != window.end if is_end else not window.has(event, self._includes_end)

    # --- work --------------------------------------------------------------------------------------------
    def work(self) -> list[Finding] | None:
        """Process the next event, or the next end of a window; None: there is nothing to do."""
        upcoming = self._find_next()
        if upcoming is None:
            return None
        self._save_if_due(upcoming)
        began = self._now()
        for window in self.windows.list_starting(self.position, upcoming):
            self._data[window.number] = self._operator.begin()
        event = self.events.find(upcoming)
        if event is not None:
            self._process(event)
        ending = self.windows.list_ending(self.position, upcoming)
        self.position = upcoming
        for window in ending:
            self._finish(window)
        self._progress.learn_process(self._now() - began)
        return self.take_out()

    @property
    def backlog(self) -> int:
        """Messages that wait."""
        return len(self._urgent) + len(self._normal)

    def _find_next(self) -> EventName | None:
        event, end = self.events.next_after(self.position), self.windows.next_end(self.position)
        upcoming = end if event is None or (end is not None and end < event) else event
        if upcoming is None or not self._normal:
            return upcoming
        waiting = _find_place(self._normal[0].message)
        return upcoming if waiting is None or upcoming < waiting else None

    def _process(self, event: Event) -> None:
        for number, data in self._data.items():
            window = self.windows[number]
            if window.has(event.name, self._includes_end):
                self._give(window, (event.name, False), tuple(self._operator.process(event, data)))

    def _finish(self, window: AssignedWindow) -> None:
        if window.end is None:
            raise AssertionError("a window that is open does not finish")
        data = self._data.pop(window.number)
        self._give(window, (window.end, True), tuple(self._operator.finish(data)))

    def _give(self, window: AssignedWindow, step: Step, found: tuple[Match, ...], keep: bool = False) -> None:
        """Say what differs from what was said of this step before.  keep: leave the record as it is."""
        before = window.given.get(step, ())
        if found == before:
            return
        gone, new = list(before), []
        for match in found:
            if match in gone:
                gone.remove(match)
            else:
                new.append(match)
        self._out += [Finding(match, retracted=True) for match in gone]
        self._out += [Finding(match) for match in new]
        if keep:
            return
        if found:
            window.given[step] = found
        else:
            window.given.pop(step, None)

    def take_out(self) -> list[Finding]:
        out, self._out = self._out, []
        return out

    # --- checkpoints and recovery ------------------------------------------------------------------------
    def _save_if_due(self, upcoming: EventName) -> None:
        is_speculative = upcoming in self._speculative
        if self._checkpoints.is_due(self._progress, is_speculative) and self.position > self._states.newest:
            began = self._now()
            self._states.save(self.position, InstanceState(self._clone(self._data)))
            self._progress.restart()
            self._progress.learn_save(self._now() - began)
        self._progress.count(is_speculative)

    def _go_back_before(self, changed: EventName) -> None:
        """Nothing to do if work has not come so far."""
        if changed > self.position:
            return
        self.recoveries += 1
        self.position, state = self._states.go_back_before(changed)
        there = {number: data for number, data in state.data.items() if self._spans(number)}
        self._data = self._clone(there)
        self._progress.restart()

    def _spans(self, number: int) -> bool:
        window = self.windows.find(number)
        return window is not None and window.spans(self.position)

    def write_state(self) -> bytes:
        """All that it knows, for another process to go on with."""
        written: bytes = cloudpickle.dumps({name: getattr(self, name) for name in self.KEPT}, protocol=5)
        return written  # what an operator remembers may be of a class that only its code tells

    def read_state(self, written: bytes) -> None:
        for name, value in pickle.loads(written).items():
            setattr(self, name, value)

    def _clone(self, data: dict[int, Any]) -> dict[int, Any]:
        return {number: self._operator.clone(each) for number, each in data.items()}

    def _forget(self, envelope: Envelope) -> None:
        if self.is_waiting:
            return
        if self._deleted:
            self._deleted = {number: turn for number, turn in self._deleted.items() if turn > envelope.turn}
        if not self._states.drop_before(envelope.floor):
            return
        floor = self._states.floor
        self._speculative.difference_update(self.events.drop_through(floor))
        self.windows.drop_ended(floor)


def _find_place(message: Any) -> EventName | None:
    """Where in the order of events a message belongs."""
    match message:
        case SendEvent(event=event):
            return event.name
        case OpenWindow(first=first):
            return first
        case CloseWindow(end=end):
            return end
    return None
