"""From durations of batches to what an event costs."""

from __future__ import annotations

import numpy as np
import pytest

from cepheid.calibration.batch_plan import plan_batches
from cepheid.calibration.batch_sample import BatchSample, Block, Measured
from cepheid.calibration.fit_costs import explained_share, fit_costs, fit_line
from cepheid.errors import InvalidInput

OVERHEAD_S, EVENT_S = 0.0005, 1e-7
SIZES = (1000, 5000, 10_000, 20_000)


def make_blocks(rounds: int, noise: float = 0.0, tidying_s: float = 0.0, seed: int = 1) -> list[Block]:
    """tidying_s: what every 500,000th event costs besides."""
    random = np.random.default_rng(seed)
    plan = plan_batches(SIZES[-1], rounds * 5 * sum(SIZES), ())
    at, blocks = 0, []
    for number in range(plan.blocks):
        block: Block = []
        for size in plan.block(number):
            tidyings = (at + size) // 500_000 - at // 500_000
            at += size
            lasts = (OVERHEAD_S + size * EVENT_S) * float(random.lognormal(0.0, noise)) + tidyings * tidying_s
            block.append(BatchSample(size, size // 20, lasts))
        blocks.append(block)
    return blocks


def test_line_through_exact_durations_is_found_again() -> None:
    cost = fit_costs(Measured(make_blocks(rounds=2)))
    assert cost.overhead_s == pytest.approx(OVERHEAD_S)
    assert cost.regression_s == pytest.approx(EVENT_S)
    assert cost.r2 == pytest.approx(1.0)
    assert cost.spread == pytest.approx(0.0, abs=1e-9)
    assert cost.selectivity == pytest.approx(0.05)
    assert cost.largest_batch == 20_000


def test_equations_11_and_12_know_no_overhead() -> None:
    cost = fit_costs(Measured(make_blocks(rounds=2)))
    largest = OVERHEAD_S / 20_000 + EVENT_S
    assert cost.latency_s == pytest.approx(largest)
    assert cost.throughput_s == pytest.approx(largest)
    assert (cost.overhead("throughput"), cost.overhead("regression")) == (0.0, cost.overhead_s)


def test_rare_long_batches_are_counted_where_a_median_would_miss_them() -> None:
    tidying_s = 0.033
    cost = fit_costs(Measured(make_blocks(rounds=150, tidying_s=tidying_s)))
    full = OVERHEAD_S + 20_000 * (EVENT_S + tidying_s / 500_000)
    assert cost.overhead_s + 20_000 * cost.regression_s == pytest.approx(full, rel=0.06)
    small = OVERHEAD_S + 1000 * (EVENT_S + tidying_s / 500_000)
    assert cost.overhead_s + 1000 * cost.regression_s == pytest.approx(small, rel=0.1)


def test_one_disturbed_block_has_no_say() -> None:
    blocks = make_blocks(rounds=3)
    blocks[2] = [BatchSample(s.events, s.rows, 7.0 * s.duration_s) for s in blocks[2]]
    cost = fit_costs(Measured(blocks))
    assert cost.regression_s == pytest.approx(EVENT_S)
    assert cost.overhead_s == pytest.approx(OVERHEAD_S)
    assert cost.spread > 1.0


def test_batches_of_one_size_have_no_visible_overhead() -> None:
    line = fit_line([BatchSample(1000, 0, 0.5), BatchSample(1000, 0, 0.7)])
    assert (line.overhead_s, line.event_s) == pytest.approx((0.0, 0.0006))


def test_overhead_is_never_negative_and_the_total_stays() -> None:
    samples = [BatchSample(100, 0, 0.001), BatchSample(1000, 0, 0.1)]
    line = fit_line(samples)
    assert line.overhead_s == 0.0
    assert line.at(1100) == pytest.approx(0.101)


def test_durations_that_do_not_grow_with_events_are_refused() -> None:
    block = [BatchSample(1000, 0, 0.9), BatchSample(20_000, 0, 0.5)]
    with pytest.raises(InvalidInput, match="cannot be estimated"):
        fit_costs(Measured([block] * 5))


def test_share_explained_falls_with_a_curve() -> None:
    samples = [BatchSample(size, 0, size**3 * 1e-12) for size in SIZES]
    assert 0.5 < explained_share(samples, fit_line(samples)) < 0.95


def test_every_size_gets_as_many_events_in_runs_of_its_own() -> None:
    plan = plan_batches(20_000, 2_000_000, (20_000,) * 3)
    orders = [plan.runs(number) for number in range(plan.blocks)]
    assert all(sorted(order) == sorted(zip(plan.sizes, plan.rounds, strict=True)) for order in orders)
    assert all(size * rounds == pytest.approx(97_000, rel=0.2) for size, rounds in orders[0])
    assert orders[0] != orders[1]
    assert plan.runs(0) == orders[0]
    assert 1_600_000 < plan.events <= 2_000_000
