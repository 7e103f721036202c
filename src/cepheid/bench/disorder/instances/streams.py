"""The streams of the thesis: events of A, B and C by chance, one every so many nanoseconds (7.1), C late for a while.

ramp          C is late from 0.1 s until 1 s of event time, 30 us more every 50 ms (Figure 7-1); sources are FIFO.
              In a stream shorter than RAMP_STREAM_S these times are shorter and the delays are not: C is overtaken
              by as many events as there, and as large a share of C is late
tenth late    every tenth event is overtaken by up to twelve others
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.bench.disorder.delays.delay import SECOND_NS
from cepheid.bench.disorder.delays.drawn import UniformShare
from cepheid.bench.disorder.delays.ramp import Ramp
from cepheid.bench.disorder.played_events import PlayedEvents, generate
from cepheid.bench.disorder.scenario import PlacedDelay, Scenario
from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.events import Event

SOURCES = "ABC"
CLOCK_SOURCES = (0, 1)  # C is the one that may be late
SCHEMA = pa.schema([("sort", pa.string())])
RAMP = Ramp(start_s=0.1, end_s=1.0, step_ms=50, add_us=30)
RAMP_STREAM_S = 1.75  # of which nothing is late behind 1 s
MOST_OVERTAKEN = 12
SEED = 1


@dataclass(frozen=True, slots=True)
class Stream:
    """events: in the order of arrival, their times in microseconds."""

    title: str
    played: PlayedEvents
    events: tuple[Event, ...]


def make_in_order(events: int, interval_ns: int) -> Stream:
    return _make("in order", events, interval_ns, ())


def make_ramp(events: int, interval_ns: int) -> Stream:
    delay = scale_ramp(events * interval_ns / SECOND_NS)
    return _make("ramp", events, interval_ns, (PlacedDelay(delay=delay, sources=frozenset({2})),))


def scale_ramp(stream_s: float) -> Ramp:
    share = stream_s / RAMP_STREAM_S
    return Ramp(
        start_s=RAMP.start_s * share, end_s=RAMP.end_s * share, step_ms=RAMP.step_ms * share, add_us=RAMP.add_us
    )


def make_tenth_late(events: int, interval_ns: int) -> Stream:
    interval_ms = interval_ns / 1e6
    late = UniformShare(share=0.1, low_ms=interval_ms, high_ms=MOST_OVERTAKEN * interval_ms)
    return _make("tenth late", events, interval_ns, (PlacedDelay(delay=late),), is_fifo=False)


def _make(title: str, events: int, interval_ns: int, delays: tuple[PlacedDelay, ...], is_fifo: bool = True) -> Stream:
    scenario = Scenario(
        title=title,
        events=events,
        sources=len(SOURCES),
        interval_ns=interval_ns,
        delays=delays,
        seed=SEED,
        fifo=frozenset(range(len(SOURCES))) if is_fifo else frozenset(),
    )
    played = generate(scenario)
    rows = np.column_stack([played.times_us, played.sources, played.numbers]).tolist()
    data = [{"sort": sort} for sort in SOURCES]  # all events of a source have the same (7.1)
    return Stream(title, played, tuple(Event(EventName(*row), data[row[1]]) for row in rows))
