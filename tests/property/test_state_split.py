"""State that is split, merged and moved by key group in mid-stream changes no row of any key, nor their order."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import pyarrow as pa
import pytest
from random_events import shuffle_events
from random_row_patterns import make_row_pattern_case
from random_sequences import make_sequence_case
from random_windows import make_window_case
from split_engines import EngineCase, assert_shared_engines_agree, find_engines
from ways_to_run import report_smallest

from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.execution import engine
from cepheid.kernel.compiled import row_pattern

KEYS = ("k", "s", "f", "w", "k, s", "f, w", "flag")
SECOND = 1_000_000


def with_other_keys(text: str, random: Random) -> str:
    """PARTITION BY something, whatever it said before: integers, texts, floats with NaN and two zeros, all with nulls."""
    keys = random.choice(KEYS)
    if "PARTITION BY" in text:
        return re.sub(r"PARTITION BY (k, s|k|s)(?= )", f"PARTITION BY {keys}", text)
    return re.sub(r"\[ORDER BY", f"[PARTITION BY {keys} ORDER BY", text)


def check(seed: int, queries: Mapping[str, str] | str, tables: Mapping[str, pa.Table], found: Counter[str]) -> None:
    random = Random(seed)
    late_seconds = seed % 5
    shuffled = {name: shuffle_events(table, seed, late_seconds) for name, table in tables.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SPARE_EVENTS", random.choice((0, 8192)))
        patch.setattr(row_pattern, "STEP_BUDGET", 3_000_000)
        for case in find_engines(queries, shuffled):
            found[f"{type(case.nodes[0]).__name__}"] += run(case, random, late_seconds * SECOND) > 0
            found["shared"] += len(case.nodes) > 1


def run(case: EngineCase, random: Random, lateness_us: int) -> int:
    try:
        return assert_shared_engines_agree(case, random, lateness_us)
    except (PatternTooCostly, MatchFailure):
        return 0


def check_all(seeds: range, kind: str) -> Counter[str]:
    found: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        random = Random(seed)
        match kind:
            case "windows":
                case = make_window_case(seed)
                queries: Mapping[str, str] | str = with_other_keys(case.text, random)
                tables = case.tables
                if seed % 3 == 0 and len(tables) == 1:
                    keys = random.choice(KEYS)
                    others = [make_window_case(seed * 10 + number) for number in range(3)]
                    texts = [case.text, *(other.text for other in others if len(other.tables) == 1)]
                    queries = {
                        f"q{number}": re.sub(r"\[(PARTITION BY (k, s|k) )?ORDER", f"[PARTITION BY {keys} ORDER", text)
                        for number, text in enumerate(texts)
                    }
            case "sequences":
                sequence = make_sequence_case(seed)
                queries, tables = sequence.text, sequence.tables
            case _:
                pattern = make_row_pattern_case(seed)
                queries, tables = with_other_keys(pattern.text, random), {"t": pattern.events}
        try:
            check(seed, queries, tables, found)
        except AssertionError as problem:
            wrong.append((seed, queries, problem))
    report_smallest(wrong)
    return found


@pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")
@pytest.mark.parametrize(("kind", "count"), [("windows", 120), ("sequences", 150), ("row patterns", 100)])
def test_split_and_merged_engines_give_the_rows_of_one(kind: str, count: int) -> None:
    found = check_all(range(count), kind)
    print(found)
