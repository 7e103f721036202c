"""A splitter, instances and a merger in one process; what happens next is drawn at random.

Channels keep their order.  An instance may take messages late, work before it has all of them, and lag behind others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import Any

from cepheid.execution.parallel.events import Arrival
from cepheid.execution.parallel.merger import MatchChange, Merger
from cepheid.execution.parallel.messages import Match


class Workshop:
    def __init__(self, splitter: Any, instances: list[Any], random: Random) -> None:
        self.splitter, self.instances, self.random = splitter, instances, random
        self.merger = Merger()
        self.channels: list[deque[Any]] = [deque() for _ in instances]
        self.changes: list[MatchChange] = []
        self.dropped: list[Any] = []
        self.heard = [0] * len(instances)

    def run(self, arrivals: Iterable[Arrival]) -> None:
        coming = deque(arrivals)
        while True:
            acts = [lambda: self._receive(coming)] * self.random.choice([1, 3]) + [self._step] * 2
            for number in range(len(self.instances)):
                acts += [
                    lambda n=number: self._deliver(n),
                    lambda n=number: self._take(n),
                    lambda n=number: self._work(n),
                ]
            self.random.shuffle(acts)
            if not any(act() for act in acts[: self.random.randint(1, len(acts))]) and not self._run_all(acts):
                break
            if self.random.random() < 0.05:
                self.release()
        self.release()

    @staticmethod
    def _run_all(acts: list[Any]) -> bool:
        return sum(act() for act in acts) > 0

    def release(self) -> None:
        self.changes += self.merger.release()

    def _receive(self, coming: deque[Arrival]) -> bool:
        if not coming:
            return False
        arrival = coming.popleft()
        self._send(self.splitter.receive(arrival))
        return True

    def _step(self) -> bool:
        sent = self.splitter.step()
        self.dropped += self.splitter.take_late()
        self._send(sent or [])
        return sent is not None

    def _send(self, sendings: Iterable[Any]) -> None:
        for instance, envelope in sendings:
            self.channels[instance].append(envelope)

    def _deliver(self, number: int) -> bool:
        if not self.channels[number]:
            return False
        self.instances[number].receive(self.channels[number].popleft())
        return True

    def _take(self, number: int) -> bool:
        found = self.instances[number].take()
        if found is None:
            return False
        instance = self.instances[number]
        self.splitter.hear(number, instance.handled - self.heard[number], instance.take_replies())
        self.heard[number] = instance.handled
        self.merger.take(found)
        return True

    def _work(self, number: int) -> bool:
        found = self.instances[number].work()
        self.merger.take(found or [])
        return found is not None


def net(changes: Iterable[MatchChange]) -> set[Match]:
    """What is there in the end; versions of an id grow, and nothing is retracted that was not there."""
    there: set[tuple[str, Match]] = set()
    versions: dict[str, int] = {}
    for change in changes:
        assert change.version == versions.get(change.id, 0) + 1
        versions[change.id] = change.version
        row = (change.id, change.match)
        assert (row in there) == change.retracted
        (there.discard if change.retracted else there.add)(row)
    return {match for _, match in there}
