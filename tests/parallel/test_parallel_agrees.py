"""Whatever the order of arrival, the cut, the instances and the delays between them: the net output is that of the
windows over the sorted events."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.disorder.consistency_manager import ConsistencyManager, EventName
from cepheid.execution.parallel.checkpoints.adaptive import Adaptive
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.checkpoints.every_speculative import EverySpeculative
from cepheid.execution.parallel.events import Event, read_release
from cepheid.execution.parallel.instance import OperatorInstance
from cepheid.execution.parallel.operators.sequence import SequenceOperator
from cepheid.execution.parallel.predicates.between import BetweenPredicate
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.predicates.time import TimePredicate
from cepheid.execution.parallel.schedulers.least_loaded import LeastLoaded
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.splitter import Splitter
from cepheid.execution.parallel.strategies import STRATEGIES

sys.path.extend([str(Path(__file__).parent), str(Path(__file__).parent.parent / "property")])
from case_counts import some
from feeder import Feeder, feed_all
from in_process import Workshop, net
from reference import SpanOperator, find_matches


class CountedMarks:
    """A predicate of a user: every second "b" opens, the third event since an "a" closes."""

    includes_end = True

    class Data:
        def __init__(self, marks: int = 0, since: int = 0) -> None:
            self.marks, self.since = marks, since

        def clone(self) -> CountedMarks.Data:
            return CountedMarks.Data(self.marks, self.since)

    def begin(self) -> Data:
        return self.Data()

    def opens(self, event: Event, data: Data) -> bool:
        data.marks += event.data == "b"
        data.since = 0 if event.data == "a" else data.since + 1
        return event.data == "b" and data.marks % 2 == 1

    def closes(self, event: Event, window: object, data: Data) -> bool:  # noqa: ARG002
        return data.since >= 3


class InARow:
    """Another: a window ends with a "b" right behind an "a", which a late event can part again."""

    includes_end = False

    class Last:
        def __init__(self, sort: str = "") -> None:
            self.sort, self.before = sort, ""

        def clone(self) -> InARow.Last:
            return InARow.Last(self.sort)

    def begin(self) -> Last:
        return self.Last()

    def opens(self, event: Event, data: Last) -> bool:
        data.before, data.sort = data.sort, event.data
        return data.before == data.sort

    def closes(self, event: Event, window: object, data: Last) -> bool:  # noqa: ARG002
        return data.before == "a" and event.data == "b"


class Ownership:
    """A scheduler of a user, with a state of its own."""

    def __init__(self, seen: int = 0) -> None:
        self.seen = seen

    def choose(self, first: EventName, loads: list[int]) -> int:
        self.seen += 1
        return (first.source + self.seen // 3) % len(loads)

    def clone(self) -> Ownership:
        return Ownership(self.seen)


class Now:
    """A clock that is moved by a random hand."""

    def __init__(self, random: Random) -> None:
        self.time, self.random = 0.0, random

    def __call__(self) -> float:
        self.time += self.random.random()
        return self.time


def draw_events(random: Random, count: int) -> list[Event]:
    """Events of several sources in the order of arrival; sometimes many have one time."""
    sources, apart, late = random.randint(1, 4), random.choice([0, 1, 3]), random.choice([0, 2, 10, 30])
    time, numbers, events = 0, [0] * sources, []
    for _ in range(count):
        time += random.randint(0, apart)
        source = random.randrange(sources)
        event = Event(EventName(time, source, numbers[source]), random.choice("abc"))
        numbers[source] += 1
        delay = random.randint(0, late) if random.random() < random.choice([0.1, 0.5]) else 0
        events.append((time + delay, event))
    events.sort(key=lambda each: each[0])
    return [event for _, event in events]


def draw_predicate(random: Random) -> Predicate:
    return random.choice(
        [
            CountPredicate(random.randint(1, 9), random.randint(1, 6)),
            CountPredicate(random.randint(5, 9), random.randint(2, 3)),
            TimePredicate(random.randint(1, 9), random.randint(1, 6)),
            BetweenPredicate(lambda event: event.data == "a", lambda event: event.data == "b"),
            BetweenPredicate(lambda event: event.time % 5 == 0, lambda event: event.time % 3 == 0),
            CountedMarks(),
            InARow(),
        ]
    )


def draw_model(random: Random):
    return random.choice([EveryEvents(random.randint(1, 12)), EverySpeculative(random.randint(1, 4)), Adaptive()])


def run_case(seed: int, strategy: str = "open box", longest: int = 60, **more: object) -> None:
    random = Random(seed)
    events = draw_events(random, random.randint(1, longest))
    predicate = draw_predicate(random)
    operator = random.choice([SpanOperator(), SequenceOperator("abc", lambda event: event.data)])
    latest = 1 if strategy == "black box" else 0  # of events at clock - K it has no state any more
    newest = events[0].time
    for event in events:
        newest = max(newest, event.time)
        latest = max(latest, newest - event.time + (strategy == "black box"))
    factors = random.choice([[0], [0.5], [1]] if strategy == "black box" else [[0], [0.5], [1], [0, 1], [0, 0.5, 1]])
    feeder = Feeder(lambda: random.choice(factors), random.choice([latest, latest, latest + 5, None]))
    count = random.randint(1, 8)
    scheduler = random.choice([RoundRobin(), LeastLoaded(), Ownership()])
    splitter = STRATEGIES[strategy].splitter(predicate, count, scheduler, draw_model(random), Now(random))
    instances = [
        STRATEGIES[strategy].instance(operator, draw_model(random), predicate.includes_end, Now(random), **more)
        for _ in range(count)
    ]
    workshop = Workshop(splitter, instances, random)
    workshop.run(feed_all(feeder, events))
    kept = [event for event in events if event not in workshop.dropped]
    assert net(workshop.changes) == find_matches(kept, predicate, operator)
    assert not any(instance._early or instance.is_waiting for instance in instances)
    if not feeder._grows:
        assert not workshop.dropped, "K covers all that comes late"


@settings(max_examples=some(600))
@given(st.integers(0, 2**32))
def test_net_output_is_the_answer_of_the_sorted_events(seed: int) -> None:
    run_case(seed)


@pytest.mark.parametrize("until_known", [False, True])
@settings(max_examples=some(100))
@given(seed=st.integers(0, 2**32))
def test_a_consistency_manager_in_front_changes_nothing(seed: int, until_known: bool) -> None:
    """K grows from 0: what came before it had grown may be too late, unless nothing is settled until K is known."""
    random = Random(seed)
    events, predicate, operator = draw_events(random, 60), draw_predicate(random), SpanOperator()
    manager = ConsistencyManager({0}, until_known=until_known)
    data = {event.name: event.data for event in events}
    arrivals = []
    for event in events:
        manager.speculation = random.choice([0, 0.5, 1])
        arrivals += [read_release(each, data[each.event]) for each in manager.take(event.name)]
    arrivals += [read_release(each, data[each.event]) for each in manager.finish()]
    splitter = Splitter(predicate, 3, RoundRobin(), draw_model(random), Now(random))
    instances = [OperatorInstance(operator, draw_model(random), predicate.includes_end, Now(random)) for _ in range(3)]
    workshop = Workshop(splitter, instances, random)
    workshop.run(arrivals)
    kept = [event for event in events if event not in workshop.dropped]
    assert net(workshop.changes) == find_matches(kept, predicate, operator)


@pytest.mark.parametrize("sends_states", [False, True])
@settings(max_examples=some(300))
@given(seed=st.integers(0, 2**32))
def test_the_black_box_agrees_as_well(seed: int, sends_states: bool) -> None:
    run_case(seed, "black box", sends_states=sends_states)
