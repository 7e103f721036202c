"""The speculation factor: by load, phase by phase (section 3.2.2 of the thesis), and by cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.disorder.lateness_histogram import LatenessHistogram
from cepheid.disorder.speculation import (
    LoadZone,
    Speculation,
    SpeculationCosts,
    choose_by_cost,
    follow_load,
)
from cepheid.errors import InvalidInput

ZONE = LoadZone(lowest=0.6, highest=0.8, step=0.05)
IDLE, FINE, TOO_MUCH = [0.2], [0.7], [0.95]


def walk(start: Speculation, loads: list[list[float]], zone: LoadZone = ZONE) -> list[float]:
    factors = []
    for load in loads:
        start = follow_load(start, load, zone)
        factors.append(round(start.factor, 4))
    return factors


def test_at_first_nothing_is_speculative() -> None:
    assert Speculation().factor == 1


def test_below_the_zone_the_factor_is_halved_until_nothing_waits() -> None:
    factors = walk(Speculation(), [IDLE] * 8)
    assert factors == [0.5, 0.25, 0.125, 0.0625, 0.0312, 0.0156, 0, 0]


def test_within_the_zone_it_stays() -> None:
    assert walk(Speculation(0.25), [FINE, [0.6], [0.8]]) == [0.25, 0.25, 0.25]


def test_above_the_zone_the_factor_is_kept_as_best_and_all_is_held() -> None:
    assert follow_load(Speculation(0.25), TOO_MUCH, ZONE) == Speculation(1.0, best=0.25)


def test_too_much_load_while_all_is_held_forgets_nothing() -> None:
    assert follow_load(Speculation(1.0, best=0.25), TOO_MUCH, ZONE) == Speculation(1.0, best=0.25)


def test_after_that_it_is_halved_to_the_line_and_goes_on_in_small_steps() -> None:
    """The line between 0.25 and 1 is at 0.625."""
    assert walk(Speculation(1.0, best=0.25), [IDLE, IDLE, IDLE, FINE]) == [0.575, 0.525, 0.475, 0.475]


def test_line_as_printed_lies_lower() -> None:
    """(1 - 0.25) / 2 = 0.375."""
    zone = LoadZone(bisection="printed")
    assert walk(Speculation(1.0, best=0.25), [IDLE, IDLE, IDLE], zone) == [0.5, 0.325, 0.275]


def test_halving_does_not_jump_below_a_best_near_one() -> None:
    """Half of 1 would be far below 0.8, where the load was too much."""
    assert walk(Speculation(1.0, best=0.8), [IDLE, IDLE]) == [0.85, 0.8]


def test_all_phases_in_a_row() -> None:
    loads = [IDLE, IDLE, TOO_MUCH, TOO_MUCH, IDLE, IDLE, FINE, TOO_MUCH, IDLE]
    assert walk(Speculation(), loads) == [0.5, 0.25, 1, 1, 0.575, 0.525, 0.525, 1, 0.7125]


@pytest.mark.parametrize(("aggregation", "factor"), [("max", 1.0), ("mean", 0.25)])
def test_loads_of_several_components_are_aggregated_as_the_setting_says(aggregation: str, factor: float) -> None:
    zone = LoadZone(aggregation=aggregation)  # type: ignore[arg-type]
    assert follow_load(Speculation(0.5), [0.9, 0.1, 0.1], zone).factor == factor


def test_without_components_nothing_changes() -> None:
    assert follow_load(Speculation(0.5), [], ZONE) == Speculation(0.5)


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0.01, 1), st.sampled_from(["midpoint", "printed"]))
def test_factor_stays_between_0_and_1(loads: list[float], step: float, bisection: str) -> None:
    zone = LoadZone(step=step, bisection=bisection)  # type: ignore[arg-type]
    assert all(0 <= factor <= 1 for factor in walk(Speculation(), [[load] for load in loads], zone))


@given(st.floats(0.65, 4))
def test_factor_settles_where_the_load_is_in_the_zone(cost: float) -> None:
    """Of processors that are loaded by what is speculated."""
    now, zone = Speculation(), LoadZone(step=0.02)
    for _ in range(100):
        now = follow_load(now, [cost * (1 - now.factor)], zone)
    assert 0.6 <= cost * (1 - now.factor) <= 0.8


def test_zone_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"from 0\.9 to 0\.8"):
        LoadZone(lowest=0.9)
    with pytest.raises(InvalidInput, match="step is 0"):
        LoadZone(step=0)


# --- by cost ---------------------------------------------------------------------------------------------


@pytest.fixture
def needs() -> LatenessHistogram:
    """Half of the results need nothing, the others up to a second."""
    histogram = LatenessHistogram()
    histogram.add(np.concatenate([np.zeros(5_000, dtype=np.int64), np.linspace(1, 1_000_000, 5_000).astype(np.int64)]))
    return histogram


def test_what_costs_nothing_to_correct_is_not_held(needs: LatenessHistogram) -> None:
    assert choose_by_cost(needs, 1_000_000, SpeculationCosts(correction=0, second=1)) == 0


def test_where_time_costs_nothing_all_is_held(needs: LatenessHistogram) -> None:
    assert choose_by_cost(needs, 1_000_000, SpeculationCosts(correction=1, second=0)) == 1


def test_choice_is_the_cheapest_of_all(needs: LatenessHistogram) -> None:
    """Held for h seconds, (1 - h) / 2 are corrected: at 3 each that costs more than the time.  To a bucket."""
    assert choose_by_cost(needs, 1_000_000, SpeculationCosts(correction=3, second=1)) >= 0.9
    assert choose_by_cost(needs, 1_000_000, SpeculationCosts(correction=1, second=1)) == 0


def test_where_few_are_very_late_it_pays_to_wait_for_the_others() -> None:
    histogram = LatenessHistogram()
    histogram.add(np.repeat([40_000, 900_000], [990, 10]))
    alpha = choose_by_cost(histogram, 1_000_000, SpeculationCosts(correction=1, second=1))
    assert 0.04 <= alpha <= 0.045


def test_without_results_or_wait_all_is_held() -> None:
    costs = SpeculationCosts(correction=1, second=1)
    assert choose_by_cost(LatenessHistogram(), 1_000_000, costs) == 1
    histogram = LatenessHistogram()
    histogram.add(np.array([5]))
    assert choose_by_cost(histogram, 0, costs) == 1
