"""SEQ whose steps say how they follow one another gives one answer, whoever computes it and however events come in."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
from case_counts import few
from random_events import shuffle_events
from random_ways import make_ways_case
from ways_to_run import TooCostly, assert_one_answer, make_cutting, report_smallest

from cepheid.errors import InvalidQuery, InvalidWithin, NotSupportedYet, UnboundedStateWarning

CASES = few(100, of=3_000)
CONSTRUCTS = (
    "NEXT", "FOLLOWED BY", "FOLLOWED BY ANY", "NOT NEXT", "NOT FOLLOWED BY", "~", "FOR", "EVERY", "EVERY (", "EVERY ~",
    "ONCE", "TIMEOUT", "+", "*", "?", "{2}", "{2,}", "CONSECUTIVE", "COMBINATIONS", "GREEDY", "UNTIL", " | ", " & ",
    ")+",
)  # fmt: skip


@pytest.mark.filterwarnings(f"ignore::{UnboundedStateWarning.__module__}.{UnboundedStateWarning.__name__}")
def test_reference_compiled_and_streaming_agree() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    seed = 0
    while outcomes["run"] < CASES:
        seed += 1
        case = make_ways_case(seed)
        late_seconds = seed % 9
        shuffled = {name: shuffle_events(table, seed, late_seconds) for name, table in case.tables.items()}
        try:
            expected = assert_one_answer(
                case.text, case.tables, shuffled, make_cutting(seed), timedelta(seconds=late_seconds)
            )
        except (NotSupportedYet, InvalidQuery, InvalidWithin, TooCostly):
            outcomes["refused"] += 1
            continue
        except AssertionError as problem:
            wrong.append((seed, case, problem))
            outcomes["run"] += 1
            continue
        assert expected.rows is not None, "SEQ has no rule that data can break"
        outcomes["run"] += 1
        outcomes["rows"] += len(expected.rows) > 0
        outcomes.update(construct for construct in CONSTRUCTS if construct in case.text and len(expected.rows))
    report_smallest(wrong)
    assert outcomes["rows"] > CASES / 3, "many queries find something"
    assert outcomes["refused"] < seed / 2, "most queries can be run"
    assert all(outcomes[construct] for construct in CONSTRUCTS), f"each construct finds something: {outcomes}"
