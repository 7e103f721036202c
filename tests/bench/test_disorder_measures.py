"""The pieces of `cepheid bench disorder`: what is late, which rows stayed, when they were complete; and its tables."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

from cepheid.bench.disorder import measure_disorder as measured
from cepheid.bench.disorder.instances import extents
from cepheid.bench.disorder.measured_queries import make_table
from cepheid.bench.disorder.played_events import PlayedEvents
from cepheid.bench.disorder.speculation import QUESTIONS, Arrived, find_stayed, list_settings
from cepheid.bench.disorder.tables import list_tables
from cepheid.bench.disorder.waiting import follow, list_missing, list_rules, measure_row
from cepheid.cli import app
from cepheid.disorder.waits.fixed import FixedWait
from cepheid.disorder.waits.growing import GrowingWait
from cepheid.disorder.waits.kinds import WAITS

SECOND = 1_000_000_000
TINY = measured.Extent(
    waiting=3000,
    speculation=3000,
    shares=(0.5, 0.0),
    kept=(100,),
    throughput=50_000,
    engines=40_000,
    instances=extents.QUICK,
    repeats=1,
)
SHORT_PARTS = [part for part in measured.PARTS if part != "instances"]  # its runs: test_disorder_instances.py


def make_events(times_s: list[float], arrivals_s: list[float]) -> PlayedEvents:
    times, arrivals = ((SECOND * np.array(each)).astype(np.int64) for each in (times_s, arrivals_s))
    return PlayedEvents(times, arrivals, np.zeros(len(times), np.int64), np.arange(len(times)))


def test_an_event_behind_the_watermark_is_late_and_one_at_it_is_not() -> None:
    events = make_events([1, 5, 3, 2.9, 8, 6, 5.9], list(range(7)))
    assert follow(FixedWait(2_000_000), events, push=3) == follow(FixedWait(2_000_000), events, push=1)
    assert follow(FixedWait(2_000_000), events).late == pytest.approx(2 / 7)
    assert follow(FixedWait(2_000_000), events).mean_us == 2_000_000


def test_a_watermark_does_not_go_back_when_the_wait_grows() -> None:
    """Event 3 makes the rule wait for 4 s, but the watermark is at 5 s already."""
    events = make_events([5, 1, 4.9], [0, 1, 2])
    waited = follow(GrowingWait(), events, push=1)
    assert waited.late == pytest.approx(2 / 3)
    assert waited.mean_us == pytest.approx(4_000_000 / 3)


def test_the_oracle_is_the_shortest_wait_that_does() -> None:
    random = np.random.default_rng(1)
    times = np.arange(20_000) * 0.01
    late = random.choice([0.0, 3.0], len(times), p=[0.99, 0.01])
    order = np.argsort(times + late, kind="stable")
    events = make_events(times[order].tolist(), (times + late)[order].tolist())
    oracle = round(1_000_000 * measure_row(events, {})["oracle_s"])
    assert follow(FixedWait(oracle), events).late <= 0.001
    assert follow(FixedWait(oracle - 20_000), events).late > 0.001


def test_the_table_has_every_rule_there_is_and_names_those_there_are_not() -> None:
    assert {waiting.rule for waiting in list_rules().values()} == set(WAITS) - {"fixed"}
    assert not set(list_missing()) & set(WAITS)


def test_rows_that_were_taken_back_did_not_stay() -> None:
    changes = pa.table(
        {
            "_change": ["insert", "insert", "retract", "insert", "insert", "retract", "insert"],
            "_match": ["a", "b", "a", "c", "a", "b", "d"],
        }
    )
    stayed, corrections = find_stayed(changes)
    assert stayed.tolist() == [3, 4, 6]
    assert corrections == 2


def test_a_pair_is_complete_with_the_one_that_arrives_last() -> None:
    events = make_events([1, 3, 2], [1, 3, 4])
    rows = pa.table({"first_n": [0, 2], "last_n": [1, 1]})
    arrived = Arrived(make_table(events.times_us, 1), events)
    assert QUESTIONS["keyed SEQ"].complete_ns(rows, arrived).tolist() == [3 * SECOND, 4 * SECOND]


def test_a_window_is_complete_with_its_last_event_or_the_first_behind_it() -> None:
    events = make_events([0.5, 1.5, 0.7, 2.1, 1.9], [0.5, 1.5, 1.7, 2.1, 2.5])
    table = make_table(events.times_us, 1)
    table = table.set_column(1, "k", pa.array([1, 1, 1, 1, 1], pa.int32()))
    begin = table.column("ts").cast(pa.int64())[0].as_py() - 500_000
    until = pa.array([begin + 1_000_000, begin + 2_000_000]).cast(pa.timestamp("us"))
    found = QUESTIONS["tumbling window"].complete_ns(
        pa.table({"k": pa.array([1, 1], pa.int32()), "until": until}), Arrived(table, events)
    )
    assert found.tolist() == [int(1.7 * SECOND), int(2.5 * SECOND)]


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    steps: list[str] = []
    found = measured.measure_disorder(TINY, SHORT_PARTS, steps.append)
    for part in SHORT_PARTS:
        assert steps.count(part) == measured.count_steps(part, TINY)
    return found


def test_waiting_less_gives_rows_earlier_and_corrects_more(result: dict[str, Any]) -> None:
    for runs in result["speculation"]["runs"].values():
        waits, half, nothing = runs.values()
        assert waits["corrections_per_1000"] == 0
        assert waits["p50_ms"] > half["p50_ms"] > nothing["p50_ms"]
        assert waits["rows"] == half["rows"] == nothing["rows"] > 0
    assert runs["holds 0 s"]["corrections_per_1000"] > 0
    assert [name for name, _ in list_settings(TINY.shares)] == list(runs)


def test_tables_fit_into_a_hundred_columns(result: dict[str, Any]) -> None:
    written = StringIO()
    console = Console(file=written, width=100)
    for each in list_tables(result):
        console.print(each)
    text = written.getvalue()
    assert "…" not in text
    for name in ("outage of 5 s", "growing", "join of windows", "holds 1 s", "changes, events/s", "engines=2"):
        assert name in text


def test_pictures_are_drawn_of_what_was_measured(result: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from cepheid.bench.disorder.pictures import draw_pictures

    drawn = draw_pictures(result, tmp_path / "pictures")
    assert [path.name for path in drawn] == ["speculation.png", "late_cost.png"]
    assert all(path.stat().st_size > 10_000 for path in drawn)


def test_the_command_measures_the_parts_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "QUICK", TINY)
    found = CliRunner().invoke(app, ["bench", "disorder", "--quick", "--part", "waiting", "--json"])
    assert found.exit_code == 0
    printed = json.loads(found.stdout)
    assert len(printed["waiting"]["rows"]) == 8
    assert "late" not in printed
    found = CliRunner().invoke(app, ["bench", "disorder", "--part", "wating"])
    assert found.exit_code == 2
    assert 'no part "wating"' in found.stderr
