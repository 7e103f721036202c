"""The operator of the experiments: A, then B, then C (Figure 7-2), with a load that waits for each event of a window.

The thesis spins.  A load that waits shows many instances on few cores; since sleeping for 100 us takes longer than
that, what is owed is gathered, and what was slept is taken off: on average it is honoured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cepheid.bench.disorder.instances.streams import SOURCES
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.messages import Match
from cepheid.execution.parallel.operators.sequence import Found, SequenceOperator

AT_ONCE_S = 0.001  # is slept at least


def read_sort(event: Event) -> str:
    sort: str = event.data["sort"]
    return sort


class LoadedSequence(SequenceOperator):
    """load_s: for each event in each window."""

    def __init__(
        self,
        load_s: float,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(SOURCES, read_sort)
        self._load_s, self._sleep, self._now = load_s, sleep, now
        self._owed_s = 0.0

    def process(self, event: Event, data: Found) -> tuple[Match, ...]:
        if self._load_s:
            self._owed_s += self._load_s
            if self._owed_s >= AT_ONCE_S:
                self._wait()
        return super().process(event, data)

    def _wait(self) -> None:
        began = self._now()
        self._sleep(self._owed_s)
        self._owed_s -= self._now() - began
