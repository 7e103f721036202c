"""Profiles of vertices, and what the simulator makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from cepheid.bench.prediction import bracket_overload
from cepheid.bench.study_data import q5_text
from cepheid.bench.window_queries import q2_text
from cepheid.calibration.predict import HostShape, Predictor, find_overload
from cepheid.calibration.profile_vertices import PASSING_IPE, make_profile
from cepheid.compiler import compile_query
from cepheid.cost.profile import NOMINAL_MIPS, QueryProfile
from cepheid.execution.embedded.relations import describe_sql
from cepheid.language.catalog import Catalog
from cepheid.placement.placed_graph import PlacedGraph

SCHEMA = pa.schema([("id", pa.int32()), ("a1", pa.float64()), ("ts", pa.timestamp("us"))])
COST = QueryProfile(
    latency_s=2e-6,
    throughput_s=1.5e-6,
    regression_s=1e-6,
    overhead_s=0.4,
    r2=1.0,
    spread=0.0,
    selectivity=0.05,
    largest_batch=800_000,
    batches=20,
    events=10_000_000,
)
SHAPE = HostShape(2, 0.5, 800_000)


def place(text: str | dict[str, str]) -> PlacedGraph:
    return compile_query(text, Catalog({"events": SCHEMA}, describe_sql, frozenset({"events"}))).placed


def predictor(text: str, cost: QueryProfile = COST, shape: HostShape = SHAPE) -> Predictor:
    placed = place(text)
    profile = make_profile(placed, {"query": cost}, "spark", shape.pes)
    return Predictor(placed, profile, shape, {"events": 1.0}, "reference")


def test_what_a_query_costs_is_borne_by_what_remembers() -> None:
    profile = make_profile(place(q5_text()), {"query": COST}, "embedded", 1)
    assert set(profile.vertices) == {"sequence_1"}
    bearer = profile.vertices["sequence_1"]
    passing = PASSING_IPE * (2 + 2 * COST.selectivity)  # source, project; project, sink
    assert bearer.ipe + passing == pytest.approx(COST.regression_s * NOMINAL_MIPS * 1e6)
    assert bearer.selectivity == COST.selectivity
    assert profile.overhead_s == COST.overhead_s


def test_instructions_of_all_processors_are_counted() -> None:
    one, two = (make_profile(place(q5_text()), {"query": COST}, "spark", pes).vertices["sequence_1"] for pes in (1, 2))
    passing = PASSING_IPE * (2 + 2 * COST.selectivity)
    assert two.ipe + passing == pytest.approx(2.0 * (one.ipe + passing))


def test_events_filtered_before_are_told_to_the_filter() -> None:
    text = "SELECT a.id FROM PATTERN SEQ(events a, events b) WHERE a.id = b.id AND a.a1 > 50 AND b.a1 > 90"
    placed = place(f"{text} WITHIN INTERVAL '1' SECOND")
    profile = make_profile(placed, {"query": replace(COST, reach=0.25)}, "embedded", 1)
    assert profile.vertices["filter_1"].selectivity == 0.25
    bearer = profile.vertices["sequence_1"]
    assert bearer.selectivity == pytest.approx(COST.selectivity / 0.25)
    assert 0.25 * bearer.ipe == pytest.approx(COST.regression_s * NOMINAL_MIPS * 1e6, rel=0.01)


def test_what_queries_share_is_charged_once() -> None:
    placed = place({"first": q5_text(), "same": q5_text(), "other": q2_text("avg", 500, 1)})
    profile = make_profile(placed, dict.fromkeys(("first", "same", "other"), COST), "embedded", 1)
    assert {"sequence_1", "window_aggregate_1"} <= set(profile.vertices)
    assert profile.overhead_s == pytest.approx(3 * COST.overhead_s)


@pytest.mark.parametrize("text", [q5_text(), q2_text("avg", 50_000, 1)])
def test_overload_is_where_full_batches_take_longer_than_they_take_to_come(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepheid.calibration.predict.TICKS", 4000)
    monkeypatch.setattr("cepheid.calibration.predict.PRECISION", 0.01)
    expected = SHAPE.most_events / (COST.overhead_s + SHAPE.most_events * COST.regression_s)
    assert predictor(text).predict_overload() == pytest.approx(expected, rel=0.02)


def test_throughput_is_what_is_offered_up_to_the_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.calibration.predict.TICKS", 4000)
    capacity = SHAPE.most_events / (COST.overhead_s + SHAPE.most_events * COST.regression_s)
    found = [predictor(q5_text()).predict_run(part * capacity) for part in (0.5, 0.9, 1.3)]
    assert [run.throughput_per_s / capacity for run in found] == pytest.approx([0.5, 0.9, 1.0], rel=0.01)
    assert [run.keeps_up for run in found] == [True, True, False]


def count_calls(limit: float) -> tuple[Callable[[float], bool], list[float]]:
    asked: list[float] = []

    def grows(rate: float) -> bool:
        asked.append(rate)
        return rate > limit

    return grows, asked


@pytest.mark.parametrize("limit", [0.2, 0.6, 0.95, 1.08, 1.29, 1.8])
def test_overload_is_bracketed_wherever_it_is(limit: float) -> None:
    grows, asked = count_calls(limit)
    low, high = bracket_overload(grows, (0.5, 0.9, 1.3), 3)
    assert low <= limit <= high
    assert high - low <= 0.0625 + 1e-9
    assert len(asked) <= 12


@pytest.mark.parametrize("limit", [0.07, 1.0, 37.0])
def test_overload_is_found_from_any_guess(limit: float) -> None:
    grows, _ = count_calls(limit)
    assert find_overload(lambda rate: not grows(rate), 1.0) == pytest.approx(limit, rel=0.002)
