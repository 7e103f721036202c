"""MATCH_RECOGNIZE gives one answer, whoever computes it and however the events come in."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
from case_counts import some
from random_events import make_events, shuffle_events
from random_row_patterns import SOME, RowPatternCase, make_row_pattern_case, make_rows_case
from ways_to_run import TooCostly, assert_one_answer, make_cutting, report_smallest

from cepheid.execution import engine
from cepheid.kernel.compiled import row_pattern as compiled
from cepheid.kernel.reference import row_pattern as reference
from cepheid.testing import assert_same_rows, cut_table, run_in_batches

CASES = some(400)


@pytest.fixture(autouse=True)
def _limited_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "STEP_BUDGET", 30_000)
    monkeypatch.setattr(compiled, "STEP_BUDGET", 3_000_000)


@pytest.fixture
def marks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches remember from their first step on, as long ones do."""
    monkeypatch.setattr(compiled, "UNMARKED_STEPS", 0)


def check_case(seed: int, case: RowPatternCase) -> str:
    """What became of the case, in a word."""
    late_seconds = seed % 9
    shuffled = shuffle_events(case.events, seed, late_seconds)
    try:
        expected = assert_one_answer(
            case.text, {"t": case.events}, {"t": shuffled}, make_cutting(seed), timedelta(seconds=late_seconds)
        )
    except TooCostly:
        return "too costly"
    if expected.rows is None:
        return "failed"
    return "rows" if len(expected.rows) else "empty"


def test_reference_compiled_and_streaming_agree() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in range(CASES):
        case = make_row_pattern_case(seed)
        outcomes["large"] += len(case.events) > SOME
        try:
            outcomes[check_case(seed, case)] += 1
        except AssertionError as problem:
            wrong.append((seed, case, problem))
    report_smallest(wrong)
    assert outcomes["too costly"] < CASES / 10
    assert outcomes["rows"] > CASES / 3, "most queries find something"
    assert outcomes["failed"] > 0, "some data breaks the rule of a skip clause, in every way to run alike"
    assert outcomes["large"] > 0


@pytest.mark.usefixtures("marks_at_once")
def test_what_a_search_remembers_changes_no_row() -> None:
    wrong = []
    for seed in range(CASES, CASES + some(150)):
        case = make_row_pattern_case(seed)
        try:
            check_case(seed, case)
        except AssertionError as problem:
            wrong.append((seed, case, problem))
    report_smallest(wrong)


def test_aggregates_of_rows_that_are_asked_of_others_agree() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in range(some(30)):
        case = make_rows_case(seed)
        try:
            outcomes[check_case(seed, case)] += 1
        except AssertionError as problem:
            wrong.append((seed, case, problem))
    report_smallest(wrong)
    assert outcomes["rows"] > some(30) / 3, "most queries find something"


@pytest.mark.parametrize(
    "pattern",
    ["a b* c) WITHIN INTERVAL '4' SECOND", "a (NOT n FOR INTERVAL '2' SECOND c | b*?) NOT n FOR INTERVAL '3' SECOND)"],
    ids=["within", "an absence that lasts"],
)
def test_neither_restart_nor_forgetting_delays_a_row(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS number, FIRST(i) AS first_i, LAST(i) AS last_i
      PATTERN ({pattern} DEFINE b AS b.i >= a.i, c AS c.i < a.i{", n AS n.i > 7" if "NOT" in pattern else ""})"""
    for seed in range(10):
        events = make_events(seed, 60, keys=4, gaps=(0, 1, 2))
        batches = [{"t": part} for part in cut_table(events, range(6, 60, 6))]
        monkeypatch.setattr(engine, "SPARE_EVENTS", 8192)
        expected, _ = run_in_batches(text, batches)
        assert sum(map(len, expected[:-1])) > 0, "rows come out before the end"
        monkeypatch.setattr(engine, "SPARE_EVENTS", 0)
        for restart in (None, *range(len(batches))):
            found, _ = run_in_batches(text, batches, resume_after=restart)
            for number, (rows, wanted) in enumerate(zip(found, expected, strict=True)):
                assert_same_rows(rows, wanted, f"batch {number} of seed {seed}, restart after {restart}")
