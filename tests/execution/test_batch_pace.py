"""How often batches begin, by what they cost, the rate and the goal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from cepheid.execution.spark.live.batch_pace import MARGIN, MeasuredBatch, Pace, choose_pace, fit_cost


def measure(fixed: float, each: float, sizes: list[int]) -> list[MeasuredBatch]:
    return [MeasuredBatch(size, fixed + each * size) for size in sizes]


@given(
    st.floats(0.05, 1.0),
    st.floats(1e-7, 1e-4),
    st.lists(st.integers(1, 1_000_000), min_size=5, max_size=20, unique=True),
)
def test_the_cost_is_found_again(fixed: float, each: float, sizes: list[int]) -> None:
    cost = fit_cost(measure(fixed, each, sizes))
    assert cost.each_s == pytest.approx(each, rel=1e-3)
    assert cost.fixed_s == pytest.approx(fixed, rel=1e-2, abs=1e-3)


@given(st.floats(0.05, 1.0), st.floats(1e-7, 1e-4), st.floats(1, 50_000), st.floats(0.5, 20))
def test_the_goal_is_kept_where_it_can_be(fixed: float, each: float, rate: float, goal: float) -> None:
    pace = choose_pace(measure(fixed, each, [10, 100, 1000, 10_000, 100_000]), rate, goal)
    assert pace is not None
    if pace.every_s > 0:
        assert pace.every_s + fixed + each * rate * pace.every_s <= MARGIN * goal + 0.02
        assert pace.every_s + 0.011 >= fixed + each * rate * pace.every_s, "batches keep up"
        assert fixed + each * pace.most_events <= MARGIN * goal + 0.01
    elif each * rate < 1 and pace.in_reach:
        assert 2 * fixed / (1 - each * rate) <= goal * 1.001


def test_nothing_is_chosen_from_too_little() -> None:
    assert choose_pace(measure(0.5, 1e-6, [10, 20]), 100, 5) is None
    assert choose_pace([MeasuredBatch(0, 0.5)] * 10, 100, 5) is None


def test_small_differences_do_not_interrupt() -> None:
    assert not Pace(1.0, 1000).differs(Pace(1.1, 1500))
    assert Pace(1.0, 1000).differs(Pace(2.0, 1000))
    assert Pace(0.0, 1000).differs(Pace(0.5, 1000))
    assert not Pace(0.0, 1000).differs(Pace(0.0, 1000))
    assert Pace(0.0, 1000).differs(None)
