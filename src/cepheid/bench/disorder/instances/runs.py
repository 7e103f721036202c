"""One run of the framework: how many events a second it takes, or how long each event takes.

rate       events as fast as they are taken, in pieces as `cep.ParallelWindows` hands them on; the clock starts once
           the first window is full, so that each event is in as many windows as all others
latency    events at a limited rate, each from leaving the limiter until all instances have said that they are
           done with what it became (7.6.1)
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.bench.disorder.delays.delay import Floats
from cepheid.bench.disorder.instances.loaded_sequence import LoadedSequence
from cepheid.bench.disorder.instances.sorted_answer import add_up, find_matches
from cepheid.bench.disorder.instances.streams import CLOCK_SOURCES, SCHEMA, Stream
from cepheid.bench.disorder.player import play
from cepheid.bench.disorder.source_limiter import SourceLimiter
from cepheid.disorder.consistency_manager import ConsistencyManager, EventName, Released
from cepheid.disorder.speculation import LoadZone, Speculation, follow_load
from cepheid.disorder.waits.fixed import FixedWait
from cepheid.execution.parallel import parallel_windows
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.events import Arrival, read_release
from cepheid.execution.parallel.host.windows_in_processes import WindowsInProcesses
from cepheid.execution.parallel.load_meter import LoadMeter
from cepheid.execution.parallel.merger import MatchChange
from cepheid.execution.parallel.predicates.count import CountPredicate

AT_ONCE = 20  # events that a source which is limited hands over together
POLL_S = 0.001
PATIENCE_S = 60.0
LOAD_S = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """factor: of speculation, None: it follows the load.  is_known: is K known before anything was late?  Else all is
    speculative until then (4.5).  wait_us: K, None: it grows.  checkpoints: events between two of them."""

    instances: int
    size: int
    slide: int
    strategy: str = "open box"
    factor: float | None = 1.0
    is_known: bool = True
    wait_us: int | None = None
    checkpoints: int = 50
    load_s: float = LOAD_S


@dataclass(frozen=True, slots=True)
class Ran:
    """refused: events that came too late for this strategy."""

    refused: int
    recoveries: int
    bytes_sent: int


@dataclass(frozen=True, slots=True)
class Latencies:
    """In the order in which events left the limiter.  at_s, latency_ms: float64[n]; factors: of speculation by then."""

    at_s: Floats
    latency_ms: Floats
    factors: Floats
    ran: Ran


class _Framework:
    """A consistency manager in front of windows in processes."""

    def __init__(self, setting: Setting, stream: Stream, windows: WindowsInProcesses) -> None:
        self._setting, self._stream, self.windows = setting, stream, windows
        wait = None if setting.wait_us is None else FixedWait(setting.wait_us)
        self._manager = ConsistencyManager(CLOCK_SOURCES, wait, until_known=not setting.is_known)
        self._places = {event.name: place for place, event in enumerate(stream.events)}
        self._speculation = Speculation(1.0 if setting.factor is None else setting.factor)
        self._manager.speculation = self._speculation.factor
        self._meter, self._zone = LoadMeter(time.perf_counter), LoadZone()
        self._changes: list[MatchChange] = []

    @property
    def factor(self) -> float:
        return self._manager.speculation

    def push(self, begin: int, end: int) -> list[int]:
        """Which events the manager let go."""
        released = [each for event in self._stream.events[begin:end] for each in self._manager.take(event.name)]
        return self._pass_on(released)

    def poll(self) -> None:
        self._changes += self.windows.push(())

    def drain(self) -> None:
        self._changes += self.windows.drain()

    def finish(self) -> list[int]:
        return self._pass_on(self._manager.finish())

    def check(self) -> Ran:
        """Is what was found the answer of the sorted events?"""
        refused = {event.name for event in self.windows.take_late()}
        expected = find_matches(self._stream.events, self._setting.size, self._setting.slide, refused)
        assert add_up(self._changes) == expected, "any strategy finds what is in the windows of the sorted events"
        return Ran(len(refused), self.windows.splitter.recoveries, self.windows.bytes_sent)

    def _pass_on(self, released: Sequence[Released]) -> list[int]:
        self._changes += self.windows.push(self._read(released))
        if self._setting.factor is None and (loads := self._meter.take(self.windows.busy_s)) is not None:
            self._speculation = follow_load(self._speculation, loads, self._zone)
            self._manager.speculation = self._speculation.factor
        return [self._places[each.event] for each in released]

    def _read(self, released: Sequence[Released]) -> Iterator[Arrival]:
        for each in released:
            yield read_release(each, self._stream.events[self._find(each.event)].data)

    def _find(self, name: EventName) -> int:
        return self._places[name]


def _open(setting: Setting) -> WindowsInProcesses:
    return WindowsInProcesses(
        *(CountPredicate(setting.size, setting.slide), LoadedSequence(setting.load_s), SCHEMA),
        instances=setting.instances,
        strategy=setting.strategy,
        checkpoints=EveryEvents(setting.checkpoints),
    )


def measure_rate(setting: Setting, stream: Stream) -> dict[str, Any]:
    """Events per second behind the first window."""
    with _open(setting) as windows:
        framework = _Framework(setting, stream, windows)
        for begin in range(0, setting.size, AT_ONCE):
            framework.push(begin, min(begin + AT_ONCE, setting.size))
        framework.drain()
        began = time.perf_counter()
        for begin in range(setting.size, len(stream.events), parallel_windows.AT_ONCE):
            framework.push(begin, begin + parallel_windows.AT_ONCE)
        framework.finish()
        framework.drain()
        seconds = time.perf_counter() - began
        ran = framework.check()
    measured = len(stream.events) - setting.size
    told = {"events": measured, "events_per_s": round(measured / seconds, 1), "refused": ran.refused}
    return {**told, "recoveries": ran.recoveries, "bytes_sent": ran.bytes_sent}


def follow_latency(setting: Setting, stream: Stream, rate_per_s: float) -> Latencies:
    with _open(setting) as windows:
        framework = _Framework(setting, stream, windows)
        windows.await_processes()
        timing = _Timing(framework, len(stream.events))
        limiter = SourceLimiter(rate_per_s, AT_ONCE)
        play(stream.played.arrivals_ns, timing.hand_over, limiter=limiter, sleep=timing.sleep)
        timing.finish()
        return Latencies(timing.left_s - timing.left_s[0], 1000 * timing.latency_s, timing.factors, framework.check())


class _Timing:
    """left_s: when each event left the limiter."""

    def __init__(self, framework: _Framework, count: int) -> None:
        self._framework = framework
        self.left_s, self.latency_s, self.factors = np.zeros(count), np.zeros(count), np.zeros(count)
        self._pending: deque[tuple[tuple[int, ...], list[int]]] = deque()

    def hand_over(self, begin: int, end: int, at_ns: int) -> None:  # noqa: ARG002 (the limiter lets them go now)
        self.left_s[begin:end] = time.perf_counter()
        self.factors[begin:end] = self._framework.factor
        self._await(self._framework.push(begin, end))

    def sleep(self, seconds: float) -> None:
        """Look for answers meanwhile."""
        until = time.perf_counter() + seconds
        while (rest := until - time.perf_counter()) > 0:
            time.sleep(min(rest, POLL_S))
            self._framework.poll()
            self._note()

    def finish(self) -> None:
        self._await(self._framework.finish())
        until = time.perf_counter() + PATIENCE_S
        while self._pending and time.perf_counter() < until:
            time.sleep(POLL_S)
            self._framework.poll()
            self._note()
        self._framework.drain()  # which starts processes again that are dead
        self._note()

    def _await(self, places: list[int]) -> None:
        self._pending.append((self._framework.windows.tell_sent(), places))
        self._note()

    def _note(self) -> None:
        now = time.perf_counter()
        while self._pending and self._framework.windows.is_handled(self._pending[0][0]):
            _, places = self._pending.popleft()
            self.latency_s[places] = now - self.left_s[places]
