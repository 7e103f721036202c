"""The events of a scenario: each with its source, its number there, its time, and the time when it arrives.

Times grow by the interval from event to event, so each is there once; which source an event is of is drawn.  An event
arrives at its time plus all its delays, but, where its source is FIFO, not before the one ahead of it:

    time        69    71          a delay of 3 that ends at 70
    arrival     72    72          and not 71: the source would overtake itself

Events that arrive together keep the order of their times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.bench.disorder.delays.delay import SECOND_NS, Floats, Int64s
from cepheid.bench.disorder.scenario import PlacedDelay, Scenario
from cepheid.disorder.waits.wait import measure_lateness
from cepheid.event_time import BEGINNING

BEGIN_US = 1_767_225_600_000_000  # 2026-01-01


@dataclass(frozen=True, slots=True)
class PlayedEvents:
    """In the order of arrival.  times_ns, arrivals_ns: int64[n], since the beginning; sources, numbers: int64[n], of
    which source each event is, and its number there, from 0 on."""

    times_ns: Int64s
    arrivals_ns: Int64s
    sources: Int64s
    numbers: Int64s

    def __len__(self) -> int:
        return len(self.times_ns)

    @property
    def times_us(self) -> Int64s:
        """Since the beginning."""
        return self.times_ns // 1000

    def measure_lateness_ns(self) -> Int64s:
        """int64[n]: how far the newest event that had arrived before each was ahead of it."""
        return measure_lateness(self.times_ns, BEGINNING)

    def to_table(self) -> pa.Table:
        """Columns ts, in microseconds, source and number."""
        return pa.table(
            {
                "ts": pa.array(BEGIN_US + self.times_us).cast(pa.timestamp("us")),
                "source": pa.array(self.sources),
                "number": pa.array(self.numbers),
            }
        )


def generate(scenario: Scenario) -> PlayedEvents:
    chooser, *randoms = _spawn(scenario.seed, scenario.sources + 1)
    times = scenario.interval_ns * np.arange(1, scenario.events + 1, dtype=np.int64)
    sources = chooser.integers(0, scenario.sources, scenario.events)
    numbers, arrivals = np.empty_like(times), np.empty_like(times)
    by_source = np.argsort(sources, kind="stable")
    places = np.searchsorted(sources[by_source], np.arange(scenario.sources + 1))
    for source, random in enumerate(randoms):
        own = by_source[places[source] : places[source + 1]]
        numbers[own] = np.arange(len(own))
        arrived = times[own] + _delay(scenario.delays, source, times[own], random)
        arrivals[own] = np.maximum.accumulate(arrived) if source in scenario.fifo else arrived
    order = np.argsort(arrivals, kind="stable")
    return PlayedEvents(times[order], arrivals[order], sources[order], numbers[order])


def _spawn(seed: int, count: int) -> list[np.random.Generator]:
    """So that what one source draws changes nothing for the others."""
    return [np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(count)]


def _delay(delays: tuple[PlacedDelay, ...], source: int, times_ns: Int64s, random: np.random.Generator) -> Int64s:
    total = np.zeros(len(times_ns), dtype=np.int64)
    seconds: Floats = times_ns / SECOND_NS
    for placed in delays:
        if placed.sources is None or source in placed.sources:
            begin, end = np.searchsorted(seconds, [placed.from_s, placed.until_s])
            total[begin:end] += placed.delay.draw(times_ns[begin:end], random)
    return total
