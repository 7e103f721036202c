"""AQ-K-slack keeps the error of windowed sums; and the faults of the version that is public would be caught."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.disorder.waits.aggregate_error import AggregateErrorWait, find_needed_coverage
from cepheid.disorder.waits.growing import GrowingWait

sys.path.append(str(Path(__file__).parent))
from delayed_streams import MS, SECOND, Stream, make_stream, run_wait

WINDOW = 2 * SECOND


def run_sums(wait: AggregateErrorWait, stream: Stream, values: np.ndarray) -> np.ndarray:
    """float64[windows]: how much of each sum was missing when its window was given out, in the second half."""
    count = len(stream.times)
    slack = np.empty(count, dtype=np.int64)
    for start in range(0, count, 500):
        part = slice(start, start + 500)
        slack[part] = wait.slack_us
        wait.see(stream.times[part], stream.sources[part])
        wait.sample(values[part])
    windows = stream.times // WINDOW
    watermark = np.maximum.accumulate(stream.times + stream.lateness - slack)
    given_out = np.append(0, watermark[:-1]) >= (windows + 1) * WINDOW
    missing = np.bincount(windows, values * given_out) / np.bincount(windows, values)
    return missing[len(missing) // 2 : -2]


@pytest.mark.parametrize("error", [0.01, 0.03])
@pytest.mark.parametrize("kind", ["exponential", "lognormal", "pareto"])
def test_sums_stay_within_the_error_with_the_confidence_that_is_asked_for(kind: str, error: float) -> None:
    stream = make_stream(kind, 300_000, seed=21)
    values = np.random.default_rng(21).normal(10, 3, len(stream.times))
    wait = AggregateErrorWait(WINDOW, error=error, adapt_every=1_000)
    missing = run_sums(wait, stream, values)
    assert (missing > error).mean() <= 0.05
    growing = GrowingWait()
    run_wait(growing, stream, 10_000)
    assert wait.slack_us < 0.5 * growing.slack_us  # the published claim: at least 51 % less


@given(st.floats(0.001, 0.3), st.floats(0, 2))
def test_needed_coverage_is_the_smallest_that_keeps_the_error(error: float, q: float) -> None:
    needed = find_needed_coverage(error, q)
    assert 1 - error <= needed + 1e-9 <= 1 + 1e-6
    shortfall = needed - (1 - error)
    assert shortfall == pytest.approx((q * needed * (1 - needed)) ** 0.5, abs=1e-6)


def test_smaller_root_would_exceed_the_error() -> None:
    """(1 - e - c)^2 = q c (1 - c) has two solutions; at the smaller one even the mean falls short by more than e."""
    error, q = 0.03, 0.004
    assert find_needed_coverage(error, q) > 1 - error


# --- faults of the public version ------------------------------------------------------------------------


def test_spread_of_values_enters_as_the_square_of_their_deviation() -> None:
    """Not as the square of their variance."""
    wait = AggregateErrorWait(WINDOW, error=0.03, deviations=2.0)
    wait.sample(np.array([7.0, 13.0] * 500))  # mean 10, deviation 3
    assert wait.find_coverage(1_000) == pytest.approx(find_needed_coverage(0.03, 4 * (100 + 9) / (1_000 * 100)))


def test_share_of_the_longest_wait_ends_at_nothing_and_does_not_rise_again() -> None:
    """Not mirrored at 0: one straggler, and from then on all is in order."""
    times = np.arange(0, 400 * SECOND, 1_000)
    times[500] -= 400 * MS
    wait, told = AggregateErrorWait(WINDOW, error=0.2, adapt_every=1_000), []
    for part in np.array_split(times, 400):
        wait.see(part, part * 0)
        told.append(wait.slack_us)
    assert told[0] == 399 * MS
    assert told[-1] == 0
    assert all(later <= earlier for earlier, later in pairwise(told))


def test_share_of_the_longest_wait_is_never_more_than_all_of_it() -> None:
    stream = make_stream("pareto_heavy", 100_000, seed=2)
    wait, growing = AggregateErrorWait(WINDOW, error=0.0001, adapt_every=1_000), GrowingWait()
    for part in np.array_split(np.arange(len(stream.times)), 100):
        for each in (wait, growing):
            each.see(stream.times[part], stream.sources[part])
        assert 0 <= wait.slack_us <= growing.slack_us


def test_windows_are_as_long_as_was_said_and_forgotten_when_they_were_given_out() -> None:
    """Not 115 days long, with each time of an event kept and read again."""
    stream = make_stream("exponential", 200_000, seed=2)
    wait = AggregateErrorWait(WINDOW, adapt_every=1_000)
    wait.see(stream.times, stream.sources)
    windows = wait.write_state()["windows"]
    assert 0 < len(windows) < 10
    assert all(1_000 < count < 3_000 for _, _, count in windows[:-2])
    assert len(json.dumps(wait.write_state())) < 1_000


def test_adapted_wait_is_what_events_are_held_by() -> None:
    """Not the longest wait, which it is a share of."""
    stream = make_stream("exponential", 200_000, seed=2)
    wait, growing = AggregateErrorWait(WINDOW, error=0.005, adapt_every=1_000), GrowingWait()
    for each in (wait, growing):
        each.see(stream.times, stream.sources)
    assert 0 < wait.slack_us < 0.9 * growing.slack_us
