"""The consistency manager beyond the figures (tests/golden/consistency): identity, flags, restarts, other rules."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.disorder.consistency_manager import ConsistencyManager, EventName, Released
from cepheid.disorder.waits.fixed import FixedWait
from cepheid.disorder.waits.growing import GrowingWait
from cepheid.disorder.waits.recall import RecallWait

EVENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), max_size=40).map(
    lambda pairs: [EventName(time, source, number) for number, (time, source) in enumerate(pairs)]
)
ALPHA = st.sampled_from([0.0, 0.25, 0.5, 1.0])
MANAGERS: dict[str, Callable[[], ConsistencyManager]] = {
    "growing": lambda: ConsistencyManager([0]),
    "growing, two clock sources": lambda: ConsistencyManager([0, 2], until_known=True),
    "fixed": lambda: ConsistencyManager([0, 1, 2], FixedWait(5)),
    "recall": lambda: ConsistencyManager([0], RecallWait(0.9)),
}


def run(manager: ConsistencyManager, events: list[EventName], alpha: float) -> list[Released]:
    manager.speculation = alpha
    return [released for event in events for released in manager.take(event)]


@pytest.mark.parametrize("name", MANAGERS)
@given(events=EVENTS, alpha=ALPHA)
def test_every_event_leaves_once(name: str, events: list[EventName], alpha: float) -> None:
    manager = MANAGERS[name]()
    released = run(manager, events, alpha) + manager.finish()
    assert sorted(each.event for each in released) == sorted(events)


@pytest.mark.parametrize("name", MANAGERS)
@given(events=EVENTS, alpha=ALPHA)
def test_event_leaves_by_the_rule_that_is_passed_on_with_it(name: str, events: list[EventName], alpha: float) -> None:
    for each in run(MANAGERS[name](), events, alpha):
        assert each.event.time + alpha * each.k_us <= each.clock
        if each.is_deterministic:
            assert each.event.time + each.k_us <= each.clock
        elif each.k_us or not name.endswith("two clock sources"):
            assert each.event.time + each.k_us > each.clock


@given(events=EVENTS, alpha=ALPHA)
def test_k_of_the_thesis_is_the_growing_wait(events: list[EventName], alpha: float) -> None:
    own, with_rule = ConsistencyManager([0, 2]), ConsistencyManager([0, 2], GrowingWait([0, 2]))
    assert run(own, events, alpha) == run(with_rule, events, alpha)


@given(events=EVENTS)
def test_without_speculation_all_are_deterministic(events: list[EventName]) -> None:
    assert all(each.is_deterministic for each in run(ConsistencyManager([0]), events, 1.0))


@given(events=EVENTS)
def test_until_k_is_known_all_are_speculative(events: list[EventName]) -> None:
    for each in run(ConsistencyManager([0], until_known=True), events, 1.0):
        assert each.is_deterministic == (each.k_us > 0)


@given(events=EVENTS)
def test_all_in_order_of_time_if_k_is_long_enough(events: list[EventName]) -> None:
    manager = ConsistencyManager([0, 1, 2], FixedWait(41))
    released = [each.event for each in run(manager, events, 1.0) + manager.finish()]
    assert released == sorted(events)


@pytest.mark.parametrize("name", MANAGERS)
@given(events=EVENTS, alpha=ALPHA, data=st.data())
def test_manager_goes_on_from_its_state(name: str, events: list[EventName], alpha: float, data: st.DataObject) -> None:
    stop = data.draw(st.integers(0, len(events)))
    whole, first, second = (MANAGERS[name]() for _ in range(3))
    expected = run(whole, events, alpha) + whole.finish()
    released = run(first, events[:stop], alpha)
    second.read_state(json.loads(json.dumps(first.write_state())))
    assert released + run(second, events[stop:], alpha) + second.finish() == expected


def test_events_of_one_time_are_told_apart() -> None:
    manager = ConsistencyManager([0])
    twins = [EventName(5, 1, 7), EventName(5, 1, 8), EventName(5, 0, 3)]
    assert [each.event for event in twins for each in manager.take(event)] == sorted(twins)


def test_clock_does_not_go_back() -> None:
    manager = ConsistencyManager([0])
    run(manager, [EventName(9, 0, 0), EventName(4, 0, 1)], 1.0)
    assert manager.clock == 9
    assert manager.k_us == 0


def test_factor_counts_from_the_next_clock_event_on() -> None:
    manager = ConsistencyManager([0], FixedWait(10))
    run(manager, [EventName(20, 0, 0), EventName(15, 1, 0)], 1.0)
    manager.speculation = 0.0
    assert not manager.take(EventName(16, 1, 1))
    released = [each.event.time for each in manager.take(EventName(21, 0, 1))]
    assert released == [15, 16, 20, 21]
