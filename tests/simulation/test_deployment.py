"""A simulation steered like a live pipeline; machines that are equal; strategies of users; servers and links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest

from cepheid.deployment import AddMachine, Deploy, Deployment, Move, RemoveMachine, Retire, Runner, Scale
from cepheid.errors import InvalidInput
from cepheid.simulation.allocation import ALLOCATIONS, Share, register_allocation
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.hosting import host_machines
from cepheid.simulation.network import build_network
from cepheid.simulation.reference.schedulers import SCHEDULERS, register_scheduler
from cepheid.simulation.reference.scheduling import Turn
from cepheid.simulation.reference.slices import Slice
from cepheid.simulation.run import EngineName
from cepheid.simulation.scenario import Datacentre, Host, Link, Query, Scenario, ScenarioEdge, ScenarioVertex, Vm
from cepheid.simulation.simulate import simulate
from cepheid.simulation.simulated_deployment import SimulatedDeployment, SimulationRunner
from cepheid.simulation.tally import Tally


def chain(name: str, rate: float = 1000.0, vm: str = "vm1", ipe: float = 100_000.0) -> Query:
    vertices = (
        ScenarioVertex(id="source", kind="producer", ipe=1.0, arrivals=Uniform(rate)),
        ScenarioVertex(id="work", kind="operator", ipe=ipe, queue=1000.0),
        ScenarioVertex(id="end", kind="consumer", ipe=1.0, queue=1000.0),
    )
    edges = (ScenarioEdge("source", "work"), ScenarioEdge("work", "end"))
    return Query(name=name, vertices=vertices, edges=edges, placement={v.id: vm for v in vertices})


def plan(*queries: Query, vms: int = 1, **values: object) -> Scenario:
    machines = tuple(Vm(name=f"vm{number}") for number in range(1, vms + 1))
    return replace(Scenario(queries=queries, vms=machines, duration_s=60.0, fidelity="corrected"), **values)


@pytest.fixture(params=["reference", "compiled"])
def engine(request: pytest.FixtureRequest) -> EngineName:
    return request.param


def test_it_is_a_deployment_as_the_contract_says() -> None:
    runner: Runner[Scenario] = SimulationRunner()
    deployment: Deployment = runner.start(plan(chain("q")))
    assert deployment.now_s == pytest.approx(0.1)
    assert deployment.observe().queries[0].latency_ms is None


def test_an_overloaded_machine_is_seen_and_relieved(engine: EngineName) -> None:
    deployment = SimulatedDeployment(plan(chain("a", 20_000.0), chain("b", 20_000.0)), engine)
    deployment.advance(20.0)
    before = deployment.observe()
    assert before.machines[0].utilisation == pytest.approx(1.0, abs=0.01)
    assert sum(each.waiting for each in before.vertices) > 200_000.0
    deployment.apply(AddMachine(name="vm2", cores=2))
    deployment.apply(Move(query="b", machine="vm2"))
    deployment.advance(20.0)
    after = deployment.observe()
    assert after.since_s == before.at_s
    assert [each.throughput_per_s for each in after.queries] == pytest.approx([25_000.0, 25_000.0], rel=0.05)
    assert {each.machine for each in after.vertices if each.query == "b"} == {"vm2"}


def test_queries_come_and_go(engine: EngineName) -> None:
    deployment = SimulatedDeployment(plan(chain("a")), engine)
    deployment.advance(10.0)
    deployment.observe()
    deployment.apply(Deploy(name="new", query=chain("new", 2000.0)))
    deployment.advance(10.0)
    assert [round(each.throughput_per_s, -2) for each in deployment.observe().queries] == [1000.0, 2000.0]
    deployment.apply(Retire(name="a"))
    deployment.advance(10.0)
    assert [round(each.throughput_per_s, -2) for each in deployment.observe().queries] == [0.0, 2000.0]
    deployment.apply(Deploy(name="a", query=chain("a")))
    deployment.advance(10.0)
    assert [round(each.throughput_per_s, -2) for each in deployment.observe().queries] == [1000.0, 2000.0]


def test_machines_go_and_grow(engine: EngineName) -> None:
    deployment = SimulatedDeployment(plan(chain("a"), chain("b", vm="vm2"), vms=2), engine)
    deployment.apply(RemoveMachine(name="vm2"))
    deployment.apply(Scale(machine="vm1", engines=4))
    deployment.advance(10.0)
    seen = deployment.observe()
    assert [machine.is_there for machine in seen.machines] == [True, False]
    assert seen.machines[0].cores == 4
    assert [each.throughput_per_s > 0.0 for each in seen.queries] == [True, False]
    deployment.apply(AddMachine(name="vm2"))
    deployment.advance(10.0)
    assert deployment.observe().machines[1].is_there


def test_actions_that_name_what_is_not_there_are_told() -> None:
    deployment = SimulatedDeployment(plan(chain("a")), "reference")
    for action in (Retire(name="b"), Move(query="a", machine="vm9"), Move(query="a", vertex="wrk", machine="vm1")):
        with pytest.raises(InvalidInput, match="does not exist"):
            deployment.apply(action)
    with pytest.raises(InvalidInput, match="queries of scenarios"):
        deployment.apply(Deploy(name="one", query="SELECT 1"))
    with pytest.raises(InvalidInput, match="cannot change while it runs"):
        SimulatedDeployment(plan(chain("a"), fidelity="cepsim"))


def test_it_ends_with_its_duration() -> None:
    deployment = SimulatedDeployment(plan(chain("a")), "reference")
    deployment.advance(1000.0)
    assert deployment.is_over
    assert deployment.now_s == pytest.approx(60.1)


@pytest.mark.parametrize("kinds", [1, 3])
def test_equal_machines_are_run_once_with_the_same_result(engine: EngineName, kinds: int) -> None:
    queries = [chain(f"q{n}", 100.0 * (1 + n % kinds), f"vm{n + 1}") for n in range(9)]
    queries.append(replace(chain("over", 50.0), placement={"source": "vm10", "work": "vm11", "end": "vm10"}))
    queries.append(replace(chain("more", 50.0), placement={"source": "vm12", "work": "vm13", "end": "vm12"}))
    scenario = plan(*queries, vms=14)
    merged, apart = simulate(scenario, engine), simulate(scenario, engine, merges_equal=False)
    assert apart.ran == 14
    assert merged.ran == kinds + 2 + 1
    for each in fields(Tally):
        assert np.array_equal(getattr(merged.tally, each.name), getattr(apart.tally, each.name)), each.name
    assert list(merged.consumers()) == list(apart.consumers())
    assert list(merged.vms()) == list(apart.vms())


def test_machines_that_differ_in_anything_are_not_merged() -> None:
    base = plan(chain("a"), chain("b", vm="vm2"), vms=2)
    other_vm = replace(base, vms=(base.vms[0], replace(base.vms[1], mips=2000.0)))
    other_cost = replace(base, queries=(base.queries[0], chain("b", vm="vm2", ipe=100_001.0)))
    other_copies = replace(base, queries=(base.queries[0], replace(base.queries[1], copies=2)))
    assert simulate(base, "reference").ran == 1
    assert [simulate(each, "reference").ran for each in (other_vm, other_cost, other_copies)] == [2, 2, 2]


@pytest.fixture
def own_strategies() -> Iterator[None]:
    @register_allocation("first_takes_all")
    def allocate(shares: list[Share]) -> list[tuple[float, float]]:
        return [(1.0 if place == 0 else 1e-9, 1.0) for place in range(len(shares))]

    @register_allocation("nothing")
    def allocate_nothing(shares: list[Share]) -> list[tuple[float, float]]:
        return [(0.0, 1.0)] * len(shares)

    @register_scheduler("backwards")
    def schedule(turn: Turn) -> Iterator[Slice]:
        yield from turn.arrivals
        cursor = turn.start
        for place in reversed(range(len(turn.allotments))):
            end = cursor + turn.lasts(turn.allotments[place])
            yield Slice(place, cursor, end, turn.allotments[place])
            cursor = end

    yield
    del ALLOCATIONS["first_takes_all"], ALLOCATIONS["nothing"], SCHEDULERS["backwards"]


@pytest.mark.usefixtures("own_strategies")
@pytest.mark.parametrize("fidelity", ["cepsim", "corrected"])
def test_strategies_of_users(fidelity: str) -> None:
    starved = simulate(plan(chain("q"), fidelity=fidelity, allocation="first_takes_all", scheduler="simple"))
    assert starved.tally.processed[0].sum() > 100.0
    assert starved.tally.consumed.sum() < 1.0
    with pytest.raises(InvalidInput, match='gives vertex "source" 0 of 1'):
        simulate(plan(chain("q"), allocation="nothing"))
    backwards = simulate(plan(chain("q"), fidelity=fidelity, scheduler="backwards", cloudlet_pes=1))
    forwards = simulate(plan(chain("q"), fidelity=fidelity, scheduler="simple"))
    assert backwards.engine == "reference"
    assert next(backwards.consumers()).latency_ms > next(forwards.consumers()).latency_ms + 90.0


def test_unknown_strategies_are_told() -> None:
    with pytest.raises(InvalidInput, match='allocation "unifrm" does not exist'):
        simulate(plan(chain("q"), allocation="unifrm"))
    with pytest.raises(InvalidInput, match='scheduler "dynamc" does not exist'):
        simulate(plan(chain("q"), scheduler="dynamc"))
    with pytest.raises(InvalidInput, match="not one of CEPSim"):
        simulate(plan(chain("q"), scheduler="micro_batch", fidelity="cepsim"))


def test_machines_go_to_the_server_with_most_free_processors() -> None:
    hosts = (Host(name="small", pes=4, mips=2500.0), Host(name="large", pes=8, mips=2500.0, ram_mb=100.0))
    vms = (
        Vm(name="a", pes=3, datacentre="d"),
        Vm(name="b", pes=2, datacentre="d"),
        Vm(name="c", pes=4, datacentre="d"),
        Vm(name="e", pes=4, datacentre="d"),
        Vm(name="f", ram_mb=200.0, datacentre="d"),
        Vm(name="g", mips=3000.0, datacentre="d"),
        Vm(name="h"),
    )
    scenario = plan(vms=0, datacentres=(Datacentre(name="d", hosts=hosts),))
    assert host_machines(replace(scenario, vms=vms)) == {
        "a": "large",
        "b": "large",
        "c": "small",
        "e": None,
        "f": None,
        "g": None,
    }


@pytest.mark.parametrize("fidelity", ["cepsim", "corrected"])
def test_what_is_placed_on_a_machine_without_a_server_does_not_run(engine: EngineName, fidelity: str) -> None:
    centre = Datacentre(name="d", hosts=(Host(name="h", pes=8, mips=2500.0),))
    scenario = plan(chain("a"), chain("b", vm="vm2"), fidelity=fidelity, datacentres=(centre,))
    vms = (Vm(name="vm1"), Vm(name="vm2", pes=9, datacentre="d"))
    outcome = simulate(replace(scenario, vms=vms), engine)
    assert outcome.unhosted() == ["vm2"]
    assert [each.throughput_per_s > 0.0 for each in outcome.consumers()] == [True, False]


def test_the_nearest_link_holds() -> None:
    centres = (Datacentre(name="d1", cloud="x"), Datacentre(name="d2", cloud="x"), Datacentre(name="d3", cloud="y"))
    vms = tuple(Vm(name=f"vm{n}", datacentre=centre) for n, centre in enumerate(("d1", "d1", "d2", "d3")))
    links = (
        Link(source="x", target="y", latency_s=0.1),
        Link(source="x", target="x", latency_s=0.02),
        Link(source="d1", target="d1", latency_s=0.001),
        Link(source="d3", target="vm0", latency_s=0.05),
    )
    link = build_network(replace(plan(datacentres=centres, links=links), vms=vms)).link
    assert link[0, 1] == 2
    assert link[0, 2] == link[2, 1] == 1
    assert link[0, 3] == link[3, 0] == 3
    assert link[1, 3] == 0
