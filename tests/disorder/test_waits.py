"""What holds for every rule: how events are cut, restarts, bounds; and what each of the simple ones does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.disorder.waits.aggregate_error import AggregateErrorWait
from cepheid.disorder.waits.growing import GrowingWait
from cepheid.disorder.waits.join_recall import JoinRecallWait
from cepheid.disorder.waits.kinds import WAITS, make_wait
from cepheid.disorder.waits.recall import RecallWait
from cepheid.disorder.waits.wait import Wait
from cepheid.disorder.waits.windowed import WindowedWait
from cepheid.settings import Waiting, WaitRule

sys.path.append(str(Path(__file__).parent))
from delayed_streams import SECOND, make_stream, run_wait

RULES: dict[str, Callable[[], Wait]] = {
    **{rule: lambda rule=rule: make_wait(Waiting(rule=rule, span=timedelta(seconds=1))) for rule in WAITS},
    "growing, two sources are the clock": lambda: GrowingWait([1, 3]),
    "aggregate_error": lambda: AggregateErrorWait(SECOND, adapt_every=2_000),
    "join_recall": lambda: JoinRecallWait(0.99, [SECOND] * 4),
}


@pytest.fixture(params=RULES)
def make(request: pytest.FixtureRequest) -> Callable[[], Wait]:
    return RULES[request.param]


def test_every_rule_that_can_be_named_can_be_made() -> None:
    assert set(get_args(WaitRule)) == set(WAITS)


@pytest.mark.parametrize("kind", ["pareto", "outage", "other sources come later"])
def test_slack_does_not_depend_on_how_events_are_cut(make: Callable[[], Wait], kind: str) -> None:
    stream = make_stream("outage" if "later" in kind else kind, 70_000, seed=3)
    if "later" in kind:
        stream = replace(stream, sources=np.where(np.arange(70_000) < 5_150, 0, stream.sources))
    random = np.random.default_rng(5)
    told = []
    for most in (1, 10_000, 300):
        wait, start, slack = make(), 60_000 if most == 1 else 0, []
        wait.see(stream.times[:start], stream.sources[:start])
        while start < len(stream.times):
            stop = min(start + int(random.integers(1, most + 1)), (start // 10_000 + 1) * 10_000)
            lateness = wait.see(stream.times[start:stop], stream.sources[start:stop])
            assert (lateness == stream.lateness[start:stop]).all()
            start = stop
            if start % 10_000 == 0:
                slack.append(wait.slack_us)
        told.append(slack)
    assert told[1] == told[2]
    assert told[0] == told[1][-1:]


def test_rule_goes_on_from_its_state(make: Callable[[], Wait]) -> None:
    stream = make_stream("outage", 130_000, seed=4)
    going, stopped = make(), make()
    for half in (slice(0, 58_765), slice(58_765, None)):
        for wait in (going, stopped):
            for part in np.array_split(np.arange(len(stream.times))[half], 100):
                wait.see(stream.times[part], stream.sources[part])
                wait.learn(stream.lateness[part[::50]], int(stream.times[part[-1]]))
        state = json.loads(json.dumps(stopped.write_state()))
        assert stopped.slack_us == going.slack_us
        stopped = make()
        stopped.read_state(state)
        assert stopped.write_state() == state


def test_nothing_is_seen_of_no_events(make: Callable[[], Wait]) -> None:
    wait, nothing = make(), np.empty(0, dtype=np.int64)
    assert len(wait.see(nothing, nothing)) == 0
    wait.learn(nothing, 0)
    assert wait.slack_us == (SECOND if "fixed" in str(type(wait)).lower() else 0)


@pytest.mark.parametrize("rule", [rule for rule in WAITS if rule != "fixed"])
def test_nothing_waits_longer_than_max_wait(rule: WaitRule) -> None:
    stream = make_stream("pareto", 50_000, seed=1)
    wait = make_wait(Waiting(rule=rule, max_wait=timedelta(milliseconds=70)))
    assert run_wait(wait, stream).late_share > 0.001
    assert wait.slack_us == 70_000


# --- growing ---------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2)), max_size=40), st.integers(1, 7))
def test_clock_sources_decide_when_the_wait_grows(events: list[tuple[int, int]], cut: int) -> None:
    """Equations 3.1 and 3.2, word for word."""
    expected, since = 0, []
    for time, source in events:
        since.append(time)
        if source in (0, 2):
            expected = max(expected, *(time - each for each in since))
            since.clear()
    wait = GrowingWait([0, 2])
    for start in range(0, len(events), cut):
        part = np.array(events[start : start + cut], dtype=np.int64)
        wait.see(part[:, 0], part[:, 1])
    assert wait.slack_us == expected


def test_without_clock_sources_the_wait_is_the_latest_event_so_far() -> None:
    stream = make_stream("lognormal", 20_000, seed=1)
    wait = GrowingWait()
    wait.see(stream.times, stream.sources)
    assert wait.slack_us == stream.lateness.max()


# --- windows ---------------------------------------------------------------------------------------------


def test_maximum_of_a_window_forgets() -> None:
    wait = WindowedWait(0.0, window=200)
    times = np.arange(0, 2_000_000, 1_000)
    times[100] -= 90_000
    sources = np.zeros(2_000, dtype=np.int64)
    wait.see(times[:200], sources[:200])
    assert wait.slack_us == 89_000
    wait.see(times[200:], sources[200:])
    assert wait.slack_us == 0


def test_quantile_of_a_window_is_that_of_its_events_to_a_tenth() -> None:
    stream = make_stream("pareto", 100_000, seed=2)
    wait = WindowedWait(0.01)
    wait.see(stream.times, stream.sources)
    exact = np.quantile(stream.lateness, 0.99)
    assert exact <= wait.slack_us <= 1.11 * exact


def test_quantile_of_a_window_misses_its_goal_where_the_stream_drifts_and_recall_does_not() -> None:
    stream = make_stream("drift", 300_000, seed=1)
    assert run_wait(WindowedWait(0.001), stream).late_share > 0.0025
    assert run_wait(RecallWait(0.999), stream).late_share < 0.0012
