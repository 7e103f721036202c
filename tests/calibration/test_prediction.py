"""Predicted beside measured, on a host that does exactly what it was calibrated to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cepheid.bench.prediction import SHAPES, Bench, compare
from cepheid.bench.prediction_report import draw_report, list_rows
from cepheid.bench.study_data import q5_text
from cepheid.calibration.paced_run import PacedRun
from cepheid.compiler import compile_query
from cepheid.cost.profile import QueryProfile
from cepheid.execution.embedded.relations import describe_sql
from cepheid.language.catalog import Catalog

SCHEMA = pa.schema([("id", pa.int32()), ("a1", pa.float64()), ("ts", pa.timestamp("us"))])
COST = QueryProfile(
    latency_s=2e-6,
    throughput_s=1.6e-6,
    regression_s=1e-6,
    overhead_s=0.6,
    r2=1.0,
    spread=0.0,
    selectivity=0.05,
    largest_batch=1_000_000,
    batches=20,
    events=10_000_000,
)


@pytest.mark.parametrize("truth", [1.0, 0.8])
def test_errors_tell_how_far_off_a_prediction_is(truth: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """truth: what the host can really do, as a part of what its calibration says."""
    monkeypatch.setattr("cepheid.calibration.predict.TICKS", 2000)
    monkeypatch.setattr("cepheid.calibration.predict.PRECISION", 0.01)
    shape = SHAPES["spark"]
    capacity = truth * shape.most_events / (COST.overhead_s + shape.most_events * COST.regression_s)
    order: list[str] = []

    def calibrate() -> QueryProfile:
        order.append("calibrate")
        return COST

    def run(rate: float) -> PacedRun:
        order.append("run")
        return PacedRun(rate, min(rate, capacity), min(1.0, rate / capacity), rate > capacity, 10, 1e6)

    placed = compile_query(q5_text(), Catalog({"events": SCHEMA}, describe_sql, frozenset({"events"}))).placed
    told: list[str] = []
    found = compare(placed, Bench(calibrate, run), "spark", told.append)
    errors = [row["error"] for row in found["rows"]]
    assert errors[0] == pytest.approx(0.0, abs=0.01)  # half of the rate is kept up with in both
    assert errors[2:] == pytest.approx([1.0 / truth - 1.0] * 2, abs=0.06)
    assert order == ["calibrate"] + ["run"] * (len(order) - 1)
    assert told[0] == "simulating"
    result = {
        "predictions": {"Q5 spark": found}, "worst_error": max(map(abs, errors)), "asked": 0.15, "cores": 2,
        "commit": "abc", "load_before": 0.1,
    }  # fmt: skip
    assert len(list_rows(result)) == 4
    draw_report(result, tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes()[:4] == b"\x89PNG"
