"""What the goldens of the figures and the property test cannot say: one claim each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput
from cepheid.execution.parallel.checkpoints.adaptive import Adaptive
from cepheid.execution.parallel.checkpoints.checkpoint_model import MOST_EVENTS, Progress
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.checkpoints.every_speculative import EverySpeculative
from cepheid.execution.parallel.checkpoints.kinds import CHECKPOINT_MODELS
from cepheid.execution.parallel.events import UNKNOWN_SLACK, Arrival, Event
from cepheid.execution.parallel.instance import OperatorInstance
from cepheid.execution.parallel.merger import Merger, name_match
from cepheid.execution.parallel.messages import Add, Envelope, Finding, Match, OpenWindow, SendEvent
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.predicates.kinds import PREDICATES
from cepheid.execution.parallel.schedulers.kinds import SCHEDULERS
from cepheid.execution.parallel.schedulers.least_loaded import LeastLoaded
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.splitter import Splitter

sys.path.append(str(Path(__file__).parent))
from reference import SpanOperator

FOLDER = Path(sys.modules["cepheid.execution.parallel.splitter"].__file__ or "").parent


def event(time: int, source: int = 0, number: int = 0) -> Event:
    return Event(EventName(time, source, number), "a")


def arrival(time: int, clock: int, slack: int, source: int = 0) -> Arrival:
    return Arrival(event(time, source), clock, slack)


def match(*times: int, value: object = None) -> Match:
    return Match(tuple(EventName(time, 0, 0) for time in times), value)


def drain(splitter: Splitter) -> list:
    sent = []
    while (step := splitter.step()) is not None:
        sent += step
    return sent


# --- splitter ---------------------------------------------------------------------------------------------


def test_an_event_is_sent_once_to_an_instance_with_several_of_its_windows() -> None:
    splitter = Splitter(CountPredicate(4, 1), 2, RoundRobin(), EveryEvents(50))
    for time in range(20):
        splitter.receive(arrival(time, time, 0))
    sent = [(to, each.message.event.name) for to, each in drain(splitter) if isinstance(each.message, SendEvent)]
    assert len(sent) == len(set(sent)) == 20 + 19, "each event is in windows of both, but the first in one only"


def test_one_state_is_kept_when_all_is_deterministic() -> None:
    splitter = Splitter(CountPredicate(4, 4), 1, RoundRobin(), EveryEvents(5))
    for time in range(100):
        splitter.receive(arrival(time, time + 50, 0))
        drain(splitter)
    assert len(splitter.states) == 1
    assert len(splitter.events) <= 10, "what is behind the state is forgotten"
    splitter.receive(arrival(98, 200, 0, source=1))
    assert (splitter.recoveries, splitter.too_late) == (1, 0)


def test_an_event_behind_the_last_state_is_told_as_too_late() -> None:
    splitter = Splitter(CountPredicate(4, 4), 1, RoundRobin(), EveryEvents(5))
    for time in range(100):
        splitter.receive(arrival(time, time + 50, 0))
        drain(splitter)
    assert splitter.receive(arrival(3, 200, 0, source=1)) == []
    assert [each.time for each in splitter.take_late()] == [3]
    assert splitter.take_late() == []
    assert splitter.too_late == 1


def test_events_held_back_by_a_rising_factor_are_not_too_late() -> None:
    """12 went ahead with a factor of 0; 8 and 9 were then held back for K = 10 and leave when the clock is 20.  When 8
    says so, everything before 10 seems to be settled, and 9 is still to come."""
    splitter = Splitter(CountPredicate(4, 4), 1, RoundRobin(), EveryEvents(1))
    for time, source in ((1, 0), (9, 2), (11, 0)):
        splitter.receive(arrival(time, time, 10, source))
        drain(splitter)
    splitter.receive(arrival(12, 12, 10))
    splitter.receive(arrival(8, 20, 10, source=1))
    drain(splitter)
    splitter.receive(arrival(9, 20, 10, source=1))
    assert (splitter.recoveries, splitter.too_late) == (2, 0)


def test_nothing_is_settled_before_k_is_known() -> None:
    splitter = Splitter(CountPredicate(4, 4), 1, RoundRobin(), EveryEvents(5))
    for time in range(100):
        splitter.receive(arrival(time, time, UNKNOWN_SLACK))
        drain(splitter)
    splitter.receive(arrival(2, 99, 97, source=1))
    assert (splitter.recoveries, splitter.too_late) == (1, 0)


def test_an_identity_comes_once() -> None:
    splitter = Splitter(CountPredicate(4, 4), 1, RoundRobin(), EveryEvents(5))
    splitter.receive(arrival(1, 1, 0))
    with pytest.raises(InvalidInput, match="twice"):
        splitter.receive(arrival(1, 1, 0))


def test_round_robin_stands_after_a_replay_where_it_would_stand_without_one() -> None:
    def owners(times: list[int]) -> int:
        splitter = Splitter(CountPredicate(2, 2), 3, RoundRobin(), EveryEvents(1))
        for time in times:
            splitter.receive(arrival(time, max(times), 10))
            drain(splitter)
        return splitter.state.scheduler.next_instance  # type: ignore[attr-defined]

    assert owners([1, 2, 3, 5, 6, 4]) == owners([1, 2, 3, 4, 5, 6])


def test_a_scheduler_that_names_nobody_is_told() -> None:
    class Nobody:
        def choose(self, first: EventName, loads: list[int]) -> int:  # noqa: ARG002
            return 7

        def clone(self) -> Nobody:
            return self

    splitter = Splitter(CountPredicate(2, 2), 3, Nobody(), EveryEvents(1))
    splitter.receive(arrival(1, 1, 0))
    with pytest.raises(InvalidInput, match="instance 7 of 3"):
        splitter.step()


def test_least_loaded_follows_what_was_handled() -> None:
    assert LeastLoaded().choose(event(1).name, [3, 1, 2]) == 1
    splitter = Splitter(CountPredicate(1, 1), 2, LeastLoaded(), EveryEvents(1))
    for time in range(3):
        splitter.receive(arrival(time, time, 0))
    assert {to for to, _ in splitter.step() or []} == {0}
    assert {to for to, _ in splitter.step() or []} == {1}
    splitter.hear(1, 3)
    assert {to for to, _ in splitter.step() or []} == {1}


# --- instance ---------------------------------------------------------------------------------------------


def test_an_instance_that_lives_long_keeps_little() -> None:
    splitter = Splitter(CountPredicate(10, 5), 2, RoundRobin(), EveryEvents(10))
    instances = [OperatorInstance(SpanOperator(), EveryEvents(10), True) for _ in range(2)]
    for time in range(2_000):
        sent = [*splitter.receive(arrival(time, time, 5)), *drain(splitter)]
        if time % 7 == 0:
            sent += splitter.receive(arrival(time - 3, time, 5, source=1))
        for to, envelope in sent:
            instances[to].receive(envelope)
        for instance in instances:
            while instance.take() is not None or instance.work() is not None:
                pass
    for instance in instances:
        assert len(instance.events) < 60
        assert len(instance.windows) < 20
        assert len(instance._states) < 20
        assert not instance._deleted
        assert not instance._early
    assert len(splitter.closed) < 20
    assert splitter.recoveries == 286


def test_nothing_is_dropped_between_a_late_event_and_its_end() -> None:
    instance = OperatorInstance(SpanOperator(), EveryEvents(1), True)
    first = event(1).name
    instance.receive(Envelope(0, False, first, OpenWindow(0, first)))
    for turn, time in enumerate(range(1, 9), 1):
        instance.receive(Envelope(turn, False, first, SendEvent(event(time))))
    while instance.take() is not None or instance.work() is not None:
        pass
    instance.receive(Envelope(20, True, first, SendEvent(event(5, source=1), late=True)))
    instance.take()
    while instance.work() is not None:
        pass
    kept = len(instance.events)
    instance.receive(Envelope(22, False, event(8).name, SendEvent(event(9))))
    instance.take()
    assert instance.is_waiting
    assert len(instance.events) == kept + 1


def test_a_message_that_overtakes_its_window_is_kept_for_it() -> None:
    instance = OperatorInstance(SpanOperator(), EveryEvents(1), True)
    instance.receive(Envelope(0, False, event(0).name, OpenWindow(0, event(5).name)))
    instance.receive(Envelope(1, True, event(0).name, Add(0, event(4).name)))
    instance.take()
    assert len(instance.windows) == 0
    instance.take()
    assert instance.windows[0].first == event(4).name


# --- merger -----------------------------------------------------------------------------------------------


def test_a_match_of_two_windows_is_there_until_neither_has_it() -> None:
    merger = Merger()
    merger.take([Finding(match(1, 2)), Finding(match(1, 2))])
    assert [change.retracted for change in merger.release()] == [False]
    merger.take([Finding(match(1, 2), retracted=True)])
    assert merger.release() == []
    merger.take([Finding(match(1, 2), retracted=True)])
    assert [(change.retracted, change.version) for change in merger.release()] == [(True, 2)]


def test_matches_leave_in_order_and_wait_for_others() -> None:
    merger = Merger()
    merger.take([Finding(match(1, 9)), Finding(match(2, 4)), Finding(match(1, 4))])
    assert [change.match for change in merger.release(EventName(5, 0, 0))] == [match(1, 4), match(2, 4)]
    assert [change.match for change in merger.release()] == [match(1, 9)]


def test_a_value_that_changes_is_a_retract_and_an_insert_of_one_id() -> None:
    merger = Merger()
    merger.take([Finding(match(1, 2, value=3))])
    (first,) = merger.release()
    merger.take([Finding(match(1, 2, value=4)), Finding(match(1, 2, value=3), retracted=True)])
    gone, new = merger.release()
    assert (gone.retracted, gone.version, new.retracted, new.version) == (True, 2, False, 3)
    assert first.id == gone.id == new.id == name_match(match(1, 2).events)


def test_what_cancels_out_is_never_said() -> None:
    merger = Merger()
    merger.take([Finding(match(1, 2)), Finding(match(1, 2), retracted=True)])
    assert merger.release() == []
    assert len(merger) == 0


def test_old_matches_are_forgotten() -> None:
    merger = Merger()
    merger.take([Finding(match(1, 2)), Finding(match(3, 9))])
    merger.release()
    merger.forget(EventName(5, 0, 0))
    assert len(merger) == 1


def test_a_match_has_events() -> None:
    with pytest.raises(InvalidInput, match="no events"):
        Match(())


# --- checkpoint models ------------------------------------------------------------------------------------


def test_every_speculative_event_has_a_checkpoint_in_front_and_memory_is_bounded() -> None:
    model, progress = EverySpeculative(2), Progress()
    assert not model.is_due(progress, is_speculative=True)
    progress.count(is_speculative=True)
    assert not model.is_due(progress, is_speculative=False)
    assert model.is_due(progress, is_speculative=True)
    assert EverySpeculative(1).is_due(Progress(), is_speculative=True)
    assert model.is_due(Progress(events=MOST_EVENTS), is_speculative=False)


def test_adaptive_model_weighs_doing_again_against_saving() -> None:
    progress = Progress()
    progress.learn_save(1.0)
    progress.learn_process(0.3)
    progress.learn_process(0.1)
    due = []
    for _ in range(7):
        due.append(Adaptive().is_due(progress, is_speculative=False))
        progress.count(is_speculative=False)
    assert due == [False] * 6 + [True], "0.2 s each: more than 1 s from the sixth on"


@pytest.mark.parametrize(
    ("folder", "listed", "contract"),
    [
        ("predicates", PREDICATES, "predicate"),
        ("schedulers", SCHEDULERS, "scheduler"),
        ("checkpoints", CHECKPOINT_MODELS, "checkpoint_model"),
    ],
)
def test_every_file_of_a_kind_is_in_its_list(folder: str, listed: dict, contract: str) -> None:
    files = {path.stem for path in (FOLDER / folder).glob("*.py")} - {"__init__", "kinds", contract}
    assert {kind.__module__.rpartition(".")[2] for kind in listed.values()} == files
