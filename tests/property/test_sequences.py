"""SEQ gives one answer, whoever computes it and however the events of its streams come in."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
from random_events import shuffle_events
from random_sequences import make_sequence_case
from ways_to_run import assert_one_answer, make_cutting, report_smallest

CASES = 240


def test_reference_compiled_and_streaming_agree() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in range(CASES):
        case = make_sequence_case(seed)
        late_seconds = seed % 9
        shuffled = {name: shuffle_events(table, seed, late_seconds) for name, table in case.tables.items()}
        lateness = timedelta(seconds=late_seconds)
        try:
            expected = assert_one_answer(case.text, case.tables, shuffled, make_cutting(seed), lateness)
        except AssertionError as problem:
            wrong.append((seed, case, problem))
            continue
        assert expected.rows is not None, "SEQ has no rule that data can break"
        outcomes["rows"] += len(expected.rows) > 0
        outcomes["two streams"] += len(case.tables) > 1
    report_smallest(wrong)
    assert outcomes["rows"] > CASES / 3, "most queries find something"
    assert outcomes["two streams"] > CASES / 4
