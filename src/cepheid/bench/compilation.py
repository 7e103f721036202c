"""How long many different queries take to compile together, and one more beside them.

Windows, patterns, sequences and joins over ten streams, all different, in equal shares.
"""

from __future__ import annotations

import time
from random import Random
from statistics import median
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.progress import track

from cepheid.bench.machine import describe_machine
from cepheid.compiler import Compilation, add_query, compile_query
from cepheid.execution.embedded.relations import describe_sql, stays_in_duckdb
from cepheid.language.catalog import Catalog

STREAMS = 10
SCHEMA = pa.schema([
    ("ts", pa.timestamp("us")), ("id", pa.int32()), ("a1", pa.float64()), ("a2", pa.float64()), ("a3", pa.float64()),
])  # fmt: skip
SEED = 7


def measure_compilation(counts: tuple[int, ...], repeats: int) -> dict[str, Any]:
    """counts: how many queries at once, ascending."""
    _compile(make_queries(5, SEED + 1))  # DuckDB is started, modules are loaded
    found: dict[str, dict[str, Any]] = {}
    for count in track(counts, "compilations", console=Console(stderr=True)):
        queries = make_queries(count, SEED)
        taken = []
        for _ in range(repeats):
            begin = time.perf_counter()
            _compile(queries)
            taken.append(time.perf_counter() - begin)
        compilation = _compile(queries)
        begin = time.perf_counter()
        extra = make_queries(count + 1, SEED)[f"q{count}"]
        add_query(compilation, "one_more", extra, _make_catalog())
        added_s = time.perf_counter() - begin
        found[f"{count} queries"] = {
            "seconds": round(median(taken), 3),
            "spread_s": [round(min(taken), 3), round(max(taken), 3)],
            "ms_each": round(1000 * median(taken) / count, 3),
            "one_more_ms": round(1000 * added_s, 1),
            "vertices": len(compilation.placed.graph.vertices),
        }
    return {
        "benchmark": "compilation",
        "question": f"different queries over {STREAMS} streams, from text to a placed graph",
        **describe_machine(),
        "seed": SEED,
        "repeats": repeats,
        "embedded": found,
    }


def make_queries(count: int, seed: int) -> dict[str, str]:
    random = Random(seed)
    return {f"q{number}": _write_query(random, number % 5) for number in range(count)}


def _write_query(random: Random, kind: int) -> str:
    stream, other = (f"s{random.randrange(STREAMS)}" for _ in range(2))
    column, function = random.choice(("a1", "a2", "a3")), random.choice(("avg", "max", "min", "sum", "stddev"))
    size, level = random.randrange(1, 10**6), f"{random.random() * 100:.3f}"
    seconds = random.randrange(100, 5000)
    match kind:
        case 0:
            return (
                f"SELECT id, {function}({column}) AS v FROM {stream} [ROWS {size}] WHERE a2 > {level} "
                f"GROUP BY id HAVING count(*) > {random.randrange(9)}"
            )
        case 1:
            return (
                f"SELECT id, {function}({column}) AS v, window_start FROM {stream} "
                f"[RANGE {seconds} SECONDS SLIDE {random.randrange(1, 100)} SECONDS] GROUP BY id"
            )
        case 2:
            return (
                f"SELECT * FROM {stream} MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES "
                f"FIRST(up.{column}) AS f, LAST(up.{column}) - FIRST(up.{column}) AS d "
                f"PATTERN (st up{{{random.randrange(2, 30)},}} down) "
                f"WITHIN INTERVAL '{seconds}' SECOND "
                f"DEFINE up AS up.a1 > PREV(up.a1) AND up.a2 < {size}, down AS down.a1 < {level})"
            )
        case 3:
            return (
                f"SELECT a.id, a.ts AS t0, b.ts AS t1 FROM PATTERN SEQ({stream} a, {other} b) "
                f"WHERE a.id = b.id AND a.{column} > {level} AND b.a1 > a.a1 WITHIN INTERVAL '{seconds}' SECOND"
            )
    return (
        f"SELECT x.id, x.{column}, y.a2 AS other FROM {stream} [ROWS {size}] AS x, "
        f"{other} [RANGE {seconds} SECONDS] AS y WHERE x.id = y.id AND x.a1 < y.a1 + {level}"
    )


def _compile(queries: dict[str, str]) -> Compilation:
    return compile_query(queries, _make_catalog())


def _make_catalog() -> Catalog:
    """A new one each time: nothing is remembered from one compilation to the next."""
    streams = [f"s{number}" for number in range(STREAMS)]
    return Catalog(dict.fromkeys(streams, SCHEMA), describe_sql, frozenset(streams), keeps_type=stays_in_duckdb)
