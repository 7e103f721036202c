"""The published experiments with the two queries, as far as their numbers are known, and facts around them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # what is shared lies beside this file
import pytest
from published_queries import make_q1, make_q2, run_local, run_networked
from second_opinion import SecondOpinion

from cepheid.simulation.clock import ticks_of
from cepheid.simulation.layout import lay_out
from cepheid.simulation.outcome import Minute
from cepheid.simulation.reference.engine import ReferenceEngine
from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.placement import Member
from cepheid.simulation.reference.slices import Slice
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.simulate import simulate

ENGINES = ("reference", "compiled")


def run_minutes(scenario: Scenario, engine: str) -> dict[int, Minute]:
    (consumer,) = simulate(scenario, engine).consumers()
    return {minute.minute: minute for minute in consumer.minutes}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("tick_s", "latency_ms"), [(0.01, 10078.43), (0.1, 10140.53), (1.0, 10415.02)])
def test_latency_of_q1_is_the_published_one(engine: str, tick_s: float, latency_ms: float) -> None:
    minutes = run_minutes(run_local(make_q1(10_000.0), tick_s=tick_s), engine)
    assert [minutes[number].latency_ms for number in range(1, 5)] == pytest.approx([latency_ms] * 4, abs=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_minute_holds_four_windows_and_the_first_one_three(engine: str) -> None:
    minutes = run_minutes(run_local(make_q1(10_000.0)), engine)
    assert minutes[0].throughput_per_s == pytest.approx(7500.0, rel=0.01)
    assert [minutes[number].throughput_per_s for number in range(1, 5)] == pytest.approx([10_000.0] * 4)
    assert minutes[5].throughput_per_s < 1000.0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("tick_s", "most"), [(0.1, 20_480.0), (1.0, 2048.0)])
def test_a_queue_takes_in_no_more_than_its_length_in_a_tick(engine: str, tick_s: float, most: float) -> None:
    for query in (make_q1(22_500.0), make_q2(22_500.0)):
        minutes = run_minutes(run_local(query, tick_s=tick_s, duration_s=121.0), engine)
        assert minutes[1].throughput_per_s == pytest.approx(most, rel=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("query", "most"), [(make_q1(25_000.0), 21_782.0), (make_q2(25_000.0), 21_923.0)])
def test_with_iterations_processors_are_the_limit(engine: str, query: object, most: float) -> None:
    minutes = run_minutes(run_local(query, iterations=10, duration_s=121.0), engine)
    assert minutes[1].throughput_per_s == pytest.approx(most, abs=3.0)


@pytest.mark.parametrize(
    ("rate", "allocation", "runs"),
    [(100.0, "uniform", 9147), (10_000.0, "uniform", 17_914), (10_000.0, "weighted", 403_918)],
)
def test_vertices_run_as_often_as_in_cepsim(rate: float, allocation: str, runs: int) -> None:
    scenario = run_local(make_q1(rate), allocation=allocation)
    ticks = list(ticks_of(scenario.duration_s, scenario.tick_s))
    engine = CountingEngine(scenario, lay_out(scenario), ticks)
    engine.run(0, len(ticks))
    assert engine.runs == runs


class CountingEngine(ReferenceEngine):
    runs = 0

    def _observe(self, member: Member, events: EventSet, piece: Slice) -> None:
        self.runs += 1
        super()._observe(member, events, piece)


def test_a_second_processor_that_is_not_asked_for_changes_nothing() -> None:
    scenario = run_networked(10_000.0, tick_s=0.1, duration_s=61.0)
    outcome = simulate(scenario, "reference")
    assert outcome.layout.capacity == pytest.approx([2500.0, 2500.0])


def test_networked_q1_begins_with_its_end() -> None:
    layout = lay_out(run_networked(32_500.0))
    names = [[layout.instances[vertex].name for vertex in order] for order in layout.order]
    assert names == [["end", "spout", "outlierDetector", "average"], ["db"]]


@pytest.mark.parametrize("scheduler", ["simple", "dynamic"])
@pytest.mark.parametrize("allocation", ["uniform", "weighted"])
@pytest.mark.parametrize("rate", [100.0, 10_000.0, 22_500.0, 32_500.0])
def test_a_second_opinion_on_q1(scheduler: str, allocation: str, rate: float) -> None:
    settings = {"scheduler": scheduler, "allocation": allocation, "duration_s": 61.0, "tick_s": 0.1}
    for scenario in (run_local(make_q1(rate), **settings), run_networked(rate, **settings)):
        assert_same_opinion(scenario)


@pytest.mark.parametrize("rate", [100.0, 20_000.0, 25_000.0])
@pytest.mark.parametrize(("cloudlet_pes", "iterations", "copies"), [(2, 1, 1), (1, 10, 1), (2, 2, 1), (1, 1, 11)])
def test_a_second_opinion_on_q2(rate: float, cloudlet_pes: int, iterations: int, copies: int) -> None:
    query = make_q2(rate / copies, copies=copies)
    assert_same_opinion(run_local(query, cloudlet_pes=cloudlet_pes, iterations=iterations, duration_s=21.0))


def assert_same_opinion(scenario: Scenario) -> None:
    opinion = SecondOpinion(scenario).run()
    outcome = simulate(scenario, "reference", merges_equal=False)
    for consumer, node in zip(outcome.consumers(), opinion.consumers(), strict=True):
        told = {minute.minute: (minute.latency_ms, minute.throughput_per_s) for minute in consumer.minutes}
        expected = opinion.minutes(node)
        assert told.keys() == expected.keys()
        for minute, figures in told.items():
            assert figures == pytest.approx(expected[minute], rel=1e-7, abs=1e-9), f"minute {minute}"
