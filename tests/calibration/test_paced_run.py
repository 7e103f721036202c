"""Events at a rate, on a clock that is moved by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.calibration.batch_plan import plan_batches
from cepheid.calibration.embedded_pushes import measure_pushes
from cepheid.calibration.feed import Feed
from cepheid.calibration.fit_costs import fit_costs
from cepheid.calibration.paced_pushes import run_paced_pushes
from cepheid.calibration.paced_run import PacedBatch, judge_run
from cepheid.calibration.spark_batches import is_warm
from cepheid.errors import InvalidInput

OVERHEAD_S, EVENT_S, MOST = 0.002, 1e-6, 2000
CAPACITY = MOST / (OVERHEAD_S + MOST * EVENT_S)  # 500,000 events/s


class HandClock:
    """Time goes on when someone sleeps, and while a query works."""

    def __init__(self) -> None:
        self.time_s = 100.0

    def now(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0.0
        self.time_s += seconds


class SteadyQuery:
    """Takes exactly the time of the model; gives out every tenth event."""

    def __init__(self, clock: HandClock) -> None:
        self.clock, self.seen = clock, list[int]()
        self.counts = cep.open("SELECT n FROM s", s={"n": "bigint"}).counts

    def push(self, **batches: pa.Table) -> pa.Table:
        (table,) = batches.values()
        self.seen += table.column("n").to_pylist()
        self.clock.time_s += OVERHEAD_S + len(table) * EVENT_S
        return table.slice(0, len(table) // 10)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def query(clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> SteadyQuery:
    made = SteadyQuery(clock)
    monkeypatch.setattr(cep, "open", lambda *_, **__: made)
    return made


@pytest.fixture
def feed() -> Feed:
    return Feed({"s": pa.table({"n": np.arange(3_000_000)})})


def run(feed: Feed, clock: HandClock, rate: float, seconds: float = 1.0) -> list[PacedBatch]:
    return run_paced_pushes("SELECT n FROM s", feed, (MOST,) * 3, rate, seconds, 0.001, MOST, clock)


@pytest.mark.parametrize("part", [0.3, 0.5, 0.9, 0.98])
def test_below_capacity_throughput_is_what_is_offered(
    query: SteadyQuery, clock: HandClock, feed: Feed, part: float
) -> None:
    found = judge_run(run(feed, clock, part * CAPACITY), part * CAPACITY, MOST)
    assert found.throughput_per_s == pytest.approx(part * CAPACITY, rel=0.02)
    assert not found.grows
    assert query.seen == list(range(len(query.seen)))


@pytest.mark.parametrize("part", [1.03, 1.3, 3.0])
def test_above_capacity_throughput_is_the_capacity_and_the_backlog_grows(
    query: SteadyQuery, clock: HandClock, feed: Feed, part: float
) -> None:
    found = judge_run(run(feed, clock, part * CAPACITY), part * CAPACITY, MOST)
    assert found.throughput_per_s == pytest.approx(CAPACITY, rel=0.02)
    assert found.grows
    assert found.busy == pytest.approx(1.0, rel=0.02)
    assert query.seen == list(range(len(query.seen)))


@pytest.mark.usefixtures("query")
def test_no_batch_takes_more_than_has_come_or_than_it_may(clock: HandClock, feed: Feed) -> None:
    rate = 0.8 * CAPACITY
    batches, taken = run(feed, clock, rate), 0
    for batch in batches:
        taken += batch.events
        assert batch.events <= MOST
        assert taken <= MOST + batch.start_s * rate
    assert all(later.start_s >= earlier.end_s for earlier, later in pairwise(batches))


@pytest.mark.usefixtures("query")
def test_a_run_ends_with_its_events(clock: HandClock) -> None:
    short = Feed({"s": pa.table({"n": np.arange(100_000)})})
    batches = run(short, clock, 0.5 * CAPACITY, seconds=60.0)
    assert sum(batch.events for batch in batches) <= 100_000
    assert batches[-1].end_s < 1.0


@pytest.mark.usefixtures("query")
def test_what_a_query_costs_is_measured_exactly_on_a_steady_one(clock: HandClock, feed: Feed) -> None:
    plan = plan_batches(MOST, 200_000, (MOST,) * 5)
    cost = fit_costs(measure_pushes("SELECT n FROM s", feed, plan, 1e9, lambda _: None, clock))
    assert cost.overhead_s == pytest.approx(OVERHEAD_S)
    assert cost.regression_s == pytest.approx(EVENT_S)
    assert cost.selectivity == pytest.approx(0.1)


@pytest.mark.usefixtures("query")
def test_measuring_ends_in_time_with_every_size_in_every_block(clock: HandClock, feed: Feed) -> None:
    plan = plan_batches(MOST, 2_000_000, (MOST,) * 5)
    measured = measure_pushes("SELECT n FROM s", feed, plan, 0.1, lambda _: None, clock)
    assert {len(block) for block in measured.blocks} < set(range(len(plan.sizes), 20))
    assert all({sample.events for sample in block} == set(plan.sizes) for block in measured.blocks)


def test_a_run_of_few_batches_is_not_judged() -> None:
    with pytest.raises(InvalidInput, match="too few"):
        judge_run([PacedBatch(0.0, 1.0, 10, 10)] * 5, 10.0, 10)


def test_a_backlog_that_is_worked_off_does_not_grow() -> None:
    batches = [PacedBatch(float(n), n + 0.9, 100, 900 - 50 * n) for n in range(12)]
    assert not judge_run(batches, 50.0, 100).grows


def test_a_backlog_that_goes_up_and_down_does_not_grow() -> None:
    """An operator that tidies up from time to time lets events wait, and catches up."""
    batches = [PacedBatch(float(n), n + 1.0, 100, 100 + 40 * ((3 * n) % 7)) for n in range(40)]
    assert not judge_run(batches, 100.0, 100).grows
    rising = [PacedBatch(b.start_s, b.end_s, b.events, b.waiting + int(10 * b.start_s)) for b in batches]
    assert judge_run(rising, 100.0, 100).grows


def test_a_session_is_warm_when_batches_become_no_quicker() -> None:
    assert not is_warm([1.0] * 15)
    assert is_warm([1.0] * 16)
    assert not is_warm([2.0] * 8 + [1.0] * 8)
    assert is_warm([2.0] * 8 + [1.0] * 16)


def test_streams_of_a_feed_advance_together() -> None:
    feed: Any = Feed({"a": pa.table({"n": np.arange(300)}), "b": pa.table({"n": np.arange(100)})})
    parts = [feed.take(begin, 40) for begin in range(0, 400, 40)]
    assert [(len(part["a"]), len(part["b"])) for part in parts] == [(30, 10)] * 10
    assert pa.concat_tables(part["b"] for part in parts).column("n").to_pylist() == list(range(100))
    with pytest.raises(InvalidInput, match="401 events are needed"):
        feed.take(1, 400)
