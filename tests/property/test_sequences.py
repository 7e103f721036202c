"""SEQ gives one answer, whoever computes it and however the events of its streams come in."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import PatternTooCostly

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
from case_counts import some
from random_events import shuffle_events
from random_sequences import SequenceCase, make_sequence_case
from ways_to_run import Cutting, TooCostly, assert_one_answer, make_cutting, report_smallest, run_streaming

CASES = some(560)
CONSTRUCTS = ("+ ", "~", " | ", " & ", "[i-1]", "[..i-1]", "CONSUME", "DROP OLDEST", "TIMEOUT")


def test_reference_compiled_and_streaming_agree() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in range(CASES):
        case = make_sequence_case(seed)
        late_seconds = seed % 9
        shuffled = {name: shuffle_events(table, seed, late_seconds) for name, table in case.tables.items()}
        lateness = timedelta(seconds=late_seconds)
        cutting = make_cutting(seed)
        try:
            expected = assert_one_answer(case.text, case.tables, shuffled, cutting, lateness)
        except AssertionError as problem:
            wrong.append((seed, case, problem))
            continue
        except TooCostly:
            assert_refused(case, shuffled, cutting, lateness)
            outcomes["refused"] += 1
            continue
        assert expected.rows is not None, "SEQ has no rule that data can break"
        outcomes["rows"] += len(expected.rows) > 0
        outcomes["two streams"] += len(case.tables) > 1
        outcomes.update(construct for construct in CONSTRUCTS if construct in case.text and len(expected.rows))
    report_smallest(wrong)
    assert outcomes["rows"] > CASES / 3, "many queries find something"
    assert outcomes["two streams"] > CASES / 4
    assert outcomes["refused"], "a limit is reached"
    assert all(outcomes[construct] for construct in CONSTRUCTS), f"each construct finds something: {outcomes}"


def assert_refused(case: SequenceCase, shuffled: dict[str, pa.Table], cutting: Cutting, lateness: timedelta) -> None:
    """LIMIT PARTIALS ... REFUSE: there are more, whichever way the query is run."""
    with pytest.raises(PatternTooCostly, match="partial matches of one key"):
        cep.sql(case.text, **case.tables)
    with pytest.raises(TooCostly):
        run_streaming(case.text, case.tables, cutting)
    with pytest.raises(TooCostly):
        run_streaming(case.text, shuffled, cutting, lateness)
