"""Fidelity "corrected": what must hold whatever the numbers are, and each thing that CEPSim does otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cepheid.deployment import AddMachine, Deploy, Move, RemoveMachine, Retire, Scale, TimedAction
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.scenario import (
    Failure,
    Link,
    MicroBatch,
    Query,
    Scenario,
    ScenarioEdge,
    ScenarioVertex,
    Vm,
)
from cepheid.simulation.simulate import simulate

ENGINES = ("reference", "compiled")


def chain(name: str = "q", rate: float = 1000.0, ipe: float = 100_000.0, vm: str = "vm1", **fields: object) -> Query:
    """source -> work -> end; on a machine of 2500 MIPS, `work` handles 25,000 events/s at 100,000 instructions each."""
    vertices = (
        ScenarioVertex(id="source", kind="producer", ipe=1.0, arrivals=Uniform(rate)),
        ScenarioVertex(id="work", kind="operator", ipe=ipe, queue=1000.0),
        ScenarioVertex(id="end", kind="consumer", ipe=1.0, queue=1000.0),
    )
    edges = (ScenarioEdge("source", "work"), ScenarioEdge("work", "end"))
    query = Query(name=name, vertices=vertices, edges=edges, placement={v.id: vm for v in vertices})
    return replace(query, **fields)


def scenario(*queries: Query, **fields: object) -> Scenario:
    plain = Scenario(queries=queries, vms=(Vm(name="vm1"),), duration_s=60.0, fidelity="corrected")
    return replace(plain, **fields)


def throughput(outcome: Outcome, query: str = "q") -> float:
    return sum(each.throughput_per_s for each in outcome.consumers() if each.query == query)


def latency(outcome: Outcome, query: str = "q") -> float:
    return next(each.latency_ms for each in outcome.consumers() if each.query == query)


def waiting(outcome: Outcome, vertex: str) -> float:
    return next(each.most_waiting for each in outcome.vertices() if each.vertex == vertex)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("scheduler", ["dynamic", "micro_batch"])
@pytest.mark.parametrize("rate", [100.0, 20_000.0, 40_000.0])
def test_every_event_is_consumed_or_waits(engine: str, scheduler: str, rate: float) -> None:
    outcome = simulate(scenario(chain(rate=rate), scheduler=scheduler), engine)
    consumed = outcome.tally.consumed.sum()
    left = outcome.tally.processed[0].sum() - consumed
    assert consumed <= rate * 60.0
    assert left >= -1e-6
    if rate < 25_000.0:
        assert consumed == pytest.approx(rate * 59.9, rel=0.02)
    else:
        assert outcome.tally.processed[1].sum() == pytest.approx(25_000.0 * 60.0, rel=0.03)


def test_events_that_find_no_room_grow_older(engine: str) -> None:
    """40,000/s into 25,000/s: after a minute the queue outside is 900,000 long, and its events wait for 36 s."""
    outcome = simulate(scenario(chain(rate=40_000.0), duration_s=120.0), engine)
    minutes = next(outcome.consumers()).minutes
    assert minutes[0].latency_ms == pytest.approx(60_000.0 * 15 / 40 / 2, rel=0.05)
    assert minutes[1].latency_ms == pytest.approx(60_000.0 * 15 / 40 * 1.5, rel=0.05)
    as_published = simulate(scenario(chain(rate=40_000.0), fidelity="cepsim"), engine)
    assert latency(as_published) < 1000.0


def test_events_are_born_when_they_come(engine: str) -> None:
    """In the middle of the interval: half a tick of waiting more than CEPSim counts."""
    corrected, published = (
        simulate(scenario(chain(rate=1000.0), fidelity=fidelity), engine) for fidelity in ("corrected", "cepsim")
    )
    assert latency(corrected) - latency(published) == pytest.approx(50.0, abs=0.5)


def test_processors_work_at_the_same_time(engine: str) -> None:
    """Two queries that each need a whole processor."""
    queries = chain("a", rate=24_000.0), chain("b", rate=24_000.0)
    one = simulate(scenario(*queries), engine)
    two = simulate(scenario(*queries, vms=(Vm(name="vm1", pes=2),)), engine)
    assert throughput(one, "a") + throughput(one, "b") == pytest.approx(25_000.0, rel=0.02)
    assert throughput(two, "a") + throughput(two, "b") == pytest.approx(48_000.0, rel=0.02)


def test_a_vertex_is_on_one_processor_at_a_time(engine: str) -> None:
    outcome = simulate(scenario(chain(rate=60_000.0), vms=(Vm(name="vm1", pes=8),)), engine)
    assert throughput(outcome) == pytest.approx(25_000.0, rel=0.02)


def test_bounds_are_hard_also_over_the_network(engine: str) -> None:
    query = chain(rate=60_000.0, placement={"source": "vm1", "work": "vm2", "end": "vm2"})
    outcome = simulate(scenario(query, vms=(Vm(name="vm1"), Vm(name="vm2")), network_delay_s=0.5), engine)
    assert waiting(outcome, "work") <= 1000.0 + 1e-6
    assert throughput(outcome) <= 1000.0 / 0.5 * 1.01


def test_predecessors_here_and_elsewhere(engine: str) -> None:
    query = chain(rate=1000.0)
    far = ScenarioVertex(id="far", kind="producer", ipe=1.0, arrivals=Uniform(500.0))
    query = replace(
        query,
        vertices=(*query.vertices, far),
        edges=(*query.edges, ScenarioEdge("far", "work")),
        placement={**query.placement, "far": "vm2"},
    )
    plan = scenario(query, vms=(Vm(name="vm1"), Vm(name="vm2")))
    assert throughput(simulate(plan, engine)) == pytest.approx(1500.0, rel=0.02)
    assert throughput(simulate(replace(plan, fidelity="cepsim"), engine)) == 0.0


def test_messages_of_one_instant_are_kept(engine: str) -> None:
    """Two machines in step send to a third."""
    sources = [ScenarioVertex(id=f"s{n}", kind="producer", ipe=1.0, arrivals=Uniform(1000.0)) for n in (1, 2)]
    query = chain()
    query = replace(
        query,
        vertices=(*sources, *query.vertices[1:]),
        edges=(ScenarioEdge("s1", "work"), ScenarioEdge("s2", "work"), ScenarioEdge("work", "end")),
        placement={"s1": "vm1", "s2": "vm2", "work": "vm3", "end": "vm3"},
    )
    plan = scenario(query, vms=tuple(Vm(name=f"vm{n}") for n in (1, 2, 3)))
    assert throughput(simulate(plan, engine)) == pytest.approx(2000.0, rel=0.02)
    published = simulate(replace(plan, fidelity="cepsim", duration_s=61.0), engine)
    assert published.tally.dropped.sum() == pytest.approx(60_000.0, rel=0.02)


def test_windows_close_without_input(engine: str) -> None:
    """100 events in the first second, then none."""
    query = Query(
        name="q",
        vertices=(
            ScenarioVertex(id="source", kind="producer", ipe=1.0, arrivals=Burst(100.0)),
            ScenarioVertex(id="w", kind="window", ipe=1.0, window_s=10.0, advance_s=10.0, output=1.0),
            ScenarioVertex(id="end", kind="consumer", ipe=1000.0),
        ),
        edges=(ScenarioEdge("source", "w"), ScenarioEdge("w", "end")),
        placement=dict.fromkeys(("source", "w", "end"), "vm1"),
    )
    corrected = simulate(scenario(query), engine)
    assert corrected.tally.consumed.sum() == 1.0
    assert corrected.tally.origins.sum() == 100.0
    assert simulate(scenario(query, fidelity="cepsim"), engine).tally.consumed.sum() == 0.0


class Burst:
    """So many events in the first second."""

    def __init__(self, count: float) -> None:
        self.count = count

    def amounts(self, edges_ms: np.ndarray, copy: int) -> np.ndarray:
        del copy
        since = edges_ms - edges_ms[0]
        return np.diff(np.minimum(since, 1000.0)) / 1000.0 * self.count

    def scaled(self, factor: float) -> Burst:
        return Burst(self.count * factor)

    def mean_rate(self, duration_s: float) -> float:
        return self.count / duration_s


def test_a_shedding_producer_drops_and_counts(engine: str) -> None:
    query = chain(rate=40_000.0)
    source = replace(query.vertices[0], sheds=True)
    outcome = simulate(scenario(replace(query, vertices=(source, *query.vertices[1:]))), engine)
    assert outcome.tally.dropped[0] > 0.0
    assert outcome.tally.dropped[0] + outcome.tally.processed[0].sum() == pytest.approx(40_000.0 * 59.9, rel=0.001)
    assert latency(outcome) < 200.0


def test_links_take_one_message_after_the_other(engine: str) -> None:
    """1000 events/s of 1000 bytes are 8 Mbit/s: half of a link with 16, more than one with 4 can carry."""
    query = chain(placement={"source": "vm1", "work": "vm2", "end": "vm2"})
    query = replace(query, vertices=(replace(query.vertices[0], bytes=1000.0), *query.vertices[1:]))
    plan = scenario(query, vms=(Vm(name="vm1"), Vm(name="vm2")))
    wide, narrow = (
        simulate(replace(plan, links=(Link(source="vm1", target="vm2", latency_s=0.01, bandwidth_mbps=mbps),)), engine)
        for mbps in (16.0, 4.0)
    )
    assert throughput(wide) == pytest.approx(1000.0, rel=0.02)
    assert throughput(narrow) == pytest.approx(500.0, rel=0.05)


def test_micro_batches_wait_for_their_trigger(engine: str) -> None:
    """Half the interval, half a tick, the overhead and the work: 500 ms + 200 ms + 40 ms."""
    plan = scenario(chain(), scheduler="micro_batch", micro_batch=MicroBatch(interval_s=1.0, overhead_s=0.2))
    assert latency(simulate(plan, engine)) == pytest.approx(500.0 + 200.0 + 40.0, abs=60.0)


def test_micro_batches_share_all_processors(engine: str) -> None:
    plan = scenario(
        chain(rate=60_000.0),
        vms=(Vm(name="vm1", pes=4),),
        scheduler="micro_batch",
        micro_batch=MicroBatch(interval_s=1.0, overhead_s=0.1),
    )
    assert throughput(simulate(plan, engine)) == pytest.approx(60_000.0, rel=0.05)


def test_the_overhead_of_batches_costs_throughput(engine: str) -> None:
    """0.5 s of every second for 25,000/s of work at most, since batches begin at each second."""
    batch = MicroBatch(interval_s=1.0, overhead_s=0.5, max_events=12_500.0)
    plan = scenario(chain(rate=25_000.0), scheduler="micro_batch", micro_batch=batch)
    assert throughput(simulate(plan, engine)) == pytest.approx(12_500.0, rel=0.03)


def test_a_query_is_deployed_and_retired(engine: str) -> None:
    actions = (
        TimedAction(20.0, Deploy(name="q")),
        TimedAction(40.0, Retire(name="q")),
    )
    outcome = simulate(scenario(chain(), chain("other", rate=10.0), actions=actions), engine)
    assert outcome.tally.consumed[0].sum() == pytest.approx(20_000.0, rel=0.01)
    assert outcome.tally.consumed[1].sum() == pytest.approx(600.0, rel=0.01)


def test_a_moved_vertex_stands_still_and_loses_nothing(engine: str) -> None:
    actions = (TimedAction(30.0, Move(query="q", vertex="work", machine="vm2", pause_s=5.0)),)
    plan = scenario(chain(rate=1000.0), vms=(Vm(name="vm1"), Vm(name="vm2")), actions=actions)
    outcome = simulate(plan, engine)
    used = [sum(vm.utilisation) for vm in outcome.vms()]
    assert outcome.tally.consumed.sum() == pytest.approx(1000.0 * 60.0, rel=0.01)
    assert outcome.tally.dropped.sum() == 0.0
    assert waiting(outcome, "source") == pytest.approx(4000.0, rel=0.1)
    assert used[0] > 0.0
    assert used[1] > 0.0


def test_the_state_of_a_moved_vertex_travels(engine: str) -> None:
    query = chain(rate=1000.0)
    heavy = replace(query.vertices[1], state_bytes=1e7)  # 80 Mbit: 8 s on 10 Mbit/s
    plan = scenario(
        replace(query, vertices=(query.vertices[0], heavy, query.vertices[2])),
        vms=(Vm(name="vm1"), Vm(name="vm2")),
        links=(Link(source="vm1", target="vm2", latency_s=0.001, bandwidth_mbps=10.0),),
        actions=(TimedAction(30.0, Move(query="q", vertex="work", machine="vm2")),),
    )
    assert waiting(simulate(plan, engine), "source") == pytest.approx(7000.0, rel=0.1)


@pytest.mark.parametrize("loses", [True, False])
def test_a_failed_machine_stands_still_and_recovers(engine: str, loses: bool) -> None:
    failure = Failure(at_s=20.0, machine="vm1", for_s=10.0, loses=loses)
    outcome = simulate(scenario(chain(rate=26_000.0), failures=(failure,)), engine)
    assert outcome.tally.consumed.sum() == pytest.approx(25_000.0 * 50.0, rel=0.02)
    assert (outcome.tally.dropped.sum() > 0.0) == loses
    assert waiting(outcome, "source") > 250_000.0


def test_machines_come_and_go_and_are_paid_while_they_are_there(engine: str) -> None:
    actions = (
        TimedAction(15.0, AddMachine(name="vm2")),
        TimedAction(15.0, Move(query="q", machine="vm2")),
        TimedAction(45.0, RemoveMachine(name="vm2")),
    )
    vms = Vm(name="vm1", price_per_hour=60.0), Vm(name="vm2", price_per_hour=60.0)
    outcome = simulate(scenario(chain(), vms=vms, actions=actions), engine)
    assert [vm.cost for vm in outcome.vms()] == pytest.approx([1.0, 0.5], rel=0.01)
    assert outcome.tally.consumed.sum() == pytest.approx(45_000.0, rel=0.01)


def test_a_resized_machine_has_other_processors(engine: str) -> None:
    queries = chain("a", rate=24_000.0), chain("b", rate=24_000.0)
    actions = (TimedAction(30.0, Scale(machine="vm1", engines=2)),)
    outcome = simulate(scenario(*queries, actions=actions), engine)
    total = outcome.tally.consumed.sum()
    assert total > 25_000.0 * 30 + 45_000.0 * 30
