"""Streams whose events are delayed, after the distributions of papers, and what a rule makes of them.

A stream is what arrives: event times, in the order of arrival, and the source of each.  No source keeps the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.disorder.waits.wait import Wait, measure_lateness
from cepheid.event_time import BEGINNING, END

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

MS, SECOND = 1_000, 1_000_000
RATE_PER_S, SOURCES = 1_000, 4
STREAMS = ("exponential", "lognormal", "pareto", "pareto_heavy", "zipf", "uniform_share", "outage", "drift")
CUT = 64  # events that a rule is given at once, where nothing else is said


@dataclass(frozen=True)
class Stream:
    times: Int64s
    sources: Int64s
    lateness: Int64s


def make_stream(kind: str, events: int, seed: int) -> Stream:
    random = np.random.default_rng([seed, STREAMS.index(kind)])
    times = np.sort(random.integers(0, events * SECOND // RATE_PER_S, events))
    sources = random.integers(0, SOURCES, events)
    arrivals = times + delay_events(kind, times, sources, random)
    order = np.argsort(arrivals, kind="stable")
    times = times[order]
    return Stream(times, sources[order], measure_lateness(times, BEGINNING))


def delay_events(kind: str, times: Int64s, sources: Int64s, random: np.random.Generator) -> Int64s:
    """int64[n], in microseconds."""
    count = len(times)
    match kind:
        case "exponential":
            delays = random.exponential(50 * MS, count)
        case "lognormal":
            delays = random.lognormal(np.log(20 * MS), 1, count)
        case "pareto":
            delays = 10 * MS * (1 + random.pareto(1.5, count))
        case "pareto_heavy":
            delays = 10 * MS * (1 + random.pareto(1.1, count))
        case "zipf":
            delays = np.minimum(random.zipf(1.8, count) * 10.0 * MS, 20 * SECOND)
        case "uniform_share":
            delays = np.where(random.random(count) < 0.01, random.uniform(0, 2 * SECOND, count), 0)
        case "outage":  # the first source is away for the last 5 s of each minute, and sends all at once then
            delays = random.exponential(20 * MS, count)
            in_minute = times % (60 * SECOND)
            away = (sources == 0) & (in_minute >= 55 * SECOND)
            delays += np.where(away, 60 * SECOND - in_minute, 0)
        case "drift":
            scale = 6 - 5 * np.cos(2 * np.pi * times / (300 * SECOND))
            delays = random.exponential(20 * MS, count) * scale
        case _:
            raise AssertionError(kind)
    return delays.astype(np.int64)


@dataclass(frozen=True)
class Outcome:
    late_share: float
    mean_wait_s: float


def run_wait(wait: Wait, stream: Stream, cuts: int | list[int] = CUT) -> Outcome:
    """What comes of a rule.  The watermark runs on with each event, by the slack that the rule told last."""
    count = len(stream.times)
    if isinstance(cuts, int):
        cuts = list(range(cuts, count, cuts))
    slack = np.empty(count, dtype=np.int64)
    start = 0
    told = END // 2  # before a rule has seen anything there is no watermark
    for stop in [*cuts, count]:
        slack[start:stop] = told
        wait.see(stream.times[start:stop], stream.sources[start:stop])
        told = wait.slack_us
        start = stop
    return judge_slack(slack, stream)


def judge_slack(slack: Int64s, stream: Stream) -> Outcome:
    """slack: int64[n], at each event."""
    clock = stream.times + stream.lateness
    watermark = np.maximum.accumulate(clock - slack)
    late = stream.times[1:] < watermark[:-1]
    waited = (clock - watermark)[watermark > BEGINNING // 4]
    return Outcome(float(late.mean()), float(waited.mean()) / SECOND)


def find_best_fixed(stream: Stream, late_share: float) -> Outcome:
    """The shortest fixed wait that would have done, seen afterwards."""
    slack = np.quantile(stream.lateness, 1 - late_share, method="higher")
    return judge_slack(np.full(len(stream.times), slack, dtype=np.int64), stream)
