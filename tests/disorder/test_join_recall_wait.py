"""The recall of a windowed join is held, by a wait that knows that older parts of a window had more time."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from cepheid.disorder.waits.join_recall import ADAPT_EVERY_US, BUCKET_US, JoinRecallWait, StreamHistory
from cepheid.disorder.waits.wait import measure_lateness
from cepheid.event_time import BEGINNING

sys.path.append(str(Path(__file__).parent))
from delayed_streams import MS, SECOND, Stream, make_stream


def two_streams(kind: str, seed: int, events: int = 120_000) -> Stream:
    whole = make_stream(kind, events, seed)
    return Stream(whole.times, whole.sources % 2, whole.lateness)


def sample_needs(stream: Stream, window: int, seed: int) -> np.ndarray:
    """int64[n]: of one result of each event, with an older event of the other stream: the wait by which it is found,
    that is, by which the event is in order and the other one is there when it is processed."""
    random = np.random.default_rng(seed)
    needs = stream.lateness.copy()
    for own in (0, 1):
        mine, others = np.flatnonzero(stream.sources == own), np.flatnonzero(stream.sources != own)
        others = others[np.argsort(stream.times[others], kind="stable")]
        times = stream.times[others]
        first, last = (np.searchsorted(times, stream.times[mine] - back) for back in (window, 0))
        some = last > first
        partner = others[random.integers(first[some], last[some])]
        apart = stream.times[mine[some]] - stream.times[partner]
        needs[mine[some]] = np.maximum(stream.lateness[mine[some]], stream.lateness[partner] - apart)
    return needs


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("goal", [0.9, 0.99])
@pytest.mark.parametrize("kind", ["exponential", "lognormal", "pareto", "drift"])
def test_recall_is_held(kind: str, goal: float, learns: bool) -> None:
    stream = two_streams(kind, 31)
    needs = sample_needs(stream, SECOND, 31)
    wait, found, slack = JoinRecallWait(goal, [SECOND, SECOND]), [], []
    for start in range(0, len(needs), 500):
        part = slice(start, start + 500)
        found.append(float((needs[part] <= wait.slack_us).mean()))
        slack.append(wait.slack_us)
        wait.see(stream.times[part], stream.sources[part])
        if learns:
            wait.learn(needs[part], int(stream.times[start]))
    assert np.mean(found[20:]) >= 1 - 1.2 * (1 - goal)
    if goal < 0.99 or learns:  # else what was guessed wrong in the first seconds is repaid for long
        assert np.mean(slack[20:]) <= 1.5 * np.quantile(needs, goal) + BUCKET_US


def test_repaid_at_once_the_wait_goes_up_and_down() -> None:
    stream, told = two_streams("exponential", 31), {}
    for steps in (1, 40):
        wait, slack = JoinRecallWait(0.9, [SECOND, SECOND], repay_steps=steps), []
        for start in range(0, len(stream.times), 500):
            wait.see(stream.times[start : start + 500], stream.sources[start : start + 500])
            slack.append(wait.slack_us)
        told[steps] = np.std(slack[20:])
    assert told[1] > 5 * told[40]


def test_all_streams_wait_equally_long_and_the_slow_one_decides() -> None:
    """A stream that is a second behind the other, in order: nothing has to wait, as the join waits for it anyway."""
    times = np.repeat(np.arange(0, 60 * SECOND, 2 * MS), 2)
    sources = np.arange(len(times)) % 2
    times = times - sources * SECOND
    wait = JoinRecallWait(0.99, [SECOND, SECOND])
    for part in np.array_split(np.arange(len(times)), 60):
        wait.see(times[part], sources[part])
    assert wait.slack_us == 0


def test_misses_of_the_period_are_repaid() -> None:
    stream = two_streams("exponential", 3, 40_000)
    steady, failing = (JoinRecallWait(0.95, [SECOND, SECOND]) for _ in range(2))
    for start in range(0, len(stream.times), 1_000):
        part = slice(start, start + 1_000)
        for wait, need in ((steady, 0), (failing, 10**9 if start < 3_000 else 0)):
            wait.learn(np.full(100, need), 0)
            wait.see(stream.times[part], stream.sources[part])
    assert failing.slack_us > 1.5 * steady.slack_us


def test_history_forgets_another_regime() -> None:
    random, history = np.random.default_rng(1), StreamHistory()
    for scale in (5.0,) * 10 + (50.0,) * 3:
        history.filling = random.exponential(scale, 1_000).astype(int).tolist()
        history.close_step()
    assert len(history.steps) <= 4
    assert history.distribute(6_000)[50] == pytest.approx(0.63, abs=0.1)


def test_history_of_a_steady_stream_is_kept() -> None:
    random, history = np.random.default_rng(1), StreamHistory()
    for _ in range(30):
        history.filling = random.exponential(20, 500).astype(int).tolist()
        history.close_step()
    assert len(history.steps) >= 25


def test_adapts_once_a_second_of_event_time() -> None:
    stream = two_streams("exponential", 3, 20_000)
    wait, told = JoinRecallWait(0.99, [SECOND, SECOND]), set()
    for part in np.array_split(np.arange(len(stream.times)), 400):
        wait.see(stream.times[part], stream.sources[part])
        told.add(wait.slack_us)
    assert ADAPT_EVERY_US == SECOND
    assert 2 <= len(told) <= 21


def test_lateness_is_that_of_all_streams() -> None:
    stream = two_streams("pareto", 3, 5_000)
    found = JoinRecallWait(0.9, [SECOND, SECOND]).see(stream.times, stream.sources)
    assert (found == measure_lateness(stream.times, BEGINNING)).all()
