"""However many engines share the events of a query, the rows are those of one, in its order."""

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
from case_counts import some
from random_events import make_events, shuffle_events
from random_row_patterns import make_row_pattern_case
from random_sequences import make_sequence_case
from random_ways import list_ways_cases
from random_windows import CONDITIONS, EXACT, ROUNDED, make_window_case
from split_engines import EngineCase, find_engines, read_by_key
from ways_to_run import report_smallest

from cepheid.compiler import compile_query
from cepheid.errors import CepheidError, MatchFailure, PatternTooCostly
from cepheid.event_time import BEGINNING, newest_time
from cepheid.execution import engine, key_group_operator
from cepheid.execution.embedded.batch_host import run_batch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.engine import Engine
from cepheid.execution.engine_identity import EngineIdentity
from cepheid.execution.key_group_operator import KeyGroupOperator
from cepheid.kernel.compiled import row_pattern
from cepheid.language.catalog import Catalog
from cepheid.placement.core_split import split_among_cores
from cepheid.testing.compare_rows import list_rows

SECOND = 1_000_000
KEYS = ("k", "s", "f", "w", "k, s", "f, w", "flag", "at")  # texts, floats with NaN and two zeros, times; all with nulls
IDENTITY = EngineIdentity(digests=("one",), described=("an engine whose state is kept",))


@pytest.fixture(autouse=True)
def _limited_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_pattern, "STEP_BUDGET", 3_000_000)


WAYS = 90  # cases of SEQ whose steps say how they follow one another


def with_other_keys(text: str, random: Random) -> str:
    """PARTITION BY something, whatever it said before."""
    return re.sub(r"\[(PARTITION BY (k, s|k) )?ORDER", f"[PARTITION BY {random.choice(KEYS)} ORDER", text)


def make_case(kind: str, seed: int) -> tuple[str, dict[str, pa.Table]]:
    match kind:
        case "grouped windows":
            return make_grouped(Random(seed)), {"s": make_events(seed, 40, keys=4, gaps=(0, 1, 2))}
        case "windows":
            windows = make_window_case(seed)
            text = with_other_keys(windows.text, Random(seed)) if seed % 2 else windows.text
            return text, windows.tables
        case "sequences":
            sequence = make_sequence_case(seed)
            return sequence.text, sequence.tables
        case "ways":
            _, ways = list_ways_cases(WAYS, keyed=True)[seed]
            return ways.text, ways.tables
    pattern = make_row_pattern_case(seed)
    keys = Random(seed).choice(KEYS)
    return re.sub(r"PARTITION BY (k, s|k|s)(?= )", f"PARTITION BY {keys}", pattern.text), {"t": pattern.events}


def make_grouped(random: Random) -> str:
    """A window of the whole stream, a row for each event, of its group."""
    extents = (
        "ROWS 3",
        "ROWS 10",
        "ROWS 1000",
        "RANGE 3 SECONDS",
        "RANGE 6 SECONDS SLIDE 3 SECONDS",
        "RANGE UNBOUNDED",
    )
    chosen = ", ".join(f"{each} AS a{number}" for number, each in enumerate(random.sample(EXACT + ROUNDED, 2)))
    where = random.choice(("", f" WHERE {random.choice(CONDITIONS)}"))
    shown = random.choice(("", ", window_end AS e"))
    groups = random.choice(("k", "s", "f", "k, w"))
    return (
        f"SELECT {groups}, {chosen}{shown} FROM s [ORDER BY ts {random.choice(extents)}]{where} "
        f"GROUP BY {groups} OUTPUT ON EVENT"
    )


# --- whole tables ----------------------------------------------------------------------------------------


def run_whole(text: str, tables: Mapping[str, pa.Table], engines: int) -> tuple[list[str], list[tuple[object, ...]]]:
    """Types and rows, or the mistake that the data make."""
    known = Catalog({name: table.schema for name, table in tables.items()}, describe_sql)
    try:
        rows = run_batch(compile_query(text, known).placed, tables, engines=engines)[0]["query"]
    except (MatchFailure, PatternTooCostly) as problem:
        return [problem.code], []
    return [str(field) for field in rows.schema], list_rows(rows)


def is_shared(text: str, tables: Mapping[str, pa.Table]) -> str:
    """By what the events of a query are split, if they are."""
    known = Catalog({name: table.schema for name, table in tables.items()}, describe_sql)
    placed = compile_query(text, known).placed
    for vertices in placed.engines():
        split = split_among_cores([placed.graph.vertices[name] for name in vertices])  # type: ignore[misc]
        if split.columns:
            return "by places" if split.counts else "by keys" if split.keyed else "by groups"
    return "on one"


