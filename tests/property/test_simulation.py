"""A simulation has one outcome, whoever computes it."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "simulation"))  # the random scenarios lie with their tests
import numpy as np
import pytest
from random_scenarios import double, make_scenario
from second_opinion import SecondOpinion

from cepheid.simulation.clock import iteration_edges
from cepheid.simulation.run import EngineName, SimulationRun
from cepheid.simulation.scenario import Fidelity
from cepheid.simulation.simulate import play, simulate
from cepheid.simulation.tally import Tally

CASES = 40


def differing_fields(one: Tally, other: Tally) -> list[str]:
    """Bit by bit: no tolerance."""
    return [
        field.name
        for field in fields(Tally)
        if not np.array_equal(np.asarray(getattr(one, field.name)), np.asarray(getattr(other, field.name)))
    ]


@pytest.mark.parametrize("fidelity", ["cepsim", "corrected"])
def test_both_engines_agree_to_the_bit(fidelity: Fidelity) -> None:
    found: Counter[str] = Counter()
    wrong = []
    for seed in range(CASES):
        scenario = make_scenario(seed, fidelity, ticks=40)
        reference = simulate(scenario, "reference", merges_equal=False).tally
        compiled = simulate(scenario, "compiled", merges_equal=False).tally
        differences = differing_fields(reference, compiled)
        if differences:
            wrong.append((seed, differences))
        utilisation = reference.used.sum() / reference.offered.sum()
        found["idle" if utilisation < 0.3 else "full" if utilisation > 0.95 else "busy"] += 1
        found["consumed"] += bool(reference.consumed.any())
        found["waited"] += bool(reference.waiting.any())
        found["sent"] += bool(reference.sent.any())
        found["dropped"] += bool(reference.dropped.any())
    assert not wrong, f"seeds of {fidelity} scenarios, and what differs: {wrong}"
    assert found["consumed"] > 0.7 * CASES, "most scenarios come to something"
    assert all(found[kind] > CASES // 10 for kind in ("idle", "busy", "full", "waited", "sent", "dropped")), found


def test_a_second_opinion_agrees_with_the_reference() -> None:
    """Another writing of CEPSim's rules, with sums in another order: equal but for rounding."""
    wrong: list[tuple[object, ...]] = []
    for seed in range(1000, 1000 + CASES):
        scenario = make_scenario(seed, ticks=40, only_uniform=True)
        opinion = SecondOpinion(scenario).run()
        outcome = simulate(scenario, "reference", merges_equal=False)
        for consumer, node in zip(outcome.consumers(), opinion.consumers(), strict=True):
            told = {minute.minute: (minute.latency_ms, minute.throughput_per_s) for minute in consumer.minutes}
            expected = opinion.minutes(node)
            if told.keys() != expected.keys() or any(
                told[minute] != pytest.approx(expected[minute], rel=1e-7, abs=1e-9) for minute in told
            ):
                wrong.append((seed, node.id, told, expected))
        for vertex, node in zip(outcome.vertices(), opinion.nodes.values(), strict=True):
            if vertex.processed != pytest.approx(node.processed, rel=1e-7, abs=1e-7):
                wrong.append((seed, node.id, vertex.processed, node.processed))
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("fidelity", ["cepsim", "corrected"])
def test_machines_that_are_simulated_once_for_all_come_out_as_if_each_was(fidelity: Fidelity) -> None:
    merged = 0
    for seed in range(2000, 2000 + CASES // 2):
        scenario = double(make_scenario(seed, fidelity, ticks=20))
        apart = simulate(scenario, "reference", merges_equal=False)
        together = simulate(scenario, "reference", merges_equal=True)
        assert differing_fields(apart.tally, together.tally) == [], f"seed {seed}"
        merged += together.ran < apart.ran
    assert merged > CASES // 8, "some of them were merged"


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_every_event_that_came_was_taken_in_waits_or_is_counted_as_dropped(engine: EngineName) -> None:
    found: Counter[str] = Counter()
    for seed in range(2000, 2000 + CASES):
        scenario = replace(make_scenario(seed, "corrected", ticks=40), actions=(), failures=())
        if seed % 2:
            queries = [
                replace(query, vertices=tuple(replace(v, sheds=v.kind == "producer") for v in query.vertices))
                for query in scenario.queries
            ]
            scenario = replace(scenario, queries=tuple(queries))
        run = SimulationRun(scenario, engine)
        play(run)
        layout, tally, waiting = run.layout, run.engine.tally, run.engine.waiting()
        for vertex in layout.producers():
            place = int(layout.placement[vertex])
            edges = iteration_edges(run.ticks, scenario, float(layout.capacity[place]), int(layout.pes[place]))
            came = float(layout.arrivals(vertex).amounts(edges, layout.instances[vertex].copy).sum())
            kept = tally.processed[vertex].sum() + waiting[vertex] + tally.dropped[vertex]
            assert kept == pytest.approx(came, rel=1e-9, abs=1.001), (seed, layout.instances[vertex].name)
            found["waiting"] += bool(waiting[vertex])
            found["dropped"] += bool(tally.dropped[vertex])
            found["all"] += 1
    assert found["waiting"] > 10, found
    assert found["dropped"] > 3, found
