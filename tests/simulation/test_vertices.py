"""Producers, operators, consumers, windows of the reference engine: the published vectors 11 to 37."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # what is shared lies beside this file
import numpy as np
import pytest
from wired_vertices import (
    in_queue,
    load,
    make_consumer,
    make_operator,
    make_producer,
    make_set,
    make_window,
    near,
    take_sent,
    values,
)

from cepheid.simulation.arrivals.increase import Increase
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.reference.window import WindowRun, give_all, give_constant

# ------------------------------------------------------------------------------------------------------ arrivals


@pytest.mark.parametrize(
    ("came", "taken", "outside"), [((100,), (50,), 50), ((90, 20), (50, 50), 10), ((40, 20), (40, 20), 0)]
)
def test_what_finds_no_room_comes_in_later(came: tuple[float, ...], taken: tuple[float, ...], outside: float) -> None:
    producer = make_producer(limits=[50], limited=True)
    got = []
    for number, amount in enumerate(came):
        producer.take_in(amount, number * 100.0, number * 100.0 + 100.0)
        got.append(producer.queue.dequeue_all().size)
    assert tuple(got) == taken
    assert producer.outside == outside


def test_a_limit_spreads_a_burst_over_the_next_intervals() -> None:
    producer = make_producer(limits=[50], limited=True)
    rates = []
    for number, came in enumerate((60.0, 20.0)):
        producer.take_in(came, number * 100.0, number * 100.0 + 100.0)
        rates.append(producer.queue.dequeue_all().size / 0.1)
    assert rates == pytest.approx([500.0, 300.0])
    assert sum(rates) / 2 == pytest.approx(400.0)


def test_uniform_arrivals_are_in_proportion_to_time() -> None:
    arrivals = Uniform(20.0)
    for ms, events in ((1000.0, 20.0), (5000.0, 100.0), (500.0, 10.0), (10.0, 0.2)):
        assert arrivals.amounts(np.array([0.0, ms]), 0) == pytest.approx([events])
    assert arrivals.mean_rate(6.51) == 20.0


def test_increasing_arrivals_are_the_area_under_the_rate() -> None:
    arrivals = Increase(duration_s=10.0, rate_per_s=20.0)
    assert arrivals.amounts(np.arange(0.0, 20001.0, 5000.0), 0) == pytest.approx([25.0, 75.0, 100.0, 100.0])
    assert arrivals.amounts(np.arange(0.0, 18001.0, 6000.0), 0) == pytest.approx([36.0, 104.0, 120.0])
    assert arrivals.mean_rate(10.0) == pytest.approx(10.0)
    assert arrivals.mean_rate(20.0) == pytest.approx(15.0)


# ----------------------------------------------------------------------------------------------------- producers


def test_events_are_born_at_the_end_of_the_interval() -> None:
    producer = make_producer()
    producer.take_in(100.0, 0.0, 1000.0)
    assert [values(events) for events in producer.queue.sets] == [(100, 1000, 0, 100)]
    producer.run(100, 1000, 1100)
    assert take_sent(producer) == [(100, 1100, 100, 100)]
    assert producer.queue.size == 0


@pytest.mark.parametrize(
    ("ipe", "born", "run", "sent", "left"),
    [
        (1, 500, (50, 500, 550), (50, 550, 50, 50), 50),
        (3, 100, (100, 100, 200), (33.3333, 200, 100, 33.3333), 66.6666),
    ],
)
def test_a_producer_sends_what_its_instructions_allow(
    ipe: float, born: float, run: tuple[float, float, float], sent: tuple[float, ...], left: float
) -> None:
    producer = make_producer(ipe)
    producer.take_in(100.0, 0.0, born)
    producer.run(*run)
    assert take_sent(producer) == [near(*sent)]
    assert producer.queue.size == pytest.approx(left, abs=1e-3)


def test_a_producer_sends_no_more_than_there_is_room_for() -> None:
    producer = make_producer(limits=[70])
    producer.take_in(100.0, 0.0, 500.0)
    producer.run(1000, 500, 600)
    assert take_sent(producer)[0][0] == 70
    assert producer.needed() == 30


@pytest.mark.parametrize(("waiting", "asked"), [(50, 50), (120, 0)])
def test_a_limited_producer_takes_in_what_there_is_room_for(waiting: float, asked: float) -> None:
    producer = make_producer(limits=[100], limited=True)
    producer.queue.enqueue(make_set(waiting))
    producer.take_in(1000.0, 0.0, 10.0)
    assert producer.queue.size == waiting + asked
    assert producer.outside == 1000 - asked


@pytest.mark.parametrize(("came", "born"), [(0.25, [0, 0, 0, 1]), (0.4, [0, 0, 1, 0, 1])])
def test_parts_of_events_wait_until_they_are_whole(came: float, born: list[int]) -> None:
    producer = make_producer()
    got = []
    for number in range(len(born)):
        producer.take_in(came, number, number + 1)
        got.append(producer.queue.dequeue_all().size)
    assert got == born


def test_time_that_runs_back_brings_nothing_and_takes_nothing_away() -> None:
    producer = make_producer()
    producer.take_in(-30.0, 100.0, 70.0)
    producer.take_in(20.0, 70.0, 90.0)
    assert producer.queue.size == 20


# ----------------------------------------------------------------------------------------------------- operators


@pytest.mark.parametrize(
    ("run", "sent", "left"),
    [((100, 0, 10), (10, 10, 10), 0), ((50, 0, 5), (5, 5, 5), 5), ((1000, 0, 100), (10, 100, 100), 0)],
)
def test_an_operator_handles_what_its_instructions_allow(
    run: tuple[float, float, float], sent: tuple[float, ...], left: float
) -> None:
    operator = make_operator()
    load(operator, make_set(10))
    operator.run(*run)
    assert take_sent(operator)[0][:3] == sent
    assert in_queue(operator) == [left]


def test_an_operator_without_events_sends_none() -> None:
    operator = make_operator()
    assert operator.run(100, 0, 10).size == 0
    assert operator.outputs.channels[0].outgoing.size == 0


def test_waiting_and_work_are_both_latency() -> None:
    operator = make_operator()
    load(operator, make_set(10, 200, 50, 1000))
    operator.run(100, 300, 500)
    assert take_sent(operator) == [(10, 500, 350, 1000)]


def test_sets_that_are_handled_together_become_one() -> None:
    operator = make_operator()
    load(operator, make_set(10))
    load(operator, make_set(10, 20, 10))
    operator.run(150, 30, 45)
    assert take_sent(operator) == [near(15, 45, 41.6666, 15)]


@pytest.mark.parametrize(("selectivity", "sent"), [(0.1, 1), (5.0, 50)])
def test_selectivity_scales_what_is_sent(selectivity: float, sent: float) -> None:
    operator = make_operator(selectivities=[selectivity])
    load(operator, make_set(10))
    assert operator.run(100, 0, 10).size == 10
    assert take_sent(operator) == [near(sent, 10, 10, 10)]


def test_every_successor_gets_its_share_with_all_totals() -> None:
    operator = make_operator(selectivities=[0.5, 0.5])
    load(operator, make_set(100))
    operator.run(1000, 0, 10)
    assert take_sent(operator, 0) == take_sent(operator, 1) == [(50, 10, 10, 100)]


def test_fractions_add_up_in_the_output_queue() -> None:
    operator = make_operator(selectivities=[0.05])
    for size in (0.5, 1.0):
        load(operator, make_set(10))
        operator.run(100, 0, 10)
        assert operator.outputs.channels[0].outgoing.size == pytest.approx(size)


@pytest.mark.parametrize(
    ("waiting", "instructions", "left"),
    [
        ((12, 4), 120, (3, 1)),
        ((10, 10, 10), 100, (6.6667, 6.6667, 6.6667)),
        ((10, 10, 10, 10), 270, (3.25, 3.25, 3.25, 3.25)),
        ((10, 5, 14, 11), 300, (2.5, 1.25, 3.5, 2.75)),
    ],
)
def test_inputs_are_served_in_proportion_to_what_waits(
    waiting: tuple[float, ...], instructions: float, left: tuple[float, ...]
) -> None:
    operator = make_operator(inputs=len(waiting), selectivities=[0.1])
    load(operator, *map(make_set, waiting))
    operator.run(instructions, 0, 10)
    assert in_queue(operator) == near(*left)
    assert take_sent(operator)[0][0] == pytest.approx(instructions / 100)


def test_inputs_mix_by_size() -> None:
    operator = make_operator(inputs=2)
    load(operator, make_set(10, 20, 10), make_set(10, 10, 5))
    operator.run(100, 30, 40)
    assert take_sent(operator) == [near(10, 40, 32.5, 10)]


@pytest.mark.parametrize(
    ("selectivities", "limits", "came", "instructions", "sent"),
    [
        ((1.0,), (5.0,), 10, 1000, (5,)),
        ((1.0, 1.0), (5.0, 3.0), 10, 1000, (3, 3)),
        ((0.5, 0.1), (5.0, 3.0), 100, 1000, (5, 1)),
    ],
)
def test_the_fullest_successor_holds_all_back(
    selectivities: tuple[float, ...],
    limits: tuple[float, ...],
    came: float,
    instructions: float,
    sent: tuple[float, ...],
) -> None:
    operator = make_operator(selectivities=selectivities, limits=limits)
    load(operator, make_set(came))
    operator.run(instructions, 0, 10)
    assert [take_sent(operator, output)[0][0] for output in range(len(limits))] == near(*sent)


@pytest.mark.parametrize(
    ("selectivities", "limits", "handled"), [((1.0,), (15.0,), (10, 5, 0)), ((1.0, 0.5), (15.0, 6.0), (10, 2, 0))]
)
def test_what_was_sent_and_not_taken_counts_against_the_limit(
    selectivities: tuple[float, ...], limits: tuple[float, ...], handled: tuple[float, ...]
) -> None:
    operator = make_operator(selectivities=selectivities, limits=limits)
    load(operator, make_set(20))
    assert tuple(operator.run(100, 0, 10).size for _ in range(3)) == handled


def test_an_operator_with_an_overfull_successor_believes_that_more_waits() -> None:
    """The queues stay as they are, only the sum that is kept beside them grows: a fault of CEPSim."""
    operator = make_operator(limits=[-5.0])
    load(operator, make_set(10))
    assert operator.run(1000, 0, 10).size == 0
    assert in_queue(operator) == [10]
    assert operator.inputs.total == 15


def test_a_vertex_with_empty_queues_needs_nothing() -> None:
    """What each queue loses by rounding is lost to the sum too: else the vertex would be run again and again."""
    operator = make_operator(ipe=90_000.0, inputs=2)
    load(operator, make_set(1.0), make_set(1.0))
    operator.run(2 * 90_000.0 * (1.0 - 0.00008), 0, 10)
    assert in_queue(operator) == [0, 0]
    assert operator.needed() == 0.0


# ----------------------------------------------------------------------------------------------------- consumers


def test_a_consumer_adds_its_own_time() -> None:
    consumer = make_consumer()
    load(consumer, make_set(100, 500, 200, 100))
    assert values(consumer.run(100, 900, 1000)) == (100, 1000, 700, 100)


def test_a_consumer_takes_from_all_inputs() -> None:
    consumer = make_consumer(inputs=2)
    load(consumer, make_set(100, 500, 100), make_set(50, 500, 100))
    assert values(consumer.run(100, 1000, 1100))[:3] == near(100, 1100, 700)
    assert in_queue(consumer) == near(33.3333, 16.6667)


def test_parts_of_events_are_consumed() -> None:
    consumer = make_consumer(ipe=3)
    load(consumer, make_set(100, 1000, 0))
    for number, end in enumerate((1100, 1200, 1300), start=1):
        assert values(consumer.run(100, end - 100, end))[:3] == near(33.3333, end, 100 * number)
        assert consumer.output.size == pytest.approx(100 / 3 * number)


# ------------------------------------------------------------------------------------------------------- windows


def slot(window: WindowRun, index: int) -> tuple[float, ...]:
    both = make_set(0, 0, 0, 0)
    for events in window.slots[index]:
        both.add(events)
    return values(both)


def load_evenly(window: WindowRun, ts: float, latency: float = 0.0) -> None:
    """20 events, half of them on each input."""
    load(window, make_set(10, ts, latency), make_set(10, ts, latency))


def test_a_window_gathers_and_gives_out_when_it_closes() -> None:
    window = make_window(1000, 1000, give_all)
    load(window, make_set(10, 5, 1), make_set(10, 8, 2))
    window.run(200, 10, 1000)
    assert slot(window, 0) == near(20, 6.5, 1.5, 20)
    assert take_sent(window) == []
    load_evenly(window, 1000, 5)
    window.run(200, 1010, 2000)
    assert take_sent(window) == [near(20, 2000, 1995, 20)]
    assert slot(window, 0) == near(20, 1000, 5, 20)


def test_latency_of_a_window_is_the_mean_of_what_it_gathered() -> None:
    window = make_window(1000, 1000, give_all)
    for start, ts, latency in ((10, 6.5, 1.5), (200, 150, 0.5), (600, 500, 1)):
        load_evenly(window, ts, latency)
        window.run(200, start, start + 100)
    window.run(200, 1010, 1100)
    assert take_sent(window) == [near(60, 1100, 882.1667, 60)]


def test_totals_of_a_hopping_window_are_those_of_the_newest_slot() -> None:
    window = make_window(10_000, 1000, give_constant(2.0))
    for number in range(11):
        load_evenly(window, number * 1000)
        window.run(200, number * 1000, number * 1000 + 200)
        sent = take_sent(window)
        end = number * 1000 + 200
        assert sent == ([near(2, end, end - (number - 1) * 500, 20)] if number else [])


def run_for_a_second(limits: tuple[float, ...] = ()) -> tuple[WindowRun, list[float]]:
    """A window of 1 s that hops by 100 ms; 20 events come every 100 ms."""
    window, sizes = make_window(1000, 100, give_all, limits=limits), []
    for number in range(10):
        load_evenly(window, number * 100)
        window.run(200, number * 100 + 5, number * 100 + 100)
        sizes += [size for size, *_ in take_sent(window)]
    return window, sizes


def test_a_window_fills_up_over_its_length() -> None:
    window, sizes = run_for_a_second()
    assert sizes == [20, 40, 60, 80, 100, 120, 140, 160, 180]
    window.run(200, 1005, 1100)
    assert take_sent(window) == [near(200, 1100, 650, 20)]


def test_windows_that_are_overdue_all_close_at_once() -> None:
    window, _ = run_for_a_second()
    window.run(200, 1450, 1550)
    assert take_sent(window) == [
        near(200, 1550, 1100, 20),
        near(180, 1550, 1050, 0),
        near(160, 1550, 1000, 0),
        near(140, 1550, 950, 0),
        near(120, 1550, 900, 0),
    ]
    assert window.index == 4


def test_windows_begin_with_the_machine() -> None:
    window = make_window(1000, 1000, give_constant(1.0), begins_at=200)
    load_evenly(window, 500)
    window.run(200, 1000, 1500)
    assert take_sent(window) == []
    window.run(200, 1500, 2000)
    assert take_sent(window) == [near(1, 2000, 1500, 20)]


def test_an_empty_window_gives_nothing() -> None:
    window = make_window(1000, 100, give_all)
    window.run(200, 1000, 1100)
    assert take_sent(window) == []
    load_evenly(window, 1100, 5)
    window.run(200, 1101, 1200)
    assert take_sent(window) == []
    assert slot(window, 1) == near(20, 1100, 5, 20)
    window.run(200, 1200, 1300)
    assert take_sent(window) == [near(20, 1300, 205, 20)]


@pytest.mark.parametrize("drained", [True, False])
def test_what_finds_no_room_is_held_back(drained: bool) -> None:
    window = make_window(1000, 1000, give_all, limits=[1000])
    load(window, make_set(1000), make_set(1000))
    window.run(20_000, 10, 100)
    window.run(20_000, 1000, 1100)
    assert [values(events) for events in window.outputs.channels[0].outgoing.sets] == [(1000, 1100, 1100, 1000)]
    if drained:
        take_sent(window)
    window.run(20_000, 1100, 1200)
    sent = take_sent(window)
    assert sent[-1] == ((1000, 1200, 1200, 1000) if drained else (1000, 1100, 1100, 1000))
    assert len(sent) == 1


def test_what_was_held_back_goes_first() -> None:
    window = make_window(1000, 1000, give_all, limits=[1000])
    load(window, make_set(750), make_set(750))
    window.run(15_000, 10, 100)
    load(window, make_set(500, 1000), make_set(500, 1000))
    window.run(10_000, 1000, 2000)
    assert take_sent(window) == [near(1000, 2000, 2000, 1000)]
    window.run(10_000, 2000, 3000)
    assert take_sent(window) == [near(500, 3000, 3000, 500), near(500, 3000, 2000, 500)]


def test_what_is_held_back_goes_on_waiting() -> None:
    window, _ = run_for_a_second(limits=(300,))
    sent = []
    for start in (1450, 1550, 1650, 1750):
        window.run(200, start, start + 100)
        sent.append([(size, latency) for size, _, latency, _ in take_sent(window)])
    assert sent[0] == [near(200, 1100), near(100, 1050)]
    assert sent[1] == [near(300, 1103.3333)]
    assert sent[2] == [near(300, 1096.6667)]
    assert sent[3] == [near(80, 1100), near(60, 1050)]


def test_a_window_gives_as_many_fewer_as_its_successor_has_waiting() -> None:
    window = make_window(1000, 1000, give_constant(10.0), limits_output=True)
    load_evenly(window, 0)
    window.run(200, 10, 100)
    window.outputs.channels[0].incoming.enqueue(make_set(4))
    window.run(200, 1000, 1100)
    assert take_sent(window) == [near(6, 1100, 1100, 12)]


def test_a_window_may_give_less_than_nothing() -> None:
    """Then what came of it is taken from the totals of the next: a fault of CEPSim."""
    window = make_window(1000, 1000, give_constant(10.0), limits_output=True)
    load_evenly(window, 0)
    window.run(200, 10, 100)
    window.outputs.channels[0].incoming.enqueue(make_set(15))
    window.run(200, 1000, 1100)
    assert take_sent(window) == [near(-5, 1100, 1100, -10)]
