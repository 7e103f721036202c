"""An operator instance by the method of [MP13b]: it saves and restores all that it has when it is told to.

Windows and events are part of its state, for both are sent again after a recovery, perhaps to others (Figure 6-5).
What it had given out since is retracted at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.assigned_windows import AssignedWindows
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel
from cepheid.execution.parallel.instance import OperatorInstance
from cepheid.execution.parallel.messages import Envelope, Finding, Restore, SaveState, StateSaved, Together
from cepheid.execution.parallel.operators.operator import Operator
from cepheid.execution.parallel.sorted_events import SortedEvents
from cepheid.execution.parallel.splitting import no_time


@dataclass(frozen=True, slots=True)
class WholeState:
    position: EventName
    windows: AssignedWindows
    events: SortedEvents
    data: dict[int, Any]


class Never:
    """It makes no checkpoints of its own."""

    def is_due(self, progress: object, is_speculative: bool) -> bool:  # noqa: ARG002
        return False


class BlackBoxInstance(OperatorInstance):
    """sends_states: to the consistency manager, as in [MP13b]; else they stay here and their number is enough (5.5)."""

    KEPT: ClassVar[tuple[str, ...]] = (*OperatorInstance.KEPT, "_whole", "_saved_at")

    def __init__(
        self,
        operator: Operator,
        checkpoints: CheckpointModel,  # noqa: ARG002 (as for the other strategy)
        includes_end: bool,
        now: Callable[[], float] = no_time,
        sends_states: bool = False,
    ) -> None:
        super().__init__(operator, Never(), includes_end, now)
        self._sends_states = sends_states
        self._whole: dict[int, WholeState] = {}
        self._saved_at: dict[int, EventName] = {}

    def _handle(self, turn: int, message: Any) -> None:
        match message:
            case Together():
                for each in message.messages:
                    self._handle(turn, each)
            case SaveState():
                self.handled += 1
                self._save(message)
            case Restore():
                self.handled += 1
                self._restore(message)
            case _:
                super()._handle(turn, message)

    def _save(self, message: SaveState) -> None:
        number = message.number
        for old in list(takewhile(lambda each: each < message.oldest, self._saved_at)):  # numbers grow
            del self._saved_at[old]
            self._whole.pop(old, None)
        self._saved_at[number] = self.position
        state = WholeState(self.position, self.windows.copy(), self.events.copy(), self._clone(self._data))
        if not self._sends_states:
            self._whole[number] = state
        self.replies.append(StateSaved(number, state if self._sends_states else None))

    def _restore(self, message: Restore) -> None:
        self.recoveries += 1
        state = message.state or self._whole[message.number]
        for window in self.windows:
            before = state.windows.find(window.number)
            for step, matches in window.given.items():
                if before is None or step not in before.given:
                    self._out += [Finding(match, retracted=True) for match in matches]
        self.position = state.position
        self.windows, self.events = state.windows.copy(), state.events.copy()
        self._data = self._clone(state.data)
        for wrong in [each for each in self._saved_at if each > message.number]:
            del self._saved_at[wrong]
            self._whole.pop(wrong, None)

    def _go_back_before(self, changed: EventName) -> None:
        if changed <= self.position:
            raise AssertionError("in a black box all messages come in order")

    def _forget(self, envelope: Envelope) -> None:
        """What is processed is not needed: states have copies of their own."""
        self.events.drop_through(self.position)
        oldest = next(iter(self._saved_at.values()), self.position)  # places grow with the numbers of states
        self.windows.drop_ended(min(envelope.floor, self.position, oldest))
