"""One instance after the other."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.disorder.consistency_manager import EventName


class RoundRobin:
    def __init__(self, next_instance: int = 0) -> None:
        self.next_instance = next_instance

    def choose(self, first: EventName, loads: Sequence[int]) -> int:  # noqa: ARG002
        chosen = self.next_instance % len(loads)
        self.next_instance = (chosen + 1) % len(loads)
        return chosen

    def clone(self) -> RoundRobin:
        return RoundRobin(self.next_instance)
