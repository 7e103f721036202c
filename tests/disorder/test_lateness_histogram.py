"""Counts in buckets that forget; and what is reported of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.disorder.lateness_histogram import (
    BOUNDS_US,
    BUCKETS,
    LONGEST_US,
    RATIO,
    LatenessHistogram,
    find_buckets,
)
from cepheid.disorder.lateness_report import LatenessTally

sys.path.append(str(Path(__file__).parent))
from delayed_streams import SECOND, make_stream

LATENESS = st.lists(st.integers(0, 2 * LONGEST_US), min_size=1, max_size=50)


@given(LATENESS)
def test_bucket_of_a_lateness_is_the_first_that_it_does_not_exceed(lateness: list[int]) -> None:
    for each, bucket in zip(lateness, find_buckets(np.array(lateness)).tolist(), strict=True):
        assert bucket == BUCKETS - 1 or each <= BOUNDS_US[bucket] * (1 + 1e-9)
        assert bucket == 0 or each >= BOUNDS_US[bucket - 1] * (1 - 1e-9)


def test_buckets_reach_from_a_millisecond_to_a_day() -> None:
    assert BOUNDS_US[1] == 1_000
    assert BOUNDS_US[-2] >= LONGEST_US
    assert BUCKETS * 8 < 1_700  # bytes of state


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01, 0.001])
@pytest.mark.parametrize("kind", ["exponential", "pareto", "zipf"])
def test_quantile_is_right_to_a_tenth(kind: str, share: float) -> None:
    stream, histogram = make_stream(kind, 200_000, seed=1), LatenessHistogram()
    histogram.add(stream.lateness)
    exact = float(np.quantile(stream.lateness, 1 - share, method="higher"))
    assert exact / RATIO - 1 <= histogram.find_quantile(share) <= max(exact * RATIO, 1_000)
    assert exact <= histogram.find_bound(share) * (1 + 1e-9) <= max(exact * RATIO, 1_000)


@given(LATENESS, st.integers(1, LONGEST_US))
def test_share_above_is_between_those_of_the_bounds_of_its_bucket(lateness: list[int], asked: int) -> None:
    histogram, values = LatenessHistogram(), np.array(lateness)
    histogram.add(values)
    bucket = int(np.searchsorted(BOUNDS_US, asked))
    most, least = (float((values > bound).mean()) for bound in BOUNDS_US[[bucket - 1, bucket]])
    assert least - 1e-9 <= histogram.find_share_above(asked) <= most + 1e-9


def test_share_above_and_quantile_are_each_others_inverse() -> None:
    histogram = LatenessHistogram()
    histogram.add(make_stream("pareto", 50_000, seed=1).lateness)
    for share in (0.3, 0.05, 0.002):
        assert histogram.find_share_above(histogram.find_quantile(share)) == pytest.approx(share)


def test_what_was_counted_a_half_life_ago_weighs_half() -> None:
    histogram = LatenessHistogram(half_life_us=1_000)
    histogram.age(5_000)
    histogram.add(np.array([0, 2_000]))
    histogram.age(6_000)
    histogram.age(5_500)  # time does not go back
    assert histogram.total == 1


def test_merged_histograms_are_as_if_one_had_counted_all() -> None:
    one, other, both = (LatenessHistogram(half_life_us=10_000) for _ in range(3))
    for moment, histogram in ((0, one), (8_000, other), (20_000, one)):
        lateness = np.arange(0, 50_000, 1_000) + moment
        for each in (histogram, both):
            each.age(moment)
            each.add(lateness)
    for first, second in ((one, other), (other, one)):
        merged = LatenessHistogram(half_life_us=10_000)
        merged.merge(first)
        merged.merge(second)
        assert merged.weights == pytest.approx(both.weights)
        assert merged.moment == both.moment


def test_nothing_is_known_of_no_events() -> None:
    histogram = LatenessHistogram()
    assert histogram.find_quantile(0.001) == histogram.find_bound(0.001) == histogram.find_share_above(5) == 0


# --- the report ------------------------------------------------------------------------------------------


def tally_of(lateness: np.ndarray, needs: np.ndarray) -> LatenessTally:
    tally = LatenessTally()
    tally.see(lateness, 0)
    tally.learn(needs, 0)
    tally.hold(SECOND, speculation=0.1)
    return tally


def test_report_says_what_waiting_costs() -> None:
    """Of 1,000 results one needs longer than the wait, and nine more longer than what is held of it."""
    needs = np.repeat([0, 500_000, 2_000_000], [990, 9, 1])
    report = tally_of(np.repeat([0, 40_000, 3_000_000], [900, 95, 5]), needs).report()
    assert report.lateness_p50_s == 0
    assert report.lateness_p99_s == pytest.approx(0.04, rel=0.1)
    assert report.lateness_p999_s == pytest.approx(3, rel=0.1)
    assert report.slack_s == 1
    assert report.late_share == pytest.approx(0.005)
    assert report.corrections_per_1000 == pytest.approx(10)
    assert report.recall_if_final == pytest.approx(0.999)


def test_report_of_nothing_says_nothing() -> None:
    report = LatenessTally().report()
    assert report.lateness_p99_s is report.late_share is report.corrections_per_1000 is report.recall_if_final is None


def test_reports_of_engines_are_merged() -> None:
    lateness = make_stream("lognormal", 20_000, seed=1).lateness
    whole, halves = tally_of(lateness, lateness), [tally_of(part, part) for part in np.array_split(lateness, 2)]
    halves[1].hold(2 * SECOND)
    halves[0].merge(halves[1])
    assert halves[0].report().slack_s == 2  # results wait for the slower one
    whole.hold(2 * SECOND)
    assert halves[0].report() == whole.report()


def test_tally_goes_on_from_its_state() -> None:
    lateness = make_stream("lognormal", 20_000, seed=1).lateness
    tally, again = tally_of(lateness, lateness[:10]), LatenessTally()
    again.read_state(json.loads(json.dumps(tally.write_state())))
    assert again.report() == tally.report()
