"""What several processes are worth: a query in this one, and the same with `engines=1` and `engines=2`.

Patterns whose matching dominates, with a key and without, and one that costs next to nothing.  Rows are the same, push
by push, or there is no figure.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from cepheid.bench.disorder.measured_queries import make_table

KEYED_KLEENE = """
    SELECT * FROM events MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts MEASURES a.n AS first_n, count(b.v) AS many, d.n AS last_n
      PATTERN (a b* d) WITHIN INTERVAL '60' SECOND
      DEFINE b AS b.v < a.v + 0.2, d AS d.v > 1.9 * avg(b.v) AND d.v > 0.999)"""
PAIRS_OF_ALL = (
    "SELECT a.n AS first_n, c.n AS last_n FROM PATTERN SEQ(events a, events b, events c) "
    "WHERE b.v < a.v - 0.5 AND c.v > a.v + b.v AND c.v > 0.9999 WITHIN INTERVAL '200' MILLISECOND"
)
LIGHT = (
    "SELECT a.k AS k, a.n AS first_n, b.n AS last_n FROM PATTERN SEQ(events a, events b) "
    "WHERE a.k = b.k AND a.v > 0.999 AND b.v < a.v WITHIN INTERVAL '1' SECOND"
)
QUERIES = {
    "keyed Kleene": KEYED_KLEENE,
    "SEQ without a key": PAIRS_OF_ALL,
    "keyed SEQ, few matches": LIGHT,
}
WAYS: dict[str, int | None] = {"this process": None, "engines=1": 1, "engines=2": 2}
EVERY_US = 1000
PUSH = 20_000


def measure_engines(events: int, repeats: int, advance: Callable[[], object]) -> dict[str, Any]:
    """repeats: by turns, of which the median of each counts.  advance: one query is done."""
    table = make_table(EVERY_US * np.arange(events, dtype=np.int64), seed=1)
    rows: dict[str, Any] = {}
    for name, text in QUERIES.items():
        taken: dict[str, list[float]] = {way: [] for way in WAYS}
        counted: dict[str, Counter[Any]] = {}
        for _ in range(repeats):
            for way, engines in WAYS.items():
                seconds, given = _run(text, table, engines)
                taken[way].append(seconds)
                counted[way] = given
        assert len({frozenset(each.items()) for each in counted.values()}) == 1, "any number of engines, the same rows"
        per_s = {way: (events - PUSH) / float(np.median(seconds)) for way, seconds in taken.items()}
        one = per_s["engines=1"]
        rows[name] = {
            **{way: round(each) for way, each in per_s.items()},
            "rows": counted["engines=1"].total(),
            "two_of_one": round(per_s["engines=2"] / one, 2),
            "two_of_this": round(per_s["engines=2"] / per_s["this process"], 2),
            "overhead": round(per_s["this process"] / one - 1, 3),
        }
        advance()
    return {"events": events, "push": PUSH, "rows": rows}


def _run(text: str, table: pa.Table, engines: int | None) -> tuple[float, Counter[Any]]:
    """Seconds, once the first push is done, and the rows."""
    with cep.open(text, engines=engines, events=table.schema) as query:
        given = [query.push(events=table.slice(0, PUSH))]
        began = time.perf_counter()
        given += [query.push(events=table.slice(at, PUSH)) for at in range(PUSH, len(table), PUSH)]
        seconds = time.perf_counter() - began
        rows = pa.concat_tables([*given, query.finish()])
        return seconds, Counter(zip(*(column.to_pylist() for column in rows.columns), strict=True))
