"""Whole ticks of the reference engine: the published vectors 44 to 48, 54 and 55, and what integrated runs add."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # what is shared lies beside this file
import pytest
from recorded_runs import RecordingEngine, consumer, make_engine, make_query, operator, producer
from wired_vertices import make_set, near, values

from cepheid.simulation.clock import Tick, instructions_in, ticks_of
from cepheid.simulation.reference.in_turn import run_in_turn
from cepheid.simulation.reference.placement import Message
from cepheid.simulation.reference.schedulers.simple import schedule_simply
from cepheid.simulation.reference.slices import Arrival
from cepheid.simulation.scenario import Query


def make_chain(suffix: str = "") -> Query:
    """1000 + 4000 + 4000 + 1000 instructions; one event of ten leaves the second filter."""
    p, f, g, c = (name + suffix for name in ("p", "f", "g", "c"))
    vertices = [producer(p, 1000.0), operator(f, 4000.0), operator(g, 4000.0), consumer(c, 1000.0)]
    return make_query("q" + suffix, vertices, [(p, f, 1.0), (f, g, 1.0), (g, c, 0.1)])


def ran(engine: RecordingEngine) -> list[tuple[object, ...]]:
    """Vertex, beginning and end of the slice, and the events: size, time, latency, totals."""
    return [(each.vertex, each.start, each.end, *values(each.events)) for each in engine.ran]


def expected(vertex: str, *numbers: float) -> tuple[object, ...]:
    return (vertex, *(pytest.approx(number, abs=1e-3) for number in numbers))


def test_a_tick_carries_events_from_producer_to_consumer() -> None:
    engine = make_engine(make_chain())
    engine.let_events_come(1000.0)
    engine.run(0, 1)
    assert ran(engine) == [
        expected("p", 10, 11, 1000, 11, 1, 1000),
        expected("f", 11, 15, 1000, 15, 5, 1000),
        expected("g", 15, 19, 1000, 19, 9, 1000),
        expected("c", 19, 20, 100, 20, 10, 1000),
    ]
    engine.run(1, 2)
    assert engine.member("c").run.output.size == pytest.approx(200)


def test_two_queries_share_every_tick() -> None:
    engine = make_engine(make_chain("1"), make_chain("2"))
    engine.let_events_come(1000.0)
    engine.run(0, 1)
    slices = [(each.vertex, pytest.approx(each.start), pytest.approx(each.end)) for each in engine.ran]
    assert slices == [
        ("p1", 10, 10.5), ("p2", 10.5, 11), ("f1", 11, 13), ("f2", 13, 15),
        ("g1", 15, 17), ("g2", 17, 19), ("c1", 19, 19.5), ("c2", 19.5, 20),
    ]  # fmt: skip
    assert [values(each.events)[:3] for each in engine.ran[-2:]] == [near(50, 19.5, 9.5), near(50, 20, 10)]
    assert engine.ran[0].events.size == pytest.approx(500)


def test_a_slow_vertex_fills_the_queues_before_it() -> None:
    vertices = [
        producer("p", 1000.0, limited=True),
        operator("f1", 2500.0, queue=1000.0),
        operator("f2", 8000.0, queue=1000.0),
        consumer("c", 1000.0),
    ]
    engine = make_engine(
        make_query("q", vertices, [("p", "f1", 1.0), ("f1", "f2", 0.5), ("f2", "c", 0.1)]), allocation="uniform"
    )
    engine.let_events_come(1000.0)
    waiting = []
    for tick in range(5):
        engine.run(tick, tick + 1)
        waiting.append((engine.member("f1").run.waiting(), engine.member("f2").run.waiting()))
    assert waiting == [near(0, 187.5), near(0, 375), near(0, 562.5), near(125, 687.5), near(375, 687.5)]
    assert values(next(each.events for each in engine.ran if each.vertex == "c")) == near(31.25, 20, 10, 625)
    assert [each.events.size for each in engine.ran if each.vertex == "c"] == pytest.approx([31.25] * 5)
    assert engine.member("p").run.outside == pytest.approx(125)


def make_remote() -> RecordingEngine:
    vertices = [
        producer("p", 1000.0),
        operator("f1", 4000.0),
        operator("f2", 4000.0),
        consumer("c", 1000.0),
        operator("f3", 4000.0),
        consumer("c2", 1000.0),
    ]
    edges = [("p", "f1", 1.0), ("f1", "f2", 1.0), ("f2", "c", 0.1), ("f2", "f3", 0.1), ("f3", "c2", 0.5)]
    return make_engine(make_query("q", vertices, edges, f3="vm2", c2="vm2"))


def test_a_message_carries_events_to_another_machine() -> None:
    engine = make_remote()
    engine.let_events_come(1000.0)
    engine.run(0, 1)
    assert [each.events.size for each in engine.ran if each.vertex in ("f3", "c2")] == [0, 0]
    receiver = engine.placements[1]
    (sent,) = receiver.arrivals
    assert sent.at == pytest.approx(0.020)
    assert values(sent.message.events) == near(100, 19, 9, 1000)
    engine.ran.clear()
    run_in_turn(receiver, engine.ticks[1], engine.scenario, schedule_simply, [Arrival(20.0, sent.message)])
    assert ran(engine) == [expected("f3", 20, 28, 100, 28, 18, 1000), expected("c2", 28, 30, 50, 30, 20, 1000)]


def test_a_message_is_seen_in_the_first_tick_that_begins_after_it() -> None:
    """At 20 ms it arrives, so not in the tick that begins at 20 ms, but in the one at 30 ms."""
    engine = make_remote()
    engine.let_events_come(1000.0)
    engine.run(0, 4)
    first = next(each for each in engine.ran if each.vertex == "f3" and each.events.size > 0)
    assert first.start == pytest.approx(30)


def test_integrated_runs_have_no_events_in_the_first_tick() -> None:
    engine = make_engine(make_chain())
    engine.run(0, 2)
    assert [each.events.size for each in engine.ran if each.vertex == "p"] == near(0, 1000)
    assert next(each.events.ts for each in engine.ran if each.events.size > 0) == pytest.approx(21)


def test_iterations_divide_a_tick() -> None:
    vertices = [producer("p", 1.0), operator("f1", 1.0), consumer("c", 1.0)]
    engine = make_engine(make_query("q", vertices, [("p", "f1", 1.0), ("f1", "c", 1.0)]), iterations=2)
    placement = engine.placements[0]
    placement.capacity, placement.last_asked = 1.0, 0.0
    asked: list[tuple[float, float]] = []
    engine.member("p").run.take_in = lambda _, since, now: asked.append((since, now))
    engine.let_events_come(0.0)
    early, late = Message(0, make_set(7)), Message(0, make_set(9))
    arrivals = [Arrival(1200.0, early), Arrival(2200.0, late)]
    run_in_turn(placement, Tick(0, 0.5, 1.5, 0.0), engine.scenario, schedule_simply, arrivals)
    assert asked == [(0, 500), (500, 1000)]
    parts = [(each.vertex, pytest.approx(each.start), pytest.approx(each.end)) for each in engine.ran]
    third = 500 / 3
    assert parts == [
        ("p", 500, 500 + third), ("f1", 500 + third, 500 + 2 * third), ("c", 500 + 2 * third, 1000),
        ("p", 1000, 1000 + third), ("f1", 1000 + third, 1200),
        ("f1", 1200, 1000 + 2 * third), ("c", 1000 + 2 * third, 1500),
    ]  # fmt: skip
    assert [each.events.size for each in engine.ran[4:6]] == [0, 7]


# ------------------------------------------------------------------------------------------------------- machines


def test_a_tick_gives_what_the_machine_can_do_in_it() -> None:
    assert instructions_in(Tick(0, 0.1, 0.2, 0.0), 500.0, 1) == 50_000_000
    assert instructions_in(Tick(0, 0.1, 0.2, 0.0), 500.0, 2) == 100_000_000


def test_the_last_tick_ends_with_the_run() -> None:
    assert instructions_in(Tick(1, 80.0, 180.0, 80.0), 1.0, 1) == 20_000_000
    ticks = list(ticks_of(100.0, 30.0))
    assert [(tick.start_s, tick.end_s) for tick in ticks] == [(30, 60), (60, 90), (90, 120), (120, 150)]
    assert [instructions_in(tick, 1.0, 1) for tick in ticks] == [30e6, 30e6, 30e6, 10e6]


def test_a_run_that_is_nearly_over_ends_one_tick_early_with_twice_the_instructions() -> None:
    ticks = list(ticks_of(1.0, 0.01))
    assert len(ticks) == 99
    assert instructions_in(ticks[-1], 1000.0, 1) == pytest.approx(2 * instructions_in(ticks[0], 1000.0, 1), rel=1e-6)


def test_messages_that_came_before_the_tick_are_handed_on() -> None:
    engine = make_remote()
    placement = engine.placements[1]
    edge = engine.member("f3").inputs[0]
    placement.arrivals = [Arrival(at, Message(edge, make_set(1))) for at in (6.0, 8.0, 15.0)]
    handed_on = engine._collect(placement, Tick(0, 10.0, 20.0, 0.0))
    assert [arrival.at for arrival in handed_on] == [6000, 8000]
    assert [arrival.at for arrival in placement.arrivals] == [15.0]


def test_a_message_is_delayed_by_the_network() -> None:
    engine = make_remote()
    engine.scenario = replace(engine.scenario, network_delay_s=0.5)
    engine._send(Message(engine.member("f3").inputs[0], make_set(1)), 100.0)
    assert [arrival.at for arrival in engine.placements[1].arrivals] == [0.6]


def test_of_two_messages_for_a_vertex_at_one_instant_one_is_lost() -> None:
    """That of the source whose name comes later, whoever sent first."""
    vertices = [producer("a", 1000.0), producer("b", 1000.0), operator("m", 1000.0), consumer("c", 1000.0)]
    edges = [("b", "m", 1.0), ("a", "m", 1.0), ("m", "c", 1.0)]
    engine = make_engine(make_query("q", vertices, edges, m="vm2", c="vm2"))
    from_b, from_a = engine.member("m").inputs
    placement = engine.placements[1]
    placement.arrivals = [Arrival(0.5, Message(from_b, make_set(1))), Arrival(0.5, Message(from_a, make_set(2)))]
    (left,) = engine._collect(placement, Tick(0, 1.0, 2.0, 0.0))
    assert left.message.edge == from_a
    assert engine.tally.dropped.sum() == 1


def test_the_instant_of_a_message_is_told_in_milliseconds() -> None:
    """Two times that differ in seconds may be the same in milliseconds: one message is lost."""
    one = 0.4453871940548014
    other = math.nextafter(one, 1.0)
    assert one * 1000.0 == other * 1000.0
    engine = make_remote()
    placement = engine.placements[1]
    edge = engine.member("f3").inputs[0]
    placement.arrivals = [Arrival(at, Message(edge, make_set(1))) for at in (one, other)]
    assert len(engine._collect(placement, Tick(0, 1.0, 2.0, 0.0))) == 1
