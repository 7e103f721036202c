"""A query graph as a scenario: rows as the real thing gives them, names that can be found again, costs by vertex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.application import Cluster
from cepheid.bench.pattern_queries import PATTERNS
from cepheid.bench.study_data import generate_events, q5_text
from cepheid.bench.window_queries import q2_text, q3_text
from cepheid.compiler import Query, compile_query
from cepheid.cost.profile import Profile, VertexProfile
from cepheid.errors import InvalidInput
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import NODE_TYPES, HostWindow
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.window import Window, WindowedAggregate
from cepheid.language.catalog import Catalog
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.schema import read_schema
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.layout import lay_out
from cepheid.simulation.scenario import MicroBatch, Scenario, ScenarioVertex
from cepheid.simulation.scenarios.application_scenario import scenario_of_application
from cepheid.simulation.scenarios.default_costs import default_ipe
from cepheid.simulation.scenarios.graph_scenario import PASSING_IPE, scenario_of_graph
from cepheid.simulation.scenarios.vertex_model import Flow, model_vertex
from cepheid.simulation.simulate import simulate

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SCHEMA = read_schema("events", {"id": "int", "a1": "double", "ts": "timestamp"})
STREAMS = ("events", "s1", "s2")
RATE_PER_S = 50_000.0  # of the study's data
TUMBLING = "SELECT id, avg(a1) AS f FROM events [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY id"
AS_CEPSIM = {"fidelity": "cepsim", "duration_s": 20.0, "tick_s": 0.1}


def place(query: Query | Mapping[str, Query]) -> PlacedGraph:
    known = Catalog(dict.fromkeys(STREAMS, SCHEMA), describe_sql, frozenset(STREAMS))
    return compile_query(query, known).placed


def make(query: Query | Mapping[str, Query], rate: float = RATE_PER_S, **options: Any) -> Scenario:
    return scenario_of_graph(place(query), dict.fromkeys(STREAMS, Uniform(rate)), **options)


def vertices_of(scenario: Scenario) -> dict[str, ScenarioVertex]:
    return {vertex.id: vertex for query in scenario.queries for vertex in query.vertices}


def selectivities_of(scenario: Scenario) -> dict[tuple[str, str], float]:
    return {(edge.source, edge.target): edge.selectivity for query in scenario.queries for edge in query.edges}


@pytest.mark.parametrize("kind", NODE_TYPES, ids=lambda kind: kind.__name__)
def test_every_kind_of_vertex_has_a_model(kind: type[PlanNode]) -> None:
    assert model_vertex.dispatch(kind) is not model_vertex.dispatch(PlanNode), f"write a model for {kind.__name__}"


def test_the_scenario_has_the_vertices_of_the_graph_by_their_names() -> None:
    placed = place(q5_text())
    scenario = make(q5_text())
    assert list(vertices_of(scenario)) == list(placed.graph.order)
    kinds = {name: vertex.kind for name, vertex in vertices_of(scenario).items()}
    roles = {name: node.role for name, node in placed.graph.vertices.items()}
    assert {name: "operator" if kind == "window" else kind for name, kind in kinds.items()} == roles
    assert {(edge.source, edge.target) for edge in placed.graph.edges} == set(selectivities_of(scenario))


@pytest.mark.parametrize(
    ("text", "max_id"),
    [
        (TUMBLING, 20_000),
        (TUMBLING, 300),
        ("SELECT avg(a1) AS f FROM events [RANGE 1 SECOND SLIDE 1 SECOND]", 300),
        ("SELECT id, avg(a1) AS f FROM events [RANGE 2 SECONDS SLIDE 1 SECOND] GROUP BY id", 50_000),
        (q2_text("avg", 500, 1), 1000),
        (q2_text("avg", 5000, 5000), 10_000),
        (q2_text("avg", 6000, 2000), 10_000),
        ("SELECT id, avg(a1) AS f FROM events [PARTITION BY id ROWS 10 SLIDE 10] GROUP BY id", 1000),
        ("SELECT id, avg(a1) AS f FROM events [RANGE 1 SECOND] GROUP BY id OUTPUT EVERY 1 SECOND", 20_000),
        ("SELECT id, a1 FROM events", 10),
    ],
)
def test_as_many_rows_are_expected_as_a_real_run_gives(text: str, max_id: int) -> None:
    events = generate_events(500_000, seed=3, max_id=max_id).select(["id", "a1", "ts"])
    scenario = make(text, keys={"events": max_id}, settings={"duration_s": 10.0})
    rows = RATE_PER_S * 10.0
    for vertex in vertices_of(scenario).values():
        outgoing = [share for (source, _), share in selectivities_of(scenario).items() if source == vertex.id]
        if vertex.kind == "window":
            assert vertex.output is not None
            rows = vertex.output / vertex.advance_s * 10.0
        elif outgoing:
            rows *= outgoing[0]
    assert rows == pytest.approx(len(cep.sql(text, events=events)), rel=0.12)


def test_joins_find_as_many_partners_as_their_windows_hold() -> None:
    events = generate_events(400_000, seed=4, max_id=10_000).select(["id", "a1", "ts"])
    half = events.slice(0, 200_000)
    other = events.slice(200_000).set_column(2, "ts", half.column("ts"))
    real = len(cep.sql(q3_text(5000), s1=half, s2=other)) / 400_000
    shares = selectivities_of(make(q3_text(5000), keys={"s1": 10_000, "s2": 10_000}))
    assert shares["window_join_1", "project_3"] == pytest.approx(0.5)
    by_column = make(q3_text(5000), keys={"s1": {"id": 10_000}, "s2": {"a1": 3}})
    assert selectivities_of(by_column)["window_join_1", "project_3"] == pytest.approx(0.5)
    assert real == pytest.approx(0.5, rel=0.05)


def test_windows_by_time_become_windows() -> None:
    (window,) = [vertex for vertex in vertices_of(make(TUMBLING)).values() if vertex.kind == "window"]
    assert (window.id, window.window_s, window.advance_s) == ("window_aggregate_1", 1.0, 1.0)
    hopping = "SELECT id, avg(a1) AS f FROM events [RANGE 10 SECONDS SLIDE 4 SECONDS] GROUP BY id"
    (window,) = [vertex for vertex in vertices_of(make(hopping)).values() if vertex.kind == "window"]
    assert (window.window_s, window.advance_s) == (12.0, 4.0)  # whole advances
    assert not window.limits_output


@pytest.mark.parametrize(
    ("grouping", "groups"),
    [("GROUP BY id", 30.0), ("GROUP BY a1", 7.0), ("GROUP BY id, a1", 210.0), ("GROUP BY id % 5", 1000.0), ("", 1.0)],
)
def test_groups_are_counted_by_the_columns_that_make_them(grouping: str, groups: float) -> None:
    text = f"SELECT count(*) AS n FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS] {grouping}"
    scenario = make(text, keys={"events": {"id": 30.0, "a1": 7.0}})
    assert vertices_of(scenario)["window_aggregate_1"].output == pytest.approx(groups)


def test_a_limit_bounds_the_rows_of_a_window() -> None:
    text = f"{TUMBLING} ORDER BY f DESC LIMIT 3"
    outputs = [vertex.output for vertex in vertices_of(make(text)).values() if vertex.kind == "window"]
    assert outputs == [3.0]


def test_windows_of_the_host_are_windows_too() -> None:
    window = Window(kind="time", size=5_000_000, slide=5_000_000)
    node = HostWindow(window=window, aggregates=(WindowedAggregate(function="count"),), cells=(), keys=0)
    model = model_vertex(node, Flow(rates_per_s=(10.0,), keys=7.0))
    assert (model.kind, model.window_s, model.advance_s, model.output) == ("window", 5.0, 5.0, 1.0)


def test_a_measured_vertex_stands_for_its_query_and_others_cost_what_their_kind_does() -> None:
    measured = {"sequence_1": VertexProfile(ipe=777.0, selectivity=0.3)}
    profile = Profile(host="embedded", overhead_s=0.002, vertices=measured)
    queries = {"pairs": q5_text(), "average": q2_text("avg", 500, 1).replace("events", "s1")}
    scenario = make(queries, profile=profile)
    vertices = vertices_of(scenario)
    assert vertices["sequence_1"].ipe == 777.0
    assert {vertex.ipe for vertex in scenario.queries[0].vertices} == {777.0, PASSING_IPE}
    assert vertices["window_aggregate_1"].ipe == default_ipe("embedded", "sliding_window")
    assert selectivities_of(scenario)["sequence_1", "project_2"] == 0.3
    assert scenario.micro_batch.overhead_s == 0.002


def test_a_profile_tells_the_rows_of_a_window_if_its_keys_are_not_known() -> None:
    profile = Profile(host="embedded", vertices={"window_aggregate_1": VertexProfile(ipe=90.0, selectivity=0.25)})
    told = vertices_of(make(TUMBLING, profile=profile))["window_aggregate_1"]
    assert told.output == pytest.approx(0.25 * RATE_PER_S)
    known = vertices_of(make(TUMBLING, profile=profile, keys={"events": 30.0}))["window_aggregate_1"]
    assert known.output == pytest.approx(30.0)


def test_a_profile_of_another_host_is_refused() -> None:
    with pytest.raises(InvalidInput, match="calibrate with --host spark"):
        make(q5_text(), profile=Profile(host="embedded"), cluster=Cluster(host="spark"))


def test_a_profile_of_other_queries_is_refused() -> None:
    profile = Profile(host="embedded", vertices={"sequence_2": VertexProfile(ipe=1.0)})
    with pytest.raises(InvalidInput, match='did you mean "sequence_1"'):
        make(q5_text(), profile=profile)


@pytest.mark.parametrize(
    ("text", "cluster", "selectivity", "events_per_s"),
    [
        (q5_text(), Cluster(), 0.0484, 18_264_618),
        (q5_text(), Cluster(host="spark", engines=2), 0.0495, 1_966_182),
        (PATTERNS["Kleene, rising"], Cluster(), 0.2378, 7_079_949),
        (q2_text("avg", 500, 1), Cluster(), None, 10_978_844),
        (TUMBLING, Cluster(), None, 25_251_565),
        (q3_text(5000), Cluster(), None, 7_953_068),
    ],
    ids=["Q5", "Q5 on Spark", "Kleene", "sliding", "tumbling", "Q3"],
)
def test_default_costs_add_up_to_what_whole_queries_were_measured_at(
    text: str, cluster: Cluster, selectivity: float | None, events_per_s: float
) -> None:
    """The rates are those of benchmarks/results: patterns.json and windows.json."""
    selectivities = None if selectivity is None else {"query": selectivity}
    keys = dict.fromkeys(STREAMS, 10_000.0)
    cluster_rate = cluster.processors * cluster.mips * 1e6
    scenario = make(text, cluster=cluster, selectivities=selectivities, keys=keys)
    assert cluster_rate / cost_per_event(scenario) == pytest.approx(events_per_s, rel=0.03)


def cost_per_event(scenario: Scenario) -> float:
    """Instructions of all vertices for one event that comes in."""
    (query,) = scenario.queries
    arriving = dict.fromkeys((vertex.id for vertex in query.vertices), 0.0)
    spent = offered = 0.0
    for vertex in query.vertices:
        if vertex.arrivals is not None:
            arriving[vertex.id] = vertex.arrivals.mean_rate(1.0)
            offered += arriving[vertex.id]
        spent += arriving[vertex.id] * vertex.ipe
        leaving = arriving[vertex.id] if vertex.output is None else vertex.output / vertex.advance_s
        for edge in query.edges:
            if edge.source == vertex.id:
                arriving[edge.target] += leaving * edge.selectivity
    return spent / offered


@pytest.mark.parametrize("wanted", [0.002, 0.5, 3.0])
def test_the_selectivity_of_a_query_is_met_whatever_lies_on_the_way(wanted: float) -> None:
    text = """SELECT a.id, a.ts AS first_ts, b.ts AS last_ts FROM PATTERN SEQ(s1 a, s2 b)
              WHERE a.id = b.id AND a.a1 > 50 WITHIN INTERVAL '10' SECOND"""
    shares = selectivities_of(make(text, selectivities={"query": wanted}))
    rows = {"source_1": RATE_PER_S, "source_2": RATE_PER_S}
    graph = place(text).graph
    for name in graph.order:
        arriving = [rows[source] * shares[source, name] for source in graph.inputs(name)]
        rows[name] = sum(arriving) if arriving else RATE_PER_S
    assert rows["sink_1"] == pytest.approx(wanted * 2.0 * RATE_PER_S)


def test_a_selectivity_that_windows_decide_is_refused() -> None:
    with pytest.raises(InvalidInput, match="follows from its windows"):
        make(TUMBLING, selectivities={"query": 0.5})
    with pytest.raises(InvalidInput, match='no query "other"'):
        make(TUMBLING, selectivities={"other": 0.5})


def test_queries_share_what_their_graph_shares() -> None:
    queries = {"pairs": q5_text(), "average": q2_text("avg", 500, 1)}
    scenario = make(queries, selectivities={"pairs": 0.2}, settings=AS_CEPSIM, rate=1000.0)
    assert [query.name for query in scenario.queries] == ["pairs", "average"]
    assert sorted(vertices_of(scenario)) == sorted(place(queries).graph.vertices)
    assert [edge.source for edge in scenario.queries[1].edges if "." in edge.source] == ["pairs.source_1"]
    outcome = simulate(scenario, engine="reference")
    throughput = {each.query: each.minutes[0].throughput_per_s * 60.0 / 20.0 for each in outcome.consumers()}
    assert throughput == pytest.approx({"pairs": 1000.0, "average": 1000.0}, rel=0.02)


def test_what_one_engine_does_is_not_quicker_on_many() -> None:
    whole = "SELECT avg(a1) AS f FROM events [ROWS 500 SLIDE 1]"
    for text, name, factor in ((whole, "window_aggregate_1", 8), (q5_text(), "sequence_1", 1)):
        one = vertices_of(make(text))[name]
        many = vertices_of(make(text, cluster=Cluster(engines=4, pes=2)))[name]
        assert many.ipe == pytest.approx(factor * one.ipe)
        measured = Profile(host="embedded", pes=2, vertices={name: VertexProfile(ipe=500.0)})
        many = vertices_of(make(text, cluster=Cluster(engines=4, pes=2), profile=measured))[name]
        assert many.ipe == pytest.approx(500.0 * (4 if factor > 1 else 1))  # two processors were counted already


def test_the_cluster_is_one_machine_that_runs_in_batches() -> None:
    cluster = Cluster(host="spark", engines=3, pes=2, mips=1000.0, trigger_s=2.0, price_per_hour=0.5)
    scenario = make(q5_text(), cluster=cluster)
    (vm,) = scenario.vms
    assert (vm.pes, vm.mips, vm.price_per_hour) == (6, 1000.0, 1.5)
    assert (scenario.fidelity, scenario.scheduler) == ("corrected", "micro_batch")
    assert (scenario.micro_batch.interval_s, scenario.micro_batch.overhead_s) == (2.0, 0.25)
    assert {machine for query in scenario.queries for machine in query.placement.values()} == {vm.name}
    lay_out(replace(scenario, scheduler="dynamic"))


def test_settings_are_those_of_a_scenario() -> None:
    scenario = make(q5_text(), settings={"duration_s": 7.0, "fidelity": "cepsim", "iterations": 2})
    assert (scenario.duration_s, scenario.iterations, scenario.scheduler) == (7.0, 2, "dynamic")
    assert scenario.micro_batch == MicroBatch()
    with pytest.raises(InvalidInput, match='did you mean "tick_s"'):
        make(q5_text(), settings={"ticks_s": 1.0})
    with pytest.raises(InvalidInput, match="CEPSim has no scheduler"):
        make(q5_text(), settings={"fidelity": "cepsim", "scheduler": "micro_batch"})


@pytest.mark.parametrize("fidelity", ["cepsim", "corrected"])
def test_overload_shows_at_the_rate_that_the_costs_say(fidelity: str) -> None:
    settings = {**AS_CEPSIM, "fidelity": fidelity}
    vertices = vertices_of(make(q5_text(), settings=settings))
    limit = 2.5e9 / sum(vertices[name].ipe for name in ("source_1", "project_1", "sequence_1"))
    for share, waits in ((0.8, False), (1.3, True)):
        outcome = simulate(make(q5_text(), settings=settings, rate=share * limit), engine="reference")
        most = max(vertex.most_waiting for vertex in outcome.vertices())
        assert (most > limit) is waits


def test_sources_without_a_rate_are_told() -> None:
    with pytest.raises(InvalidInput, match='how many events come from "events"'):
        scenario_of_graph(place(q5_text()), {"other": Uniform(1.0)})


def test_a_query_that_reads_nothing_is_told() -> None:
    with pytest.raises(InvalidInput, match="reads no stream"):
        make("SELECT 1 AS one")


def test_an_empty_graph_has_no_queries() -> None:
    assert scenario_of_graph(PlacedGraph(QueryGraph(), {}), {}).queries == ()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*app*.toml")), ids=lambda path: path.stem)
def test_the_shipped_applications_can_be_laid_out(path: Path) -> None:
    scenario = scenario_of_application(path, describe_sql, ENDPOINTS)
    layout = lay_out(replace(scenario, scheduler="dynamic"))
    assert len(layout.consumers()) == len(scenario.queries) >= 2
    assert all(layout.arrivals(producer).mean_rate(scenario.duration_s) > 0.0 for producer in layout.producers())
