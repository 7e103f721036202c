"""The array engine: the same tally as the reference, bit for bit, in ways that random scenarios seldom take.

tests/property/test_simulation.py compares the two on random scenarios.
"""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit

from cepheid.deployment import AddMachine, Deploy, Move, RemoveMachine, Retire, Scale, TimedAction
from cepheid.errors import NotSupportedYet
from cepheid.simulation.arrivals.poisson import Poisson
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.clock import ticks_of
from cepheid.simulation.compiled import amounts
from cepheid.simulation.compiled.engine import CompiledEngine
from cepheid.simulation.compiled.options import kernel
from cepheid.simulation.compiled.run_queue import mark_runnable, next_runnable
from cepheid.simulation.compiled.warm_up import compile_engine
from cepheid.simulation.layout import lay_out
from cepheid.simulation.reference.engine import ReferenceEngine
from cepheid.simulation.reference.schedulers import SCHEDULERS
from cepheid.simulation.run import SimulationRun
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
from cepheid.simulation.simulate import play
from cepheid.simulation.tally import Tally

WAYS = [(fidelity, name) for name, scheduler in SCHEDULERS.items() for fidelity in scheduler.kernels]
every_way = pytest.mark.parametrize(("fidelity", "scheduler"), WAYS)


def averages(name: str = "q", rate: float = 3000.0, queue: float = 2048.0, **placement: str) -> Query:
    """Two sources meet in a window; what it gives is written by a slow vertex."""
    vertices = (
        ScenarioVertex(id="left", kind="producer", ipe=1000.0, arrivals=Uniform(rate)),
        ScenarioVertex(id="right", kind="producer", ipe=1000.0, arrivals=Uniform(0.3 * rate)),
        ScenarioVertex(id="filter", kind="operator", ipe=18_000.0, queue=queue),
        ScenarioVertex(
            id="average", kind="window", ipe=18_000.0, queue=queue, window_s=3.0, advance_s=1.0, output=40.0
        ),
        ScenarioVertex(id="db", kind="operator", ipe=11_000_000.0, queue=0.01 * queue),
        ScenarioVertex(id="end", kind="consumer", ipe=1000.0, queue=queue),
    )
    edges = (
        ScenarioEdge("left", "filter"),
        ScenarioEdge("filter", "average", 0.95),
        ScenarioEdge("right", "average"),
        ScenarioEdge("average", "db"),
        ScenarioEdge("db", "end"),
    )
    places = {vertex.id: placement.get(vertex.id, "vm1") for vertex in vertices}
    return Query(name=name, vertices=vertices, edges=edges, placement=places)


def scenario(*queries: Query, **fields_of_it: object) -> Scenario:
    machines = tuple(Vm(name=f"vm{number}", pes=number) for number in (1, 2, 3))
    plain = Scenario(queries=queries, vms=machines, duration_s=20.0, micro_batch=MicroBatch(interval_s=0.5))
    return replace(plain, **fields_of_it)  # type: ignore[arg-type]


def run_reference(what: Scenario) -> Tally:
    ticks = list(ticks_of(what.duration_s, what.tick_s))
    engine = ReferenceEngine(what, lay_out(what), ticks)
    engine.run(0, len(ticks))
    return engine.tally


def run_compiled(what: Scenario, *stops: int) -> CompiledEngine:
    """stops: ticks at which it pauses."""
    ticks = list(ticks_of(what.duration_s, what.tick_s))
    engine = CompiledEngine(what, lay_out(what), ticks)
    bounds = [0, *stops, len(ticks)]
    for first, last in pairwise(bounds):
        engine.run(first, last)
    return engine


def assert_equal(expected: Tally, found: Tally) -> None:
    names = [field.name for field in fields(Tally)]
    different = [
        name
        for name in names
        if not np.array_equal(np.asarray(getattr(expected, name)), np.asarray(getattr(found, name)))
    ]
    assert not different


@every_way
@pytest.mark.parametrize("rate", [30.0, 3000.0, 300_000.0])
def test_it_counts_what_the_reference_counts(fidelity: str, scheduler: str, rate: float) -> None:
    what = scenario(averages(rate=rate), fidelity=fidelity, scheduler=scheduler)
    expected = run_reference(what)
    assert expected.consumed.sum() > 0.0
    assert_equal(expected, run_compiled(what).tally)


