"""State that is split, merged and moved by key group in mid-stream changes no row of any key, nor their order."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import numpy as np
import pyarrow as pa
import pytest
from random_events import SCHEMA, make_events, shuffle_events
from random_row_patterns import make_row_pattern_case
from random_sequences import STRATEGIES, SequenceWriter
from random_ways import list_ways_cases
from random_windows import make_window_case
from split_chains import Chain, SharedChain, draw_table
from split_engines import assert_shared_engines_agree, find_engines
from ways_to_run import report_smallest

import cepheid as cep
from cepheid.compiler import compile_query
from cepheid.errors import MatchFailure, PatternTooCostly, UnboundedStateWarning
from cepheid.event_time import BEGINNING, newest_time
from cepheid.execution import engine
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.state_split import own_by_columns, spread_groups
from cepheid.graph.operators import Sink
from cepheid.kernel.compiled import row_pattern
from cepheid.language.catalog import Catalog
from cepheid.placement.chain_keys import find_chain_keys
from cepheid.testing import assert_same_rows, cut_table

Case = tuple[Mapping[str, str] | str, dict[str, pa.Table]]

KEYS = ("k", "s", "f", "w", "k, s", "f, w", "flag", "at")  # texts, floats with NaN and two zeros, times; all with nulls
CASES = {"windows": 30, "joins": 24, "sequences": 40, "ways": 30, "row patterns": 40}
SECOND = 1_000_000


def make_windows(seed: int) -> Case:
    """One query, or several that share engines."""
    random = Random(seed)
    case = make_window_case(seed + seed // 4)  # every fifth is a join
    text = re.sub(r"\[(PARTITION BY (k, s|k) )?ORDER", f"[PARTITION BY {random.choice(KEYS)} ORDER", case.text)
    queries = {"q0": text}
    if random.random() < 0.4 and "(SELECT" not in text:
        queries["q1"] = re.sub(r" OUTPUT .*", "", text) + random.choice(
            (" OUTPUT EVERY 2 SECONDS", " OUTPUT EVERY 2 EVENTS")
        )
    return queries, case.tables


def make_joins(seed: int) -> Case:
    random = Random(seed)
    shifts = {"s": 0, "t": 1_000_000}
    tables = {name: _make_table(random, seed + shift).drop_columns(["at"]) for name, shift in shifts.items()}
    keys = random.choice((["k"], ["k"], ["s"], ["k", "s"], ["f"], ["w"]))
    condition = [f"x.{key} = y.{key}" for key in keys] + random.choice(
        ([], [], ["x.i < y.i"], ["(x.f < y.f OR y.flag)"])
    )
    kind = random.choice(("", "LEFT ", "RIGHT ", "FULL "))
    texts = []
    for _ in range(random.choice((1, 1, 2))):
        low, high = random.randint(0, 3), random.randint(0, 3)
        if random.random() < 0.5:
            sides = ["s AS x", "t AS y"]
            times = [f"y.ts BETWEEN x.ts - INTERVAL '{low}' SECOND AND x.ts + INTERVAL '{high}' SECOND"]
        else:
            extents = [random.choice(("RANGE 2 SECONDS", "RANGE 5 SECONDS", "RANGE UNBOUNDED")) for _ in range(2)]
            sides, times = [f"s [ORDER BY ts {extents[0]}] AS x", f"t [ORDER BY ts {extents[1]}] AS y"], []
        on = " AND ".join([*condition, *times])
        outputs = "x.ts AS xt, y.ts AS yt, x.i, y.i AS j, x.w, y.w AS v"
        texts.append(f"SELECT {outputs} FROM {sides[0]} {kind}JOIN {sides[1]} ON {on}")
    return {f"q{number}": text for number, text in enumerate(texts)}, tables


class KeyedSequences(SequenceWriter):
    """With few conditions, so that many matches are found and many are begun."""

    def _keys(self) -> list[str]:
        """Equalities that tie all variables together, whichever of them a match has."""
        columns = self.random.choice((["k"], ["s"], ["f"], ["k", "s"], ["w"]))
        there = [name for name in self.variables if name not in self.absent]
        ties = [*combinations(there, 2), *product(there, self.absent)]
        return [f"{left}.{key} = {right}.{key}" for key in columns for left, right in ties]

    def _single_conditions(self) -> list[str]:
        return super()._single_conditions()[:1] if self.random.random() < 0.5 else []

    def _joint_conditions(self) -> list[str]:
        return super()._joint_conditions()[:1] if self.random.random() < 0.4 else []


def make_sequences(seed: int) -> Case:
    random = Random(seed)
    strategy = random.choice([each for each in STRATEGIES if each != "strict"])
    streams = random.choice((["x"], ["x", "y"]))
    writer = KeyedSequences(random, strategy, streams)
    text = writer.write()
    read = [stream for stream in streams if any(f"{stream} " in item or f"{stream}+" in item for item in writer.items)]
    most = 24 if strategy == "skip_till_any" else 80
    gaps = random.choice(((0, 1), (0, 1, 2), (0, 0, 1)))
    keys = random.choice((2, 4))
    return text, {stream: make_events(seed + place, most, keys=keys, gaps=gaps) for place, stream in enumerate(read)}


def make_ways(seed: int) -> Case:
    _, case = list_ways_cases(CASES["ways"], keyed=True)[seed]
    return case.text, {name: make_events(seed, 40, keys=3, gaps=(0, 1, 2)) for name in case.tables}


def make_row_patterns(seed: int) -> Case:
    case = make_row_pattern_case(seed)
    keys = Random(seed).choice(KEYS)
    text = re.sub(r"PARTITION BY (k, s|s, k|k|s)(?= )", f"PARTITION BY {keys}", case.text)
    if "PARTITION BY" not in text:
        text = text.replace("ORDER BY", f"PARTITION BY {keys} ORDER BY", 1)
    return text, {"t": case.events.slice(0, 200)}


def _make_table(random: Random, seed: int) -> pa.Table:
    gaps = random.choice(((0, 1), (0, 1, 2), (0, 0, 1), (0, 0, 1, 9)))
    return make_events(seed, random.choice((8, 25, 40)), keys=random.choice((2, 4)), gaps=gaps)


MAKERS = {
    "windows": make_windows, "joins": make_joins, "sequences": make_sequences, "ways": make_ways,
    "row patterns": make_row_patterns,
}  # fmt: skip


def check(seed: int, case: Case, found: Counter[str]) -> None:
    queries, tables = case
    random = Random(seed)
    late_seconds = seed % 5
    shuffled = {name: shuffle_events(table, seed, late_seconds) for name, table in tables.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SPARE_EVENTS", random.choice((0, 8192)))
        patch.setattr(row_pattern, "STEP_BUDGET", 3_000_000)
        for vertices in find_engines(queries, shuffled):
            found["engines"] += 1
            try:
                rows, most = assert_shared_engines_agree(vertices, random, late_seconds * SECOND)
            except (PatternTooCostly, MatchFailure):
                found["failed"] += 1
                continue
            found["rows"] += rows > 0 and most > 1
            found["several vertices"] += len(vertices.nodes) > 1 and most > 1
            found["eight"] += most == 8


def check_all(seeds: range, kind: str) -> Counter[str]:
    found: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        case = MAKERS[kind](seed)
        try:
            check(seed, case, found)
        except AssertionError as problem:
            wrong.append((seed, case[0], problem))
    report_smallest(wrong)
    return found


@pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")
@pytest.mark.parametrize("kind", CASES)
def test_split_and_merged_engines_give_the_rows_of_one(kind: str) -> None:
    found = check_all(range(CASES[kind]), kind)
    assert found["rows"] > CASES[kind] / 4, f"many queries find something on several engines: {found}"
    assert found["eight"], f"some ran on eight engines: {found}"
    assert found["failed"] < found["engines"] / 5, f"few break a rule or a bound: {found}"
    assert found["several vertices"] or kind in ("sequences", "ways", "row patterns"), (
        f"some engines are shared: {found}"
    )


LOWER = (
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY {keys} ORDER BY ts MEASURES LAST(b.ts) AS t2, FIRST(a.i) AS v "
        "PATTERN (a b) DEFINE b AS b.i >= a.i)"
    ),
    "SELECT {keys}, sum(i) AS v FROM s [PARTITION BY {keys} ORDER BY ts RANGE 3 SECONDS] GROUP BY {keys}",
    (
        "SELECT {cells}, b.ts AS t2, a.i AS v FROM PATTERN SEQ(s a, t b) ORDER BY ts WHERE {ties} "
        "WITHIN INTERVAL '3' SECOND"
    ),
)
UPPER = (
    (
        "SELECT {key}, v1, v2 FROM ({lower}) MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY t2 "
        "MEASURES FIRST(c.v) AS v1, LAST(d.v) AS v2 PATTERN (c d+) DEFINE d AS d.v >= c.v)"
    ),
    "SELECT {key}, sum(v) AS v FROM ({lower}) [PARTITION BY {key} {order}RANGE 5 SECONDS] GROUP BY {key}",
)


def write_chain(random: Random) -> str:
    keys = random.choice((["k"], ["s"], ["f"], ["k", "s"]))
    cells = ", ".join(f"a.{key} AS {key}" for key in keys)
    ties = " AND ".join(f"a.{key} = b.{key}" for key in keys)
    lower = random.choice(LOWER)
    upper = UPPER[1] if lower is LOWER[1] else random.choice(UPPER)
    order = "" if lower is LOWER[1] else "ORDER BY t2 "
    inner = lower.format(keys=", ".join(keys), cells=cells, ties=ties)
    return upper.format(key=random.choice(keys), lower=inner, order=order)


@pytest.mark.parametrize("seed", range(12))
def test_chain_split_by_the_keys_of_its_streams_gives_the_rows_of_one(seed: int) -> None:
    random = Random(seed)
    text = write_chain(random)
    names = [name for name in ("s", "t") if re.search(rf"\b{name} (a|b|MATCH|\[)", text)]
    tables = {name: make_events(seed + shift, 60, keys=4, gaps=(0, 1)) for shift, name in enumerate(names)}
    known = dict.fromkeys(names, SCHEMA)
    graph = compile_query(text, Catalog(known, describe_sql, streams=frozenset(names))).placed.graph
    (sink,) = [vertex for vertex, node in graph.vertices.items() if isinstance(node, Sink)]
    columns = find_chain_keys(graph, sink, known).columns
    assert set(columns) == set(names), text
    engines = random.randint(2, 8)
    table = spread_groups(64, engines)
    places = sorted(random.randint(0, 60) for _ in range(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedStateWarning)
        alone = cep.open(text, **known)
        shared = [cep.open(text, **known) for _ in range(engines)]
    rows, expected, used = [], [], set()
    for number in range(len(places) + 1):
        batch = {name: cut_table(events, places)[number] for name, events in tables.items()}
        expected.append(alone.push(**batch))
        whose = {name: own_by_columns(table, columns[name])(events) for name, events in batch.items()}
        for part, query in enumerate(shared):
            own = {name: events.filter(pa.array(whose[name] == part)) for name, events in batch.items()}
            rows.append(query.push(**own))
            used |= {part} if any(map(len, own.values())) else set()
    expected.append(alone.finish())
    rows += [query.finish() for query in shared]
    assert len(used) > 1, "keys are spread"
    assert_same_rows(pa.concat_tables(rows), pa.concat_tables(expected), text)
    assert sum(map(len, expected)) > 0, text


@pytest.mark.parametrize("seed", range(16))
def test_chain_that_is_split_in_mid_stream_gives_the_rows_of_one(seed: int) -> None:
    random = Random(seed)
    text = write_chain(random)
    names = [name for name in ("s", "t") if re.search(rf"\b{name} (a|b|MATCH|\[)", text)]
    tables = {name: make_events(seed + shift, 60, keys=4, gaps=(0, 1)) for shift, name in enumerate(names)}
    late_seconds = seed % 4
    tables = {name: shuffle_events(table, seed, late_seconds) for name, table in tables.items()}
    known = dict.fromkeys(names, SCHEMA)
    graph = compile_query(text, Catalog(known, describe_sql, streams=frozenset(names))).placed.graph
    (sink,) = [vertex for vertex, node in graph.vertices.items() if isinstance(node, Sink)]
    chain = Chain(graph, find_chain_keys(graph, sink, known))
    empty = {name: SCHEMA.empty_table() for name in names}
    table = np.zeros(16, dtype=np.int64)
    alone, shared = SharedChain(chain, empty, table, 1), SharedChain(chain, empty, table, 1)
    places = sorted(random.randint(0, 60) for _ in range(6))
    newest = dict.fromkeys(names, BEGINNING)
    rows = 0
    for number in range(len(places) + 1):
        batch = {name: cut_table(events, places)[number] for name, events in tables.items()}
        newest = {name: max(newest[name], newest_time(batch[name].column("ts"))) for name in names}
        reached = min(newest.values())
        horizon = reached if reached == BEGINNING else reached - late_seconds * SECOND
        expected = alone.push(batch, horizon)
        assert shared.push(batch, horizon) == expected, f"push {number}: {text}"
        rows += sum(map(len, expected.values()))
        count = random.randint(1, 8)
        shared.rearrange(draw_table(random, 16, count), count)
        assert shared.count_waiting() == alone.count_waiting()
    expected = alone.push(empty, None)
    assert shared.push(empty, None) == expected, f"the end: {text}"
    assert rows + sum(map(len, expected.values())) > 0, text
