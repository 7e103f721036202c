"""Variations of a scenario, sweeps over them, and plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cepheid.deployment import Deploy, Retire, TimedAction
from cepheid.errors import InvalidInput, InvalidScenario
from cepheid.simulation.arrivals.poisson import Poisson
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.exploration.plan import make_plan, parse_goals
from cepheid.simulation.exploration.sweep import Axis, measure_point, parse_axis, run_sweep
from cepheid.simulation.scenario import (
    Datacentre,
    Failure,
    Host,
    Link,
    MicroBatch,
    Query,
    Scenario,
    ScenarioEdge,
    ScenarioVertex,
    Vm,
)
from cepheid.simulation.scenarios.scenario_checks import check_scenario
from cepheid.simulation.scenarios.variations import VARIATIONS, vary, with_engines, with_rate


def make_vertex(name: str, kind: Any, ipe: float, **others: Any) -> ScenarioVertex:
    return ScenarioVertex(id=name, kind=kind, ipe=ipe, **others)


def make_chain(ipe: float = 100_000.0, rate: float = 1000.0, queue: float = 0.0, **others: Any) -> Scenario:
    """On one machine of 2500 MIPS: about 25,000 events/s go through."""
    query = Query(
        name="chain",
        vertices=(
            make_vertex("in", "producer", 1.0, arrivals=Uniform(rate)),
            make_vertex("work", "operator", ipe, queue=queue),
            make_vertex("out", "consumer", 10.0),
        ),
        edges=(ScenarioEdge("in", "work"), ScenarioEdge("work", "out")),
        placement=dict.fromkeys(("in", "work", "out"), "vm"),
    )
    vms = (Vm(name="vm", price_per_hour=0.5),)
    return Scenario(queries=(query,), vms=vms, duration_s=241.0, tick_s=1.0, **others)


def make_windows(window_s: float) -> Scenario:
    chain = make_chain(ipe=1000.0)
    window = make_vertex("work", "window", 1000.0, window_s=window_s, advance_s=window_s, output=8.0)
    vertices = tuple(window if vertex.id == "work" else vertex for vertex in chain.queries[0].vertices)
    return replace(chain, queries=(replace(chain.queries[0], vertices=vertices),))


def measure(scenario: Scenario, **values: Any) -> Any:
    return measure_point(scenario, values, engine="reference")


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("rate=1000:3000:1000", "rate", (1000, 2000, 3000)),
        ("rate=1000:3500:1000", "rate", (1000, 2000, 3000)),
        ("engines=1:4", "engines", (1, 2, 3, 4)),
        ("engines=1:64:x2", "engines", (1, 2, 4, 8, 16, 32, 64)),
        ("tick_s=0.1:0.3:0.1", "tick_s", (0.1, 0.2, 0.3)),
        ("scheduler=simple,dynamic", "scheduler", ("simple", "dynamic")),
        ("queue=0, 2048", "queue", (0, 2048)),
        ("rate=5,5,7", "rate", (5, 7)),
    ],
)
def test_an_axis_is_read(text: str, name: str, values: tuple[Any, ...]) -> None:
    assert parse_axis(text) == Axis(name, values)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rate", "NAME=VALUES"),
        ("rate=", "NAME=VALUES"),
        ("rat=1:2", "cannot be varied"),
        ("rate=1:b:1", '"b" is no number'),
        ("rate=3:1:1", "ends before it begins"),
        ("rate=1:3:0", "would never end"),
        ("rate=1:3:x1", "would never end"),
        ("rate=0:3:1", "above 0"),
        ("rate=nan", "above 0"),
        ("rate=1:2:3:4", "is no range"),
        ("rate=1:1e9:1", "more than 100,000 values"),
        ("engines=1.5", "no whole number"),
        ("engines=0", "above 0"),
        ("scheduler=dinamic", "is no scheduler"),
        ("scheduler=simple:dynamic", "is no range"),
    ],
)
def test_mistakes_in_an_axis_are_told(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        parse_axis(text)


def test_producers_keep_their_proportions() -> None:
    chain = make_chain()
    more = make_vertex("more", "producer", 1.0, arrivals=Uniform(3000.0))
    query = chain.queries[0]
    query = replace(
        query,
        vertices=(*query.vertices, more),
        edges=(*query.edges, ScenarioEdge("more", "work")),
        placement={**query.placement, "more": "vm"},
    )
    varied = with_rate(replace(chain, queries=(query,)), 1000.0)
    rates = [vertex.arrivals.mean_rate(1.0) for vertex in varied.queries[0].vertices if vertex.arrivals]
    assert rates == pytest.approx([250.0, 750.0])


def test_engines_share_events_and_keys() -> None:
    whole = make_windows(10.0)
    varied = with_engines(whole, 4)
    check_scenario(varied)
    assert [vm.name for vm in varied.vms] == ["vm#1", "vm#2", "vm#3", "vm#4"]
    for query in varied.queries:
        source, window, _ = query.vertices
        assert source.arrivals == Uniform(250.0)
        assert window.output == 2.0
    assert [set(query.placement.values()) for query in varied.queries] == [{f"vm#{n}"} for n in (1, 2, 3, 4)]
    assert with_engines(whole, 1) == whole


def test_engines_take_links_changes_servers_and_shared_vertices_along() -> None:
    chain = make_chain(fidelity="corrected")
    second = Query(
        name="second",
        vertices=(make_vertex("end", "consumer", 1.0),),
        edges=(ScenarioEdge("chain.work", "end"),),
        placement={"end": "other"},
    )
    scenario = replace(
        chain,
        queries=(*chain.queries, second),
        vms=(*chain.vms, Vm(name="other", datacentre="dc")),
        datacentres=(Datacentre(name="dc", hosts=(Host(name="h", pes=1, mips=2500.0),)),),
        links=(
            Link(source="vm", target="other", latency_s=0.1),
            Link(source="dc", target="dc", latency_s=0.1),
        ),
        failures=(Failure(at_s=5.0, machine="vm", for_s=1.0),),
        actions=(TimedAction(9.0, Retire(name="second")),),
    )
    check_scenario(scenario)
    varied = with_engines(scenario, 2)
    check_scenario(varied)
    assert [(link.source, link.target) for link in varied.links] == [
        ("vm#1", "other#1"),
        ("dc", "dc"),
        ("vm#2", "other#2"),
    ]
    assert [failure.machine for failure in varied.failures] == ["vm#1"]
    assert [timed.action for timed in varied.actions] == [Retire(name="second#1"), Retire(name="second#2")]
    assert varied.datacentres[0].hosts[0].count == 2
    assert varied.queries[3].edges == (ScenarioEdge("chain#2.work", "end"),)


VALUES: dict[str, Any] = {
    "fidelity": "corrected",
    "scheduler": "simple",
    "allocation": "weighted",
    "tick_s": 0.5,
    "duration_s": 10.0,
    "iterations": 3,
    "network_delay_s": 0.5,
    "cloudlet_pes": 2,
    "mips": 100.0,
    "pes": 7,
    "queue": 5.0,
    "copies": 3,
    "rate": 9.0,
    "engines": 3,
}


def test_everything_that_can_be_varied_has_a_value_here() -> None:
    assert VALUES.keys() == VARIATIONS.keys()


@pytest.mark.parametrize("name", VALUES)
def test_a_variation_changes_the_scenario_and_nothing_by_chance(name: str) -> None:
    chain = make_chain()
    varied = vary(chain, {name: VALUES[name]})
    assert varied != chain
    assert varied == vary(make_chain(), {name: VALUES[name]})
    check_scenario(varied)
    simple_fields = {"fidelity", "scheduler", "allocation", "tick_s", "duration_s", "iterations", "network_delay_s"}
    if name in simple_fields | {"cloudlet_pes"}:
        assert getattr(varied, name) == VALUES[name]
    if name in {"mips", "pes"}:
        assert getattr(varied.vms[0], name) == VALUES[name]


def test_a_rate_is_shared_by_engines_in_whatever_order_they_are_named() -> None:
    one = vary(make_chain(), {"engines": 2, "rate": 100.0})
    assert one == vary(make_chain(), {"rate": 100.0, "engines": 2})
    assert one.queries[0].vertices[0].arrivals == Uniform(50.0)


def test_a_variation_that_fidelity_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidScenario, match="micro_batch"):
        vary(make_chain(), {"scheduler": "micro_batch"})
    with pytest.raises(InvalidScenario, match="ticks"):
        vary(make_chain(), {"tick_s": 1e-9})


def test_a_sweep_has_a_point_for_every_combination() -> None:
    told: list[float] = []
    sweep = run_sweep(
        replace(make_chain(), duration_s=20.0),
        [parse_axis("rate=100,200"), parse_axis("scheduler=simple,dynamic")],
        told.append,
        engine="reference",
    )
    assert [point.values for point in sweep.points] == [
        {"rate": rate, "scheduler": scheduler} for rate in (100, 200) for scheduler in ("simple", "dynamic")
    ]
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
    row = sweep.as_json()["sweep"][1]
    assert (row["rate"], row["scheduler"], row["behind"]) == (100, "dynamic", "")
    assert row["offered_per_s"] == pytest.approx(100.0)


def test_nothing_is_swept_twice_or_without_end() -> None:
    with pytest.raises(InvalidInput, match="swept twice"):
        run_sweep(make_chain(), [parse_axis("rate=1,2"), parse_axis("rate=3")])
    with pytest.raises(InvalidInput, match="combinations"):
        run_sweep(make_chain(), [parse_axis("rate=1:50000"), parse_axis("engines=1:100")])


@pytest.mark.parametrize("fidelity", ["cepsim", "corrected"])
@pytest.mark.parametrize("queue", [0.0, 40_000.0])
def test_overload_is_seen_with_and_without_bounds(fidelity: Any, queue: float) -> None:
    """The machine can do 24,999 events/s."""
    scenario = make_chain(queue=queue, fidelity=fidelity)
    below, above = (measure(scenario, rate=rate) for rate in (24_000, 26_000))
    assert below.behind == ""
    assert below.throughput_per_s == pytest.approx(24_000, rel=1e-3)
    assert below.offered_per_s == pytest.approx(24_000)
    assert below.utilisation == pytest.approx(24 / 25, rel=1e-2)
    assert 'query "chain"' in above.behind
    assert above.throughput_per_s == pytest.approx(25_000, rel=2e-3)
    assert above.utilisation == pytest.approx(1.0, rel=1e-2)
    assert above.most_waiting > below.most_waiting


@pytest.mark.parametrize("window_s", [7.0, 15.0, 25.0, 50.0])
def test_windows_that_do_not_fit_into_minutes_are_no_overload(window_s: float) -> None:
    assert measure(make_windows(window_s)).behind == ""


def test_batches_that_do_not_fit_into_minutes_are_no_overload() -> None:
    """A batch of n events takes n / 25,000 seconds and one second more."""
    batches = MicroBatch(interval_s=7.0, overhead_s=1.0)
    scenario = make_chain(fidelity="corrected", scheduler="micro_batch", micro_batch=batches)
    assert measure(scenario, rate=12_000).behind == ""
    assert measure(scenario, rate=30_000).behind != ""


def test_random_arrivals_are_no_overload_by_chance() -> None:
    chain = make_chain()
    for seed in range(5):
        source = replace(chain.queries[0].vertices[0], arrivals=Poisson(rate_per_s=20.0, seed=seed))
        query = replace(chain.queries[0], vertices=(source, *chain.queries[0].vertices[1:]))
        assert measure(replace(chain, queries=(query,))).behind == ""


def test_a_queue_that_only_grows_is_told_though_a_window_hides_the_throughput() -> None:
    """At most 2.5 million events/s go through; the window closes once in the minutes looked at, or never."""
    assert measure(make_windows(200.0), rate=2_000_000.0).behind == ""
    assert "grows by" in measure(make_windows(200.0), rate=3_000_000.0).behind


def test_short_runs_are_looked_at_as_a_whole() -> None:
    short = replace(make_chain(), duration_s=40.0)
    assert measure(short, rate=20_000).behind == ""
    assert measure(short, rate=35_000).behind != ""


def test_nothing_is_offered_to_a_query_that_is_not_deployed() -> None:
    actions = (
        TimedAction(121.0, Deploy(name="chain")),
        TimedAction(181.0, Retire(name="chain")),
    )
    point = measure(make_chain(fidelity="corrected", actions=actions))
    assert point.offered_per_s == pytest.approx(1000.0 / 3.0, rel=1e-2)  # one minute of three
    assert point.throughput_per_s == pytest.approx(1000.0 / 3.0, rel=2e-2)  # what is under way at the end is lost
    assert measure(make_chain(fidelity="corrected", actions=actions[:1])).behind == ""


def test_cost_is_that_of_all_machines() -> None:
    assert measure(make_chain(), engines=3).cost_per_hour == pytest.approx(1.5)


def test_a_consumer_that_gets_nothing_has_no_latency() -> None:
    point = measure(replace(make_windows(200.0), duration_s=100.0))
    assert point.latency_ms is None
    assert point.latency_p99_ms is None


def test_the_slowest_consumer_is_what_counts() -> None:
    windows = make_windows(10.0)
    direct = make_vertex("direct", "consumer", 10.0)
    query = windows.queries[0]
    query = replace(
        query,
        vertices=(*query.vertices, direct),
        edges=(*query.edges, ScenarioEdge("in", "direct")),
        placement={**query.placement, "direct": "vm"},
    )
    both = replace(windows, queries=(query,))
    assert measure(both).latency_ms == pytest.approx(measure(windows).latency_ms, rel=1e-2)
    assert measure(both).throughput_per_s == pytest.approx(1000.0)
    never = vary(replace(both, duration_s=9.0), {})
    assert measure(never).latency_ms is None


@pytest.mark.parametrize(
    ("words", "goals", "rate"),
    [
        (["latency_p99=2s", "rate=200000"], {"latency_p99": 2000.0}, 200000.0),
        (["latency=500ms"], {"latency": 500.0}, None),
        (["rate=1e6", "latency_p50=1.5min", "cost=3.5"], {"latency_p50": 90_000.0, "cost": 3.5}, 1e6),
    ],
)
def test_goals_are_read(words: list[str], goals: dict[str, float], rate: float | None) -> None:
    assert parse_goals(words) == (goals, rate)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rate=5"], "needs a goal"),
        (["latency_p99"], "NAME=VALUE"),
        (["latency_p98=2s"], "no goal"),
        (["latency=2"], "needs a duration"),
        (["latency=0s"], "needs a duration"),
        (["latency=2s", "latency=3s"], "twice"),
        (["latency=2s", "rate=-5"], "above 0"),
        (["latency=2s", "rate=fast"], "above 0"),
        (["cost=nan"], "above 0"),
    ],
)
def test_mistakes_in_goals_are_told(words: list[str], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        parse_goals(words)


@pytest.mark.parametrize("rate", [20_000.0, 30_000.0, 130_000.0, 270_000.0])
def test_a_plan_finds_the_fewest_engines(rate: float) -> None:
    told: list[float] = []
    plan = make_plan(make_chain(), {"latency": 60_000.0}, rate, progress=told.append, engine="reference")
    fewest = next(n for n in range(1, 20) if not measure(make_chain(), rate=rate, engines=n).behind)
    assert plan.engines == fewest
    assert plan.enough is not None
    assert plan.enough.values == {"engines": fewest}
    assert plan.enough.offered_per_s == pytest.approx(rate)
    if fewest > 1:
        assert plan.too_few is not None
        assert plan.too_few.values == {"engines": fewest - 1}
        assert plan.too_few.behind in plan.reason
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_plan_for_latency_asks_for_more_than_one_for_throughput() -> None:
    """A batch of a second's events takes its share of a second: half as many are twice as quick."""
    loose, tight = (
        make_plan(make_chain(fidelity="cepsim"), {"latency_p99": most}, 20_000.0, engine="reference")
        for most in (5000.0, 250.0)
    )
    assert loose.engines == 1
    assert tight.engines is not None
    assert tight.engines > 1
    assert tight.too_few is not None
    assert tight.too_few.latency_p99_ms > 250.0
    assert "latency_p99 is" in tight.reason
    assert tight.enough is not None
    assert tight.enough.latency_p99_ms <= 250.0