@every_way
def test_machines_that_exchange_messages_agree_too(fidelity: str, scheduler: str) -> None:
    what = scenario(
        averages("a", db="vm2", average="vm3"),
        averages("b", left="vm2", filter="vm2", end="vm3"),
        fidelity=fidelity,
        scheduler=scheduler,
        allocation="weighted",
        iterations=3,
        links=(Link(source="vm2", target="vm3", latency_s=0.002, bandwidth_mbps=1.0),)
        if fidelity == "corrected"
        else (),
    )
    expected = run_reference(what)
    assert expected.sent.sum() > 0.0
    assert_equal(expected, run_compiled(what).tally)


@every_way
def test_a_run_may_pause_at_any_tick(fidelity: str, scheduler: str) -> None:
    what = scenario(averages(db="vm2"), fidelity=fidelity, scheduler=scheduler, duration_s=5.0)
    assert_equal(run_compiled(what).tally, run_compiled(what, 1, 2, 17, 30, 49).tally)


@every_way
def test_it_goes_on_where_it_was_after_the_pool_has_grown(fidelity: str, scheduler: str) -> None:
    """Without bounds, everything waits at the slow vertex: far more sets than the pool begins with."""
    query = averages(rate=50_000.0, queue=0.0)
    what = scenario(query, fidelity=fidelity, scheduler=scheduler, tick_s=0.02, iterations=2)
    ticks = list(ticks_of(what.duration_s, what.tick_s))
    engine = CompiledEngine(what, lay_out(what), ticks)
    before = len(engine.lanes[0].pool.nodes)
    engine.run(0, len(ticks))
    assert max(len(lane.pool.nodes) for lane in engine.lanes) > before
    assert_equal(run_reference(what), engine.tally)


@every_way
def test_what_is_kept_does_not_grow_with_the_number_of_events(fidelity: str, scheduler: str) -> None:
    what = scenario(averages(rate=1000.0), fidelity=fidelity, scheduler=scheduler)
    short, long = (run_compiled(replace(what, duration_s=duration)) for duration in (10.0, 200.0))
    assert [len(lane.pool.nodes) for lane in long.lanes] == [len(lane.pool.nodes) for lane in short.lanes]


def test_one_of_two_messages_of_one_instant_is_lost_as_in_cepsim() -> None:
    """Two equal machines send to a third, at the same times."""
    sources = tuple(ScenarioVertex(id=name, kind="producer", ipe=1000.0, arrivals=Uniform(100.0)) for name in "ba")
    vertices = (*sources, ScenarioVertex(id="end", kind="consumer", ipe=1000.0))
    query = Query(
        name="q",
        vertices=vertices,
        edges=(ScenarioEdge("b", "end"), ScenarioEdge("a", "end")),
        placement={"b": "x", "a": "y", "end": "z"},
    )
    what = Scenario(queries=(query,), vms=tuple(Vm(name=name) for name in "xyz"), duration_s=10.0)
    expected = run_reference(what)
    assert expected.dropped[2] > 400.0
    assert_equal(expected, run_compiled(what).tally)


def test_many_independent_machines_run_in_several_lanes() -> None:
    """Families of one and of six producers, apart and joined."""
    wide = Query(
        name="wide",
        vertices=(
            *(ScenarioVertex(id=f"s{n}", kind="producer", ipe=500.0, arrivals=Uniform(70.0 * n)) for n in range(1, 7)),
            ScenarioVertex(id="end", kind="consumer", ipe=9000.0, queue=50.0),
        ),
        edges=tuple(ScenarioEdge(f"s{n}", "end", 0.1 * n) for n in range(1, 7)),
        placement={**{f"s{n}": "vm3" for n in range(1, 7)}, "end": "vm3"},
    )
    what = scenario(averages("a"), averages("b", **dict.fromkeys(("left", "right", "filter"), "vm1")), wide)
    engine = run_compiled(what)
    assert len(engine.lanes) > 1
    assert_equal(run_reference(what), engine.tally)


