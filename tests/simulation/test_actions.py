"""Actions on simulations: what an altered query keeps, what shared vertices do, and the same bits from both engines."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parent))  # the random scenarios lie beside it
import numpy as np
import pytest
from random_scenarios import make_scenario

import cepheid as cep
from cepheid.compiler import compile_query
from cepheid.deployment import Action, AddMachine, Alter, Deploy, Move, Retire, Scale, TimedAction, replay
from cepheid.errors import CepheidError, InvalidInput, InvalidScenario, NotSupportedYet
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.language.catalog import Catalog
from cepheid.schema import read_schema
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.run import EngineName
from cepheid.simulation.scenario import Query, Scenario, ScenarioEdge, ScenarioVertex, Vm
from cepheid.simulation.scenarios.application_scenario import scenario_of_application
from cepheid.simulation.scenarios.scenario_checks import check_scenario
from cepheid.simulation.scenarios.variations import vary
from cepheid.simulation.simulate import simulate
from cepheid.simulation.simulated_deployment import SimulatedDeployment
from cepheid.simulation.tally import Tally

WORK = ScenarioVertex(id="work", kind="operator", ipe=100_000.0)
SLOW = ScenarioVertex(id="slow", kind="operator", ipe=1_000_000.0)
WINDOW = ScenarioVertex(id="window", kind="window", ipe=1000.0, window_s=10.0, advance_s=10.0, output=5.0)
COLUMNS = {"ts": "timestamp", "bus": "int", "line": "int", "delay": "double"}
APPLICATION = """
[source.buses]
schema = { ts = "timestamp", bus = "int", line = "int", delay = "double" }
rate_per_s = 1000.0
keys = { bus = 100, line = 10 }
[source.trams]
schema = { ts = "timestamp", bus = "int", line = "int", delay = "double" }
rate_per_s = 500.0
keys = { bus = 50, line = 5 }
[query.lines]
sql = "SELECT line, avg(delay) AS delay FROM buses [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY line"
[query.trams]
sql = "SELECT line, delay FROM trams WHERE delay > 100"
[cluster]
engines = 2
[simulation]
duration_s = 100.0
"""
MAXIMUM = "SELECT line, max(delay) AS delay FROM buses [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY line"
RENAMED = "SELECT line, avg(delay) AS lateness FROM buses [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY line"
JOINED = "SELECT b.line FROM buses [RANGE 1 SECOND] AS b, trams [RANGE 1 SECOND] AS t WHERE b.line = t.line"


def chain(name: str, *middle: ScenarioVertex, rate: float = 1000.0, vm: str = "vm1") -> Query:
    source = ScenarioVertex(id="source", kind="producer", ipe=1.0, arrivals=Uniform(rate))
    vertices = (source, *middle, ScenarioVertex(id="end", kind="consumer", ipe=1.0))
    edges = tuple(ScenarioEdge(vertices[n].id, vertices[n + 1].id) for n in range(len(vertices) - 1))
    return Query(name=name, vertices=vertices, edges=edges, placement={vertex.id: vm for vertex in vertices})


def plan(*queries: Query, vms: int | tuple[Vm, ...] = 1, **values: object) -> Scenario:
    machines = vms if isinstance(vms, tuple) else tuple(Vm(name=f"vm{number}") for number in range(1, vms + 1))
    return replace(Scenario(queries=queries, vms=machines, duration_s=60.0, fidelity="corrected"), **values)


@pytest.fixture(params=["reference", "compiled"])
def engine(request: pytest.FixtureRequest) -> EngineName:
    return request.param


@pytest.fixture
def application(tmp_path: Path) -> Scenario:
    path = tmp_path / "app.toml"
    path.write_text(APPLICATION)
    return scenario_of_application(path, describe_sql, ENDPOINTS)


def waiting(deployment: SimulatedDeployment, query: str) -> dict[str, float]:
    return {each.vertex: each.waiting for each in deployment.observe().vertices if each.query == query}


def throughput(deployment: SimulatedDeployment, seconds: float = 10.0) -> dict[str, float]:
    deployment.observe()
    deployment.advance(seconds)
    return {each.query: each.throughput_per_s for each in deployment.observe().queries}


# --- alter -----------------------------------------------------------------------------------------------
def test_an_altered_query_keeps_what_waits_where_nothing_changed(engine: EngineName) -> None:
    """The machine does 25,000 of `work` in a second, or 2,500 of `slow`: both have much waiting."""
    deployment = SimulatedDeployment(plan(chain("q", WORK, SLOW, rate=20_000.0)), engine)
    deployment.advance(20.0)
    before = waiting(deployment, "q")
    assert before["work"] + before["slow"] > 100_000.0
    deployment.apply(Alter(name="q", query=chain("q", WORK, replace(SLOW, id="quick", ipe=1000.0), rate=20_000.0)))
    after = waiting(deployment, "q")
    assert (after["source"], after["work"], after["quick"]) == (before["source"], before["work"], 0.0)
    assert "slow" not in after
    layout, tally = deployment.run.layout, deployment.run.engine.tally
    lost = {instance.vertex.id: tally.dropped[n] for n, instance in enumerate(layout.instances) if tally.dropped[n]}
    assert lost["slow"] == before["slow"]
    assert lost.keys() == {"slow", "end"}, "the end is fed by another vertex, so it is another one"
    assert throughput(deployment)["q"] == pytest.approx(24_700.0, rel=0.03)


def test_another_cost_or_place_changes_no_vertex(engine: EngineName) -> None:
    deployment = SimulatedDeployment(plan(chain("q", SLOW, rate=20_000.0), vms=2), engine)
    deployment.advance(20.0)
    before = waiting(deployment, "q")
    deployment.apply(Alter(name="q", query=chain("q", replace(SLOW, ipe=100_000.0), rate=20_000.0, vm="vm2")))
    assert waiting(deployment, "q") == before
    assert len(deployment.run.layout.instances) == 3
    assert throughput(deployment)["q"] == pytest.approx(25_000.0, rel=0.02)
    assert {each.machine for each in deployment.observe().vertices} == {"vm2"}


def test_a_window_that_stays_keeps_its_events(engine: EngineName) -> None:
    """5 s into a window: what came before the change is in what it gives at its end."""
    deployment = SimulatedDeployment(plan(chain("q", WINDOW)), engine)
    deployment.advance(15.0)
    deployment.observe()
    deployment.apply(Alter(name="q", query=chain("q", WINDOW, WORK)))
    deployment.advance(8.0)
    (seen,) = deployment.observe().queries
    assert seen.throughput_per_s * 8.0 == pytest.approx(10_000.0, rel=0.03)


def test_what_feeds_a_vertex_is_a_part_of_it() -> None:
    deployment = SimulatedDeployment(plan(chain("q", WORK, SLOW, rate=20_000.0)), "reference")
    deployment.advance(5.0)
    deployment.apply(Alter(name="q", query=chain("q", WORK, SLOW, rate=19_000.0)))
    assert set(waiting(deployment, "q").values()) == {0.0}


def test_a_query_is_altered_again_and_back(engine: EngineName) -> None:
    first, second = chain("q", WORK, SLOW, rate=20_000.0), chain("q", WORK, rate=20_000.0)
    deployment = SimulatedDeployment(plan(first), engine)
    deployment.advance(5.0)
    kept = waiting(deployment, "q")["source"] + waiting(deployment, "q")["work"]
    for query in (second, first, second, first):
        deployment.apply(Alter(name="q", query=query))
        now = waiting(deployment, "q")
        assert list(now) == ["source", "work", *(["end"] if query is second else ["slow", "end"])]
        assert now["source"] + now["work"] == kept
    assert throughput(deployment)["q"] > 0.0
    deployment.apply(Retire(name="q"))
    assert throughput(deployment) == {"q": 0.0}
    deployment.apply(Deploy(name="q"))
    assert throughput(deployment)["q"] > 0.0


def test_one_branch_of_two_is_left_out_and_the_other_keeps_all(engine: EngineName) -> None:
    both = chain("q", SLOW, rate=20_000.0)
    other = ScenarioVertex(id="other", kind="consumer", ipe=1.0)
    branched = replace(
        both,
        vertices=(*both.vertices, other),
        edges=(*both.edges, ScenarioEdge("source", "other")),
        placement={**both.placement, "other": "vm1"},
    )
    deployment = SimulatedDeployment(plan(branched), engine)
    deployment.advance(10.0)
    before = waiting(deployment, "q")
    deployment.apply(Alter(name="q", query=both))
    assert waiting(deployment, "q") == {name: held for name, held in before.items() if name != "other"}
    assert throughput(deployment)["q"] > 0.0


def test_a_point_parts_a_query_from_its_vertex() -> None:
    deployment = SimulatedDeployment(plan(chain("q.1", WORK)), "reference")
    for action in (Alter(name="q.1", query=chain("q", SLOW)), Deploy(name="r.1", query=chain("r"))):
        with pytest.raises(InvalidInput, match="point in its name"):
            deployment.apply(action)


def test_what_does_not_run_cannot_be_altered() -> None:
    deployment = SimulatedDeployment(plan(chain("q", WORK), chain("other", WORK)), "reference")
    deployment.apply(Retire(name="q"))
    with pytest.raises(InvalidInput, match='"q" does not run'):
        deployment.apply(Alter(name="q", query=chain("q", SLOW)))
    shared = Query(name="x", vertices=(), edges=(ScenarioEdge("q.work", "end"),), placement={})
    with pytest.raises(NotSupportedYet, match="shares vertices"):
        deployment.apply(Alter(name="other", query=shared))


# --- queries that share vertices -------------------------------------------------------------------------
def sharing(name: str, of: str) -> Query:
    """Reads what `of` has worked on."""
    vertices = (replace(SLOW, id="more", ipe=1000.0), ScenarioVertex(id="end", kind="consumer", ipe=1.0))
    edges = (ScenarioEdge(f"{of}.work", "more"), ScenarioEdge("more", "end"))
    return Query(name=name, vertices=vertices, edges=edges, placement={"more": "vm1", "end": "vm1"})


def test_a_query_that_reads_another_is_deployed_and_outlives_it(engine: EngineName) -> None:
    deployment = SimulatedDeployment(plan(chain("a", WORK)), engine)
    deployment.advance(5.0)
    deployment.apply(Deploy(name="b", query=sharing("b", "a")))
    assert throughput(deployment) == pytest.approx({"a": 1000.0, "b": 1000.0}, rel=0.01)
    deployment.apply(Retire(name="a"))
    assert throughput(deployment) == pytest.approx({"a": 0.0, "b": 1000.0}, rel=0.01)
    layout, dropped = deployment.run.layout, deployment.run.engine.tally.dropped
    assert [layout.instances[n].name for n in np.flatnonzero(dropped > 100.0)] == []
    deployment.apply(Retire(name="b"))
    deployment.observe()
    deployment.advance(5.0)
    assert {each.processed_per_s for each in deployment.observe().vertices} == {0.0}


def test_events_that_were_counted_apart_are_not_joined() -> None:
    deployment = SimulatedDeployment(plan(chain("a", WORK), chain("b", WORK)), "reference")
    both = sharing("c", "a")
    joined = replace(both, edges=(*both.edges, ScenarioEdge("b.work", "more")))
    with pytest.raises(NotSupportedYet, match="counted apart") as told:
        deployment.apply(Deploy(name="c", query=joined))
    assert told.value.hint
    assert throughput(deployment).keys() == {"a", "b"}


# --- SQL -------------------------------------------------------------------------------------------------
def test_sql_is_deployed_as_if_it_had_been_there_from_the_start(application: Scenario, tmp_path: Path) -> None:
    deployment = SimulatedDeployment(application, "reference")
    deployment.apply(Deploy(name="worst", query=MAXIMUM, sink="worst.parquet"))
    path = tmp_path / "both.toml"
    path.write_text(APPLICATION.replace("[cluster]", f'[query.worst]\nsql = "{MAXIMUM}"\n[cluster]'))
    whole = scenario_of_application(path, describe_sql, ENDPOINTS)
    assert deployment.run.situation.scenario == whole
    assert whole.queries[2].edges[0].source == "lines.project_1", "the projection is shared"
    deployment.advance(50.0)
    other = SimulatedDeployment(whole, "reference")
    other.advance(50.0)
    assert deployment.observe() == other.observe()


def test_altered_sql_keeps_a_window_that_is_the_same_under_other_names(
    application: Scenario, engine: EngineName
) -> None:
    deployment = SimulatedDeployment(application, engine)
    deployment.advance(15.0)
    deployment.observe()
    deployment.apply(Alter(name="lines", query=RENAMED))
    deployment.advance(9.0)
    seen = {each.query: each.throughput_per_s * 9.0 for each in deployment.observe().queries}
    assert seen["lines"] == pytest.approx(10_000.0, rel=0.03)  # also what came before it was altered
    names = {each.vertex for each in deployment.observe().vertices if each.query == "lines"}
    assert "window_aggregate_1" in names
    deployment.apply(Alter(name="lines", query=MAXIMUM))
    assert "window_aggregate_1" not in {each.vertex for each in deployment.observe().vertices}


def test_patterns_and_graphs_are_deployed_too(application: Scenario, engine: EngineName) -> None:
    known = Catalog({"buses": read_schema("buses", COLUMNS)}, describe_sql, frozenset({"buses"}))
    graph = compile_query({"any": MAXIMUM}, known).rewritten
    rising = (
        cep.pattern("a", stream="buses")
        .then("b", stream="buses")
        .where("b.delay > a.delay")
        .within(timedelta(seconds=5))
    )
    deployment = SimulatedDeployment(application, engine)
    deployment.apply(Deploy(name="graph", query=graph))
    deployment.apply(Deploy(name="rising", query=rising))
    seen = throughput(deployment, 30.0)
    assert list(seen) == ["lines", "trams", "graph", "rising"]
    assert min(seen.values()) > 0.0


def test_a_query_that_joins_what_nothing_joined_reads_by_itself(application: Scenario, engine: EngineName) -> None:
    deployment = SimulatedDeployment(application, engine)
    deployment.apply(Deploy(name="joined", query=JOINED))
    names = [each.vertex for each in deployment.observe().vertices if each.query == "joined"]
    assert sum(name.startswith("source") for name in names) == 2
    assert throughput(deployment)["joined"] > 0.0


def test_mistakes_in_sql_are_told_with_their_place_and_change_nothing(application: Scenario) -> None:
    deployment = SimulatedDeployment(application, "reference")
    with pytest.raises(CepheidError) as told:
        deployment.apply(Deploy(name="wrong", query="SELECT dely FROM buses"))
    assert "dely" in str(told.value)
    assert "-->" in str(told.value)
    with pytest.raises(InvalidInput, match="is a int"):
        deployment.apply(Deploy(name="wrong", query=3))  # type: ignore[arg-type]
    assert list(throughput(deployment)) == ["lines", "trams"]


def test_a_scenario_that_was_varied_takes_no_sql(application: Scenario) -> None:
    deployment = SimulatedDeployment(vary(application, {"rate": 10.0}), "reference")
    with pytest.raises(InvalidInput, match="not SQL"):
        deployment.apply(Deploy(name="worst", query=MAXIMUM))


# --- scale, machines -------------------------------------------------------------------------------------
def test_a_cluster_has_more_engines_and_what_one_engine_does_is_as_slow(tmp_path: Path) -> None:
    path = tmp_path / "app.toml"
    alone = "SELECT avg(delay) AS delay FROM buses [ROWS 100]"
    path.write_text(APPLICATION.replace("[cluster]", f'[query.alone]\nsql = "{alone}"\n[cluster]'))
    two = scenario_of_application(path, describe_sql, ENDPOINTS)
    path.write_text(path.read_text().replace("engines = 2", "engines = 6"))
    six = scenario_of_application(path, describe_sql, ENDPOINTS)
    deployment = SimulatedDeployment(two, "reference")
    deployment.apply(Scale(engines=6))
    assert deployment.run.situation.scenario.queries == six.queries != two.queries
    assert deployment.observe().machines[0].cores == 6
    deployment.apply(Scale(engines=2))
    assert deployment.run.situation.scenario == two


def test_costs_that_change_while_it_runs_are_those_of_both_engines() -> None:
    tallies = []
    for engine in ("reference", "compiled"):
        scenario = plan(chain("q", SLOW, rate=20_000.0), chain("r", WORK), vms=1)
        deployment = SimulatedDeployment(scenario, engine)
        deployment.advance(5.0)
        deployment.apply(Alter(name="q", query=chain("q", replace(SLOW, ipe=30_000.0, weight=3.0), rate=20_000.0)))
        deployment.advance(5.0)
        deployment.apply(Scale(engines=3))
        deployment.advance(5.0)
        tallies.append(deployment.run.engine.tally)
    assert_equal(*tallies)


def test_a_query_or_vertex_is_scaled_where_it_has_a_machine_for_itself() -> None:
    queries = chain("a", WORK), chain("b", WORK), chain("c", WORK, vm="vm2")
    deployment = SimulatedDeployment(plan(*queries, vms=2, scheduler="micro_batch"), "reference")
    deployment.apply(Scale(query="c", engines=3))
    assert [machine.cores for machine in deployment.observe().machines] == [1, 3]
    wrong: list[tuple[Action, type[CepheidError], str]] = [
        (Scale(query="a", engines=3), NotSupportedYet, "no machine for itself"),
        (Scale(query="c", vertex="work", engines=3), NotSupportedYet, "no machine for itself"),
        (Scale(query="c", vertex="wrk", engines=3), InvalidInput, "does not run"),
        (Scale(query="d", engines=3), InvalidInput, "does not exist"),
        (Scale(vertex="work", engines=3), InvalidInput, "of which query"),
        (Scale(machine="vm9", engines=3), InvalidInput, "does not exist"),
        (Scale(engines=3), InvalidInput, "2 machines"),
        (Scale(machine="vm1", engines=0), InvalidInput, "0 engines"),
    ]
    for action, kind, told in wrong:
        with pytest.raises(kind, match=told) as problem:
            deployment.apply(action)
        assert problem.value.hint
    deployment.apply(AddMachine(name="vm3"))
    deployment.apply(Move(query="c", vertex="work", machine="vm3"))
    deployment.apply(Scale(query="c", vertex="work", engines=5))
    assert [machine.cores for machine in deployment.observe().machines] == [1, 3, 5]
    in_turns = SimulatedDeployment(plan(replace(queries[2], placement={**queries[2].placement, "work": "vm1"}), vms=2))
    with pytest.raises(NotSupportedYet, match="dynamic"):
        in_turns.apply(Scale(query="c", vertex="work", engines=5))


def test_a_machine_is_as_it_was_or_as_it_is_said_to_be() -> None:
    vms = Vm(name="vm1"), Vm(name="vm2", pes=3, mips=1000.0, price_per_hour=0.5)
    deployment = SimulatedDeployment(plan(chain("q"), vms=vms), "reference")
    deployment.apply(cep.RemoveMachine(name="vm2"))
    deployment.apply(AddMachine(name="vm2"))
    assert deployment.run.situation.scenario.vms == vms
    deployment.apply(AddMachine(name="vm3", speed=1.2))
    assert deployment.run.situation.scenario.vms[2] == Vm(name="vm3", pes=1, mips=3000.0)
    for wrong in ({"cores": 0}, {"speed": 0.0}, {"price_per_hour": -1.0}):
        with pytest.raises(InvalidInput, match="cannot be of that kind"):
            deployment.apply(AddMachine(name="vm4", **wrong))
    with pytest.raises(InvalidInput, match="there already"):
        deployment.apply(AddMachine(name="vm1"))
    with pytest.raises(InvalidInput, match="pause"):
        deployment.apply(Move(query="q", machine="vm2", pause_s=-1.0))


# --- scenarios -------------------------------------------------------------------------------------------
def test_actions_of_a_scenario_and_a_replay_of_them_are_the_same(engine: EngineName) -> None:
    """In a scenario a query that is deployed later may be told from the start, and keeps its place among the others;
    here it comes with the action."""
    actions = (
        TimedAction(5.0, Deploy(name="new", query=chain("new", SLOW, rate=5000.0))),
        TimedAction(12.0, AddMachine(name="vm2", cores=2)),
        TimedAction(12.0, Move(query="new", machine="vm2", pause_s=0.5)),
        TimedAction(20.0, Alter(name="a", query=chain("a", WORK, SLOW))),
        TimedAction(30.0, Retire(name="new")),
        TimedAction(40.05, Scale(machine="vm1", engines=2)),
    )
    scenario = plan(chain("a", WORK))
    planned = simulate(replace(scenario, actions=actions), engine)
    deployment = SimulatedDeployment(scenario, engine)
    applied = replay(actions, deployment, deployment.advance_to)
    deployment.advance_to(1e9)
    assert [each.action for each in applied] == [each.action for each in actions]
    assert [each.at_s for each in applied] == pytest.approx([5.0, 12.0, 12.0, 20.0, 30.0, 40.1], abs=0.1001)
    assert_equal(planned.tally, deployment.run.engine.tally)


def test_a_query_or_machine_that_comes_later_is_not_there_before(engine: EngineName) -> None:
    actions = (TimedAction(20.0, Deploy(name="b")), TimedAction(10.0, Retire(name="b")))
    outcome = simulate(plan(chain("a"), chain("b"), actions=actions), engine)
    assert outcome.tally.consumed[1].sum() == pytest.approx(50_000.0, rel=0.02), "it is there until it is retired"


def test_actions_that_name_nothing_are_told_before_it_runs() -> None:
    wrong: tuple[Action, ...] = (
        Retire(name="b"),
        Alter(name="b", query=chain("b")),
        Deploy(name="b"),
        Move(query="a", machine="vm2"),
        Scale(query="b", engines=2),
    )
    for action in wrong:
        with pytest.raises(InvalidScenario, match="does not exist"):
            check_scenario(plan(chain("a"), actions=(TimedAction(1.0, action),)))
    comes = (TimedAction(1.0, Deploy(name="b", query=chain("b"))), TimedAction(2.0, Retire(name="b")))
    check_scenario(plan(chain("a"), actions=comes))


def test_engines_share_what_is_deployed_later() -> None:
    actions = (
        TimedAction(1.0, Deploy(name="b", query=chain("b", rate=100.0))),
        TimedAction(2.0, Move(query="b", machine="vm1")),
    )
    varied = vary(plan(chain("a"), actions=actions), {"engines": 2})
    first, second = varied.actions[0].action, varied.actions[1].action
    assert isinstance(first, Deploy)
    assert isinstance(second, Deploy)
    assert isinstance(first.query, Query)
    assert (first.name, second.name) == ("b#1", "b#2")
    assert first.query.vertices[0].arrivals == Uniform(50.0)
    assert varied.actions[3].action == Move(query="b#2", machine="vm1#2")
    with pytest.raises(NotSupportedYet, match="scale"):
        vary(plan(chain("a"), actions=(TimedAction(1.0, Scale(engines=2)),)), {"engines": 2})


def test_both_engines_agree_to_the_bit_whatever_is_done() -> None:
    done: set[str] = set()
    for seed in range(40):
        base = replace(make_scenario(seed, "corrected", ticks=40), placements="vm", actions=(), failures=())
        random = Random(seed)
        times = sorted(random.sample(range(1, 38), 5))
        runs = [SimulatedDeployment(base, "reference"), SimulatedDeployment(base, "compiled")]
        for tick in times:
            action = make_action(random, runs[0].run.situation.scenario)
            told = [apply(run, (tick + 1) * base.tick_s, action) for run in runs]
            assert told[0] == told[1]
            done |= {f"{type(action).__name__} {told[0]}".strip()}
        for run in runs:
            run.advance_to(1e9)
        assert_equal(runs[0].run.engine.tally, runs[1].run.engine.tally, f"seed {seed}")
        assert np.array_equal(runs[0].run.engine.waiting(), runs[1].run.engine.waiting()), f"seed {seed}"
    assert {"Alter", "Deploy", "Retire", "Scale", "Move", "AddMachine"} <= done


def apply(deployment: SimulatedDeployment, at_s: float, action: Action) -> str:
    deployment.advance_to(at_s)
    try:
        deployment.apply(action)
    except CepheidError as problem:
        return problem.message
    return ""


def make_action(random: Random, scenario: Scenario) -> Action:
    query, vm = random.choice(scenario.queries), random.choice(scenario.vms)
    match random.choice(("alter", "alter", "alter", "deploy", "share", "retire", "scale", "move", "add")):
        case "alter":
            return Alter(name=query.title, query=change_graph(random, query))
        case "deploy":
            new = replace(query, name="new", edges=query.edges, version_of="", keeps=())
            return Deploy(name=f"new{random.randrange(3)}", query=new)
        case "share":
            source = random.choice([vertex for vertex in query.vertices if vertex.kind != "consumer"] or [None])
            end = ScenarioVertex(id="read", kind="consumer", ipe=1000.0)
            edges = (ScenarioEdge(f"{query.name}.{source.id}", "read", 0.5),) if source else ()
            reader = Query(name="", vertices=(end,), edges=edges, placement={"read": vm.name})
            return Deploy(name=f"reader{random.randrange(3)}", query=reader)
        case "retire":
            return Retire(name=query.title)
        case "scale":
            return Scale(machine=vm.name, engines=random.randint(1, 4))
        case "move":
            return Move(query=query.title, machine=vm.name)
    return AddMachine(name=f"more{random.randrange(3)}", cores=random.randint(1, 3), speed=0.5)


def change_graph(random: Random, query: Query) -> Query:
    """One of its vertices costs otherwise, or is another one with all that follows it."""
    changed = random.choice(query.vertices) if query.vertices else None
    how = random.choice(("cost", "queue"))
    return replace(
        query,
        vertices=tuple(
            vertex
            if vertex is not changed
            else replace(vertex, ipe=2.0 * vertex.ipe)
            if how == "cost"
            else replace(vertex, queue=vertex.queue + 5.0)
            for vertex in query.vertices
        ),
        version_of="",
        keeps=(),
    )


def assert_equal(one: Tally, other: Tally, what: str = "") -> None:
    different = [
        each.name
        for each in fields(Tally)
        if not np.array_equal(np.asarray(getattr(one, each.name)), np.asarray(getattr(other, each.name)))
    ]
    assert different == [], what