def test_a_plan_that_nothing_fulfils_says_why() -> None:
    few = make_plan(make_chain(), {"latency": 60_000.0}, 200_000.0, most_engines=3, engine="reference")
    assert few.engines is None
    assert few.too_few is not None
    assert few.too_few.values == {"engines": 3}
    assert "3 engines, the most that may be, are not enough" in few.reason
    never = make_plan(make_windows(20.0), {"latency": 100.0}, most_engines=8, engine="reference")
    assert never.engines is None
    assert "latency is" in never.reason
    assert never.rate == 1000.0
    dear = make_plan(make_chain(), {"latency": 60_000.0, "cost": 1.0}, 110_000.0, engine="reference")
    assert dear.engines is None
    assert dear.too_few is not None
    assert dear.too_few.values == {"engines": 4}
    assert "needed, but cost is 2.50 per hour, more than 1.00 per hour" in dear.reason


def test_a_plan_is_told_as_json() -> None:
    plan = make_plan(make_chain(), {"latency": 60_000.0}, 40_000.0, engine="reference").as_json()["plan"]
    assert plan["engines"] == 2
    assert plan["cost_per_hour"] == pytest.approx(1.0)
    assert plan["enough"]["engines"] == 2
    assert plan["too_few"]["engines"] == 1
    assert [point["engines"] for point in plan["tried"]] == [1, 2]
