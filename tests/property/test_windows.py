"""Windows and joins give one answer, whoever computes it and however the events come in."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import pytest
from case_counts import some
from random_events import shuffle_events
from random_windows import make_window_case
from ways_to_run import assert_one_answer, make_cutting, report_smallest

CASES = some(360)
CONSTRUCTS = (
    "ROWS", "RANGE", "SESSION", "FROM i > 0", "UNBOUNDED", "SLIDE", "PARTITION BY", "GROUP BY", "WHERE", "ISTREAM",
    "DSTREAM", "RSTREAM", "EVERY 3 SECONDS", "EVERY 3 EVENTS", "ON EXPIRY", "ON CLOSE", "ON EVENT", "JOIN", "FULL",
    "LIMIT", "median", "array_agg",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")
def test_reference_compiled_and_streaming_agree() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in range(CASES):
        case = make_window_case(seed)
        late_seconds = seed % 9
        shuffled = {name: shuffle_events(table, seed, late_seconds) for name, table in case.tables.items()}
        try:
            expected = assert_one_answer(
                case.text, case.tables, shuffled, make_cutting(seed), timedelta(seconds=late_seconds)
            )
        except AssertionError as problem:
            wrong.append((seed, case, problem))
            continue
        assert expected.rows is not None, "small numbers break no rule"
        outcomes["rows"] += len(expected.rows) > 0
        outcomes.update(construct for construct in CONSTRUCTS if construct in case.text and len(expected.rows))
    report_smallest(wrong)
    assert outcomes["rows"] > CASES / 2, "many queries find something"
    assert all(outcomes[construct] for construct in CONSTRUCTS), f"each construct finds something: {outcomes}"
