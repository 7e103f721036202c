"""What a splitter asks of a scheduler: who gets the next window?

Its state belongs to the checkpoints of the splitter.  In a replay it is asked for each window again, in the order of
windows: windows that stay keep their instance, whatever it answers, and afterwards it stands where it would stand if
nothing had been late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from cepheid.disorder.consistency_manager import EventName


class Scheduler(Protocol):
    def choose(self, first: EventName, loads: Sequence[int]) -> int:
        """first: event of the window.  loads: of each instance, messages that it has not handled yet."""
        ...

    def clone(self) -> Self: ...
