"""Event sets and their queues: the published vectors 1 to 10, and what the authors' queues do beyond them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # what is shared lies beside this file
import pytest
from wired_vertices import make_set, near, values

from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.event_set_queue import EventSetQueue, QueueUnderflow


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((5, 5, 0, 5), (10, 20, 0, 10), (15, 15, 0, 15)),
        ((10, 15, 5, 10), (10, 20, 8, 10), (20, 17.5, 6.5, 20)),
    ],
)
def test_time_and_latency_of_a_sum_are_means_by_size(
    first: tuple[float, ...], second: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    one, other = make_set(*first), make_set(*second)
    one.add(other)
    assert values(one) == expected
    assert values(other) == second


def test_an_update_moves_time_into_latency() -> None:
    events = make_set(20, 17.5, 6.5, 20)
    events.update(25)
    assert values(events) == (20, 25, 14, 20)


def test_extracted_events_take_their_part_of_the_totals() -> None:
    events = make_set(20, 10, 5, 40, 10)
    taken = events.extract(5)
    assert values(taken) == (5, 10, 5, 10, 2.5)
    assert values(events) == (15, 10, 5, 30, 7.5)


@pytest.mark.parametrize(
    ("share", "first", "rest"),
    [
        (0.5, (5, 15, 5, 5), (5, 15, 5, 5)),
        (0.2, (2, 15, 5, 2), (8, 15, 5, 8)),
        (1.0, (10, 15, 5, 10), (0, 15, 5, 0)),
    ],
)
def test_a_split_leaves_the_set_as_it_is(share: float, first: tuple[float, ...], rest: tuple[float, ...]) -> None:
    events = make_set(10, 15, 5, 10)
    one, other = events.split(share)
    assert values(one) == first
    assert values(other) == rest
    assert values(events) == (10, 15, 5, 10)


def test_selectivity_scales_the_size_and_no_total() -> None:
    events = EventSet.empty(1)
    events.add(make_set(10, 100, 1, 10), selectivity=0.1)
    assert values(events) == near(1, 100, 1, 10)


def test_totals_of_an_empty_set_are_added_too() -> None:
    events = make_set(10, 15, 5, 10)
    events.add(make_set(0, 99, 99, 7))
    events.add(make_set(-3, 99, 99, -2))
    assert values(events) == (10, 15, 5, 15)


def make_queue(*sets: EventSet) -> EventSetQueue:
    queue = EventSetQueue(1)
    for events in sets:
        queue.enqueue(events)
    return queue


A, B = make_set(10, 100, 1, 10), make_set(10, 200, 2, 20)
C, D = make_set(10, 300, 1, 10), make_set(20, 400, 2, 20)


@pytest.mark.parametrize(
    ("sets", "asked", "taken", "left"),
    [
        ((A, B), 20, (20, 150, 1.5, 30), (0, 0, 0, 0)),
        ((A,), 5, (5, 100, 1, 5), (5, 100, 1, 5)),
        ((A, B), 15, (15, 133.3333, 1.33333, 20), (5, 200, 2, 10)),
        ((A, B, C, D), 40, (40, 250, 1.5, 50), (10, 400, 2, 10)),
    ],
)
def test_a_queue_gives_the_first_events_as_one_set(
    sets: tuple[EventSet, ...], asked: float, taken: tuple[float, ...], left: tuple[float, ...]
) -> None:
    queue = make_queue(*sets)
    assert queue.size == sum(events.size for events in sets)
    assert values(queue.dequeue(asked)) == near(*taken)
    assert queue.size == left[0]
    assert values(queue.dequeue_all()) == near(*left)


def test_a_queue_keeps_copies() -> None:
    queue = make_queue(A)
    queue.dequeue(5)
    assert values(A) == (10, 100, 1, 10)


def test_more_than_a_queue_holds_is_an_error_unless_it_is_rounding() -> None:
    with pytest.raises(QueueUnderflow):
        make_queue(A).dequeue(20)
    assert make_queue(A).dequeue(10.00009).size == 10


def test_what_is_nearly_nothing_is_lost_with_its_totals() -> None:
    queue = make_queue(A)
    assert queue.dequeue(9.99995).size == 9.99995
    assert queue.size == 0.0
    assert not queue.sets


def test_totals_without_events_wait_for_the_next_events() -> None:
    queue = make_queue(A, make_set(0, 1, 1, 7))
    assert values(queue.dequeue(10)) == (10, 100, 1, 10)
    assert values(queue.dequeue(0)) == (0, 0, 0, 0)
    queue.enqueue(B)
    assert values(queue.dequeue(10)) == (10, 200, 2, 27)


def test_less_than_no_events_take_their_totals_from_the_next() -> None:
    queue = make_queue(make_set(-4, 1, 1, -5), B)
    assert queue.size == 6
    assert values(queue.dequeue_all()) == (10, 200, 2, 15)
    assert queue.size == 0.0
