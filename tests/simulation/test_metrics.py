"""What is counted at consumers: the published vectors 49 to 52."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # what is shared lies beside this file
import numpy as np
import pytest
from recorded_runs import RecordingEngine, consumer, make_engine, make_query, operator, producer
from wired_vertices import make_set

from cepheid.simulation.outcome import ConsumerOutcome, Outcome
from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.slices import Slice
from cepheid.simulation.scenario import Query


def make_line(paths: int = 1, producers: int = 1) -> Query:
    """From each producer as many ways to the consumer as `paths`."""
    sources = [producer(f"p{number}", 1.0) for number in range(producers)]
    ways = [operator(f"f{number}", 1.0) for number in range(paths)]
    edges = [(source.id, way.id, 1.0) for source in sources for way in ways]
    return make_query("q", [*sources, *ways, consumer("c", 1.0)], edges + [(way.id, "c", 1.0) for way in ways])


def consume(query: Query, *consumed: EventSet) -> tuple[RecordingEngine, ConsumerOutcome]:
    engine = make_engine(query, duration_s=301.0, tick_s=1.0)
    for events in consumed:
        engine._observe(engine.member("c"), events, Slice(0, events.ts, events.ts, 0.0))
    outcome = Outcome(engine.scenario, engine.layout, engine.tally, "reference", 1, 0.0, 0.0, np.zeros(1))
    return engine, next(outcome.consumers())


def test_a_set_counts_with_its_size_its_latency_and_what_it_came_of() -> None:
    engine, outcome = consume(make_line(), make_set(10, 25, 15, 10))
    assert engine.tally.consumed[0, 0] == 10
    assert (outcome.latency_ms, outcome.throughput_per_s) == (15, 10)


def test_each_way_counts_its_part() -> None:
    _, outcome = consume(make_line(paths=2), make_set(10, 25, 15, 20))
    assert outcome.throughput_per_s == 10


def test_producers_add_up() -> None:
    _, outcome = consume(make_line(producers=2), make_set(10, 25, 15, 10, 20))
    assert outcome.throughput_per_s == 30


def test_throughput_of_a_run_is_over_the_seconds_that_have_something() -> None:
    sets = [make_set(1, end, 0, total) for end, total in ((100, 10), (550, 10), (950, 5), (1150, 10), (5050, 6))]
    engine, outcome = consume(make_line(), *sets)
    assert list(np.flatnonzero(engine.tally.seconds[0])) == [0, 1, 5]
    assert outcome.throughput_per_s == pytest.approx((25 + 10 + 6) / 3)


def test_latency_by_minute_is_weighted_by_size() -> None:
    sets = [
        make_set(size, ts, latency)
        for size, latency, ts in ((10, 20, 100), (10, 10, 50_500), (5, 20, 60_050), (20, 10, 61_050), (15, 20, 190_050))
    ]
    _, outcome = consume(make_line(), *sets)
    assert {minute.minute: minute.latency_ms for minute in outcome.minutes} == pytest.approx({0: 15, 1: 12, 3: 20})
    assert outcome.latency_ms == pytest.approx((200 + 100 + 100 + 200 + 300) / 60)


def test_throughput_by_minute_is_over_sixty_seconds() -> None:
    sets = [make_set(1, ts, 0, total) for ts, total in ((0, 10), (50_000, 10), (60_000, 5), (190_000, 15))]
    _, outcome = consume(make_line(), *sets)
    expected = {0: 1 / 3, 1: 1 / 12, 3: 1 / 4}
    assert {minute.minute: minute.throughput_per_s for minute in outcome.minutes} == pytest.approx(expected)


def test_ways_through_splits_and_merges_are_counted() -> None:
    """Two producers, a merge, a split, a merge: two ways from each."""
    vertices = [producer("p1", 1.0), producer("p2", 1.0), consumer("c1", 1.0)]
    vertices += [operator(name, 1.0) for name in ("m1", "s1", "f1", "f2", "m2")]
    edges = [("p1", "m1", 1.0), ("p2", "m1", 1.0), ("m1", "s1", 1.0), ("s1", "f1", 0.5), ("s1", "f2", 0.5)]
    query = make_query("q", vertices, [*edges, ("f1", "m2", 0.5), ("f2", "m2", 0.6), ("m2", "c1", 1.0)])
    layout = make_engine(query).layout
    (end,) = layout.consumers()
    assert list(layout.paths[end]) == [2, 2]


def test_copies_are_counted_apart() -> None:
    engine = make_engine(replace(make_line(), copies=3), duration_s=5.0, tick_s=1.0)
    engine.run(0, 3)
    assert engine.tally.consumed.shape[0] == 3
    assert np.unique(engine.tally.consumed.sum(axis=1)).size == 1