@pytest.mark.parametrize(
    ("kind", "count", "ways"),
    [
        ("windows", 180, ("by keys", "on one")),
        ("grouped windows", 80, ("by groups", "by places")),
        ("sequences", 200, ("by keys", "on one")),
        ("ways", WAYS, ("by keys", "on one")),
        ("row patterns", 120, ("by keys", "on one")),
    ],
)
def test_whole_tables(kind: str, count: int, ways: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[str] = Counter()
    wrong = []
    for seed in range(some(count)):
        text, tables = make_case(kind, seed)
        monkeypatch.setattr(engine, "MOST_AT_ONCE", (3, 16, 1_000_000)[seed % 3])
        expected = run_whole(text, tables, 1)
        monkeypatch.setattr(key_group_operator, "WORTH_THREADS", (0, 1_000_000)[seed % 2])
        monkeypatch.setattr(key_group_operator, "WORTH_BALANCING", (0, 1_000_000)[seed % 2])
        found[is_shared(text, tables)] += len(expected[1]) > 0
        for engines in (2, 3, 8):
            if run_whole(text, tables, engines) != expected:
                problem = AssertionError(f"{engines} engines: {run_whole(text, tables, engines)} is not {expected}")
                wrong.append((seed, text, problem))
                break
    report_smallest(wrong)
    assert all(found[way] > 4 for way in ways), f"rows come out, split in every way: {found}"


# --- streams ---------------------------------------------------------------------------------------------


def cut_inputs(inputs: list[pa.Table], random: Random) -> list[list[pa.Table]]:
    places = sorted(random.random() for _ in range(random.choice((1, 3, 8))))
    batches = []
    for begin, end in zip([0.0, *places], [*places, 1.0], strict=True):
        batches.append([table.slice(int(begin * len(table)), int(end * len(table)) - int(begin * len(table)))
                        for table in inputs])  # fmt: skip
    return batches


def rearrange(shared: Engine, case: EngineCase, random: Random) -> Engine:
    """Something that must change no row: a restart, other engines, other owners."""
    operator = shared._operator
    assert isinstance(operator, KeyGroupOperator), "its events are shared"
    what = random.choice(("restart", "scale", "move"))
    if what == "scale":
        operator.scale(random.randint(1, 8), shared.gate.horizon)
    elif what == "move":
        owner = int(operator.owners.max())
        operator.move_groups(random.sample(range(len(operator.owners)), 20), owner, shared.gate.horizon)
    else:
        kept = shared.keep()
        shared = make_shared(case, random.randint(2, 8))
        shared.restore(kept)
    return shared


def make_shared(case: EngineCase, engines: int) -> Engine:
    schemas = [table.schema for table in case.inputs]
    return Engine(case.nodes, schemas, identity=IDENTITY, engines=engines)


def assert_pushes_agree(case: EngineCase, random: Random, lateness_us: int, restless: bool) -> int:
    """How many rows came out.  Where nothing is rearranged or forgotten, they are in the order of one engine; else
    those of each key are."""
    alone, shared = case.make_engine(), make_shared(case, random.randint(2, 4))
    newest = [BEGINNING] * len(case.inputs)
    rows = 0
    batches = cut_inputs(case.inputs, random)
    for number in range(len(batches) + 1):
        if restless and random.random() < 0.6:
            shared = rearrange(shared, case, random)
        if number < len(batches):
            times = [newest_time(table.column("_time")) for table in batches[number]]
            newest = [max(pair) for pair in zip(newest, times, strict=True)]
            horizon = min(newest) if BEGINNING in newest else min(newest) - lateness_us
            expected, found = alone.push(batches[number], horizon), shared.push(batches[number], horizon)
        else:
            expected, found = alone.finish(), shared.finish()
        for node, ours, theirs in zip(case.nodes, found, expected, strict=True):
            assert ours.schema == theirs.schema
            if restless:
                assert read_by_key(node, ours) == read_by_key(node, theirs), f"push {number}"
            else:
                assert list_rows(ours) == list_rows(theirs), f"push {number}"
        rows += sum(map(len, expected))
    return rows


@pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")
@pytest.mark.parametrize("restless", [False, True])
@pytest.mark.parametrize(
    ("kind", "count"), [("windows", 150), ("sequences", 200), ("ways", WAYS), ("row patterns", 80)]
)
def test_pushes(kind: str, count: int, restless: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SPARE_EVENTS", 0 if restless else 1_000_000)
    monkeypatch.setattr(key_group_operator, "WORTH_BALANCING", 0)
    wrong, found = [], 0
    for seed in range(some(count)):
        random = Random(seed)
        late_seconds = seed % 5
        text, tables = make_case(kind, seed)
        shuffled = {name: shuffle_events(table, seed, late_seconds) for name, table in tables.items()}
        for case in find_engines(text, shuffled):
            if not split_among_cores(case.nodes).keyed:
                continue
            try:
                found += assert_pushes_agree(case, random, late_seconds * SECOND, restless) > 0
            except (PatternTooCostly, MatchFailure):
                continue
            except (AssertionError, CepheidError) as problem:
                wrong.append((seed, text, AssertionError(str(problem))))
    report_smallest(wrong)
    assert found > 8, "many queries find something"
