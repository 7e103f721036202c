"""Events wait here until they may be processed: for good, or on speculation (Algorithm 1 of the thesis).

    events as they arrive ─▶ sorted buffer ─▶ released, in order of time, each with the K and the clock that let it go
                                               deterministic: no older event is expected    time + K <= clock
                                               speculative: one may still come      time + alpha K <= clock

Events of some sources define the clock; only at these K and alpha change.  K: the growing wait by default (Equations
3.1 and 3.2), or any other rule.  An event is known by its time, its source and its sequence number there: times need
not be unique.  The thesis takes the clock from the last clock event; so that it never goes back, ours is the newest.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cepheid.disorder.waits.wait import Wait
from cepheid.event_time import BEGINNING


class EventName(NamedTuple):
    """What tells an event from all others, and orders them."""

    time: int
    source: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Released:
    """An event that left; k_us, clock: by which it did.  Components that know them delete what is settled."""

    event: EventName
    is_deterministic: bool
    k_us: int
    clock: int


class ConsistencyManager:
    """clock_sources: which define the clock, None: all do (then give a rule: Equation 3.2 looks at what comes between
    clock events).  wait: the rule for K.  until_known: is every event speculative until
    something was late, so that K is known?  Else what comes first leaves deterministically, by a K of 0."""

    def __init__(
        self, clock_sources: Collection[int] | None, wait: Wait | None = None, *, until_known: bool = False
    ) -> None:
        self.speculation = 1.0  # the factor alpha: set from the load before a clock event (speculation.py)
        self.clock = BEGINNING
        self.k_us = 0
        self._clock_sources = None if clock_sources is None else frozenset(clock_sources)
        self._wait = wait
        self._until_known = until_known
        self._delay_us = 0.0  # how long events are really held: alpha times K
        self._since: list[EventName] = []  # the last clock event
        self._buffer: list[EventName] = []  # sorted

    def take(self, event: EventName) -> list[Released]:
        """One more event has arrived; those that leave now."""
        insort(self._buffer, event)
        self._since.append(event)
        if self._clock_sources is None or event.source in self._clock_sources:
            self.clock = max(self.clock, event.time)
            self._update_k(event.time)
            self._since.clear()
            self._delay_us = self.speculation * self.k_us
        count = 0
        while count < len(self._buffer) and self._buffer[count].time + self._delay_us <= self.clock:
            count += 1
        released = [self._release(each) for each in self._buffer[:count]]
        del self._buffer[:count]
        return released

    def _update_k(self, now: int) -> None:
        if self._wait is None:
            self.k_us = max(self.k_us, now - min(each.time for each in self._since))
        else:
            times, sources, _ = np.array(self._since).T
            self._wait.see(times, sources)
            self.k_us = self._wait.slack_us

    def finish(self) -> list[Released]:
        """No more events will come: all that wait leave, and nothing older can come any more."""
        released = [Released(event, True, self.k_us, self.clock) for event in self._buffer]
        self._buffer.clear()
        return released

    def _release(self, event: EventName) -> Released:
        is_settled = event.time + self.k_us <= self.clock
        is_known = self.k_us > 0 or not self._until_known
        return Released(event, is_settled and is_known, self.k_us, self.clock)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {
            "numbers": [self.speculation, self.clock, self.k_us, self._delay_us],
            "since": [list(event) for event in self._since],
            "buffer": [list(event) for event in self._buffer],
            "wait": None if self._wait is None else self._wait.write_state(),
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        self.speculation, self.clock, self.k_us, self._delay_us = state["numbers"]
        self._since = [EventName(*event) for event in state["since"]]
        self._buffer = [EventName(*event) for event in state["buffer"]]
        if self._wait is not None:
            self._wait.read_state(state["wait"])
