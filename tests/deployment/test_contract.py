"""What every deployment keeps to, be it live or simulated: the same suite for each in cases.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

sys.path.append(str(Path(__file__).parent))  # the cases lie beside it
import pytest
from cases import CASES, Case

import cepheid as cep
from cepheid.deployment import Action, Deployment
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet
from cepheid.measurement import Observation, QueryMeasurement


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return CASES[request.param](tmp_path)


class Recorder:
    """Passes everything on, and writes down what was applied when."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.applied: list[tuple[float, Action]] = []

    @property
    def now_s(self) -> float:
        return self.deployment.now_s

    def observe(self) -> Observation:
        return self.deployment.observe()

    def apply(self, action: Action) -> None:
        self.deployment.apply(action)
        self.applied.append((self.now_s, action))


def watch(case: Case, seconds: float = 3.0) -> dict[str, QueryMeasurement]:
    """What each query does, seen for a while."""
    case.deployment.observe()
    case.advance_to(case.deployment.now_s + seconds)
    found = case.deployment.observe().queries
    assert len({each.query for each in found}) == len(found), "each query is told once"
    return {each.query: each for each in found}


def is_working(seen: dict[str, QueryMeasurement], query: str) -> bool:
    return query in seen and seen[query].throughput_per_s > 0.0


def test_its_clock_goes_to_where_it_is_asked_to(case: Case) -> None:
    before = case.deployment.now_s
    case.advance_to(before + 2.0)
    assert before + 2.0 <= case.deployment.now_s < before + 3.0


def test_observations_follow_each_other_without_a_gap(case: Case) -> None:
    case.advance_to(2.0)
    first = case.deployment.observe()
    case.advance_to(5.0)
    second = case.deployment.observe()
    assert (first.at_s, second.at_s) == (second.since_s, case.deployment.now_s)
    assert {each.query for each in second.vertices} == {"first"}


def test_a_deployed_query_runs_beside_the_others(case: Case) -> None:
    before = watch(case)
    case.deployment.apply(cep.Deploy(name="second", query=case.second))
    after = watch(case)
    assert list(before) == ["first"]
    assert list(after) == ["first", "second"]
    assert is_working(after, "first")
    assert is_working(after, "second")
    assert after["first"].throughput_per_s == pytest.approx(before["first"].throughput_per_s, rel=0.5)


def test_a_retired_query_stops_and_the_others_go_on(case: Case) -> None:
    case.deployment.apply(cep.Deploy(name="second", query=case.second))
    case.advance_to(5.0)
    case.deployment.apply(cep.Retire(name="first"))
    after = watch(case)
    assert not is_working(after, "first")
    assert is_working(after, "second")


def test_a_retired_query_may_come_back(case: Case) -> None:
    case.deployment.apply(cep.Deploy(name="second", query=case.second))
    case.advance_to(3.0)
    case.deployment.apply(cep.Retire(name="second"))
    case.advance_to(6.0)
    case.deployment.apply(cep.Deploy(name="second", query=case.second))
    assert is_working(watch(case), "second")


def test_an_altered_query_goes_on_under_its_name(case: Case) -> None:
    case.deployment.apply(cep.Deploy(name="second", query=case.second))
    case.advance_to(4.0)
    before = {each.vertex for each in case.deployment.observe().vertices if each.query == "first"}
    case.deployment.apply(cep.Alter(name="first", query=case.changed))
    after = watch(case)
    vertices = {each.vertex for each in case.deployment.observe().vertices if each.query == "first"}
    assert list(after) == ["first", "second"]
    assert is_working(after, "first")
    assert is_working(after, "second")
    assert vertices != before
    assert vertices & before, "some of it is the same"


def test_names_that_are_taken_or_unknown_are_refused_and_nothing_changes(case: Case) -> None:
    before = case.deployment.observe()
    wrong = [
        cep.Deploy(name="first", query=case.second),
        cep.Deploy(name="nobody"),
        cep.Alter(name="frist", query=case.changed),
        cep.Retire(name="frist"),
    ]
    for action in wrong:
        with pytest.raises(InvalidInput, match=r"first|frist|nobody") as told:
            case.deployment.apply(action)
        assert told.value.hint
    assert [each.query for each in case.deployment.observe().queries] == [each.query for each in before.queries]
    assert list(watch(case)) == ["first"]


def test_the_examples_are_of_every_kind(case: Case) -> None:
    assert {type(action) for action in case.examples()} == set(get_args(Action))


def test_every_kind_of_action_is_carried_out_or_is_a_declared_gap(case: Case) -> None:
    for action in case.examples():
        if type(action) in case.refuses:
            with pytest.raises(NotSupportedYet) as told:
                case.deployment.apply(action)
            assert told.value.hint
        else:
            case.deployment.apply(action)
        case.advance_to(case.deployment.now_s + 1.0)
    assert is_working(watch(case), "first")


def test_a_list_of_timed_actions_is_applied_in_order_and_in_time(case: Case) -> None:
    actions = [action for action in case.examples() if type(action) not in case.refuses]
    timed = [cep.TimedAction(1.5 * (1 + number // 2), action) for number, action in enumerate(actions)]
    recorder = Recorder(case.deployment)
    applied = cep.replay([*timed[4:], *timed[:4]], recorder, case.advance_to)  # those of one time stay in order
    assert [action for _, action in recorder.applied] == actions
    assert [(each.at_s, each.action) for each in applied] == recorder.applied
    for (at_s, _), asked in zip(recorder.applied, timed, strict=True):
        assert asked.at_s <= at_s < asked.at_s + 0.5


def test_what_comes_after_its_end_is_told(case: Case) -> None:
    late = cep.TimedAction(1e6, cep.Retire(name="first"))
    with pytest.raises(CepheidError, match="ended at"):
        cep.replay([late], case.deployment, lambda _: None)