@pytest.mark.parametrize("scheduler", ["simple", "dynamic", "micro_batch"])
@pytest.mark.parametrize(
    "changes",
    [
        (TimedAction(5.0, Deploy(name="b")), TimedAction(12.0, Retire(name="a"))),
        (TimedAction(4.0, Move(query="a", vertex="average", machine="vm3", pause_s=1.0)),),
        (
            TimedAction(4.0, Move(query="b", machine="vm2")),
            TimedAction(6.0, Move(query="b", machine="vm1")),
        ),
        (
            Failure(at_s=3.0, machine="vm1", for_s=2.5),
            Failure(at_s=9.0, machine="vm2", for_s=1.0),
        ),
        (
            TimedAction(3.0, RemoveMachine(name="vm2", loses=False)),
            TimedAction(8.0, AddMachine(name="vm3")),
        ),
        (
            TimedAction(3.0, Scale(machine="vm2", engines=5)),
            TimedAction(7.0, Scale(machine="vm2", engines=1)),
        ),
    ],
    ids=lambda changes: " ".join(type(getattr(each, "action", each)).__name__ for each in changes),
)
def test_changes_while_it_runs_have_the_same_effect(scheduler: str, changes: tuple[TimedAction | Failure, ...]) -> None:
    what = scenario(
        averages("a", rate=9000.0, db="vm2"),
        averages("b", filter="vm2", average="vm3"),
        fidelity="corrected",
        scheduler=scheduler,
        failures=tuple(each for each in changes if isinstance(each, Failure)),
        actions=tuple(each for each in changes if isinstance(each, TimedAction)),
    )
    reference, compiled = SimulationRun(what, "reference"), SimulationRun(what, "compiled")
    for run in (reference, compiled):
        play(run)
    assert_equal(reference.engine.tally, compiled.engine.tally)
    assert np.array_equal(reference.engine.waiting(), compiled.engine.waiting())


def test_a_family_wider_than_all_before_may_be_deployed() -> None:
    """The pool has to become wider, not only longer."""
    narrow = Query(
        name="narrow",
        vertices=(
            ScenarioVertex(id="s", kind="producer", ipe=1000.0, arrivals=Uniform(100.0)),
            ScenarioVertex(id="e", kind="consumer", ipe=1000.0),
        ),
        edges=(ScenarioEdge("s", "e"),),
        placement={"s": "vm1", "e": "vm1"},
    )
    deploy = TimedAction(5.0, Deploy(name="a"))
    what = scenario(narrow, averages("a"), fidelity="corrected", actions=(deploy,))
    reference, compiled = SimulationRun(what, "reference"), SimulationRun(what, "compiled")
    for run in (reference, compiled):
        play(run)
    assert_equal(reference.engine.tally, compiled.engine.tally)


@every_way
def test_arrivals_that_vary_are_told_in_parts_if_the_table_is_large(
    fidelity: str, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = averages(db="vm2")
    random = tuple(
        replace(vertex, arrivals=Poisson(rate_per_s=500.0, seed=7)) if vertex.kind == "producer" else vertex
        for vertex in query.vertices
    )
    what = scenario(replace(query, vertices=random), fidelity=fidelity, scheduler=scheduler, iterations=2)
    expected = run_reference(what)
    assert_equal(expected, run_compiled(what).tally)
    monkeypatch.setattr(amounts, "MOST_BYTES", 1000)
    assert_equal(expected, run_compiled(what).tally)


def test_what_is_written_in_python_is_left_to_the_reference_engine() -> None:
    what = scenario(averages(), scheduler="longest_queue")
    with pytest.raises(NotSupportedYet, match="longest_queue"):
        CompiledEngine(what, lay_out(what), list(ticks_of(what.duration_s, what.tick_s)))


@njit
def find_runnable(words: npt.NDArray[np.uint64], marked: npt.NDArray[np.int64], found: npt.NDArray[np.int64]) -> None:
    for position in marked:
        mark_runnable(words, 1, position)
    for start in range(len(found)):
        found[start] = next_runnable(words, 1, start, len(found))


def test_the_next_runnable_is_found_across_words() -> None:
    marked, found = np.array([0, 5, 63, 64, 127, 130, 191]), np.zeros(192, np.int64)
    find_runnable(np.zeros(4, np.uint64), marked, found)
    assert [*found] == [min(each for each in marked if each >= start) for start in range(192)]


def test_every_kernel_can_be_compiled_ahead() -> None:
    compile_engine()


def add_one(number: int) -> int:
    return number + 1


def test_a_cache_of_an_older_release_is_replaced() -> None:
    """Its index names classes that are no more."""
    index: Any = kernel(add_one)._cache._cache_file  # type: ignore[attr-defined]
    path = Path(index._index_path)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(index._version) + b"ccepheid.simulation.compiled.counts\nGone\n.")
    with pytest.raises(AttributeError, match="Gone"):
        type(index)._load_index(index)  # as Numba does it
    assert index._load_index() == {}, "nothing is known"
    assert kernel(add_one)(1) == 2
    assert type(index)._load_index(index), "written anew"
