"""A snapshot opens for any set of queries that holds what it holds, in any order, with the rows of a run without it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import pyarrow as pa
import pytest
from random_events import SCHEMA, make_events
from random_windows import make_window_case

import cepheid as cep
from cepheid.errors import EmptyStateWarning, UnboundedStateWarning
from cepheid.testing.compare_rows import assert_same_rows
from cepheid.testing.run_in_batches import cut_table

CASES = 60
PATTERNS = (
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(a.i) AS x, LAST(b.f) AS y, "
        "MATCH_NUMBER() AS n PATTERN (a b+) WITHIN INTERVAL '4' SECOND DEFINE b AS b.i > PREV(b.i) OR b.flag)"
    ),
    (
        "SELECT a.ts AS t, b.w AS w FROM PATTERN SEQ(s a, t b) ORDER BY ts WHERE a.k = b.k AND a.i > 0 "
        "WITHIN INTERVAL '3' SECOND"
    ),
    (
        "SELECT a.ts AS t, count(b[]) AS n FROM PATTERN SEQ(s a, s+ b[]) ORDER BY ts WHERE a.k = b.k AND a.s = b.s "
        "WITHIN INTERVAL '2' SECOND LIMIT PARTIALS 5 DROP OLDEST"
    ),
)


def list_texts() -> list[str]:
    """Queries over s and t that say when they are ordered."""
    made = [make_window_case(seed).text for seed in range(120)]
    return [*PATTERNS, *PATTERNS, *dict.fromkeys(made)]


TEXTS = list_texts()


def open_quietly(queries: dict[str, str], snapshot: bytes | None = None) -> tuple[object, bool]:
    """The query, and whether it was reported that something begins empty."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        query = cep.open(queries, s=SCHEMA, t=SCHEMA, snapshot=snapshot)
    others = [each for each in caught if not issubclass(each.category, EmptyStateWarning | UnboundedStateWarning)]
    assert not others, others
    return query, any(issubclass(each.category, EmptyStateWarning) for each in caught)


def run_through(query: object, batches: list[dict[str, pa.Table]], finish: bool) -> dict[str, list[pa.Table]]:
    rows = [query.push(**batch) for batch in batches]  # type: ignore[attr-defined]
    if finish:
        rows.append(query.finish())  # type: ignore[attr-defined]
    return {name: [each[name] for each in rows] for name in (rows[0] if rows else {})}


@pytest.mark.parametrize("seed", range(CASES))
def test_snapshot_opens_for_any_set_that_holds_its_queries(seed: int) -> None:
    random = Random(seed)
    names = [f"q{number}" for number in range(random.randint(1, 4))]
    queries = {name: random.choice(TEXTS) for name in names}
    tables = {name: make_events(seed + shift, 40, keys=3, gaps=(0, 1)) for name, shift in (("s", 0), ("t", 999))}
    places = sorted(random.randint(0, 40) for _ in range(3))
    parts = {name: cut_table(table, places) for name, table in tables.items()}
    batches = [{name: parts[name][number] for name in tables} for number in range(len(places) + 1)]
    cut = random.randint(1, len(batches) - 1)

    whole, _ = open_quietly(queries)
    expected = run_through(whole, batches, finish=True)

    first, _ = open_quietly(queries)
    before = run_through(first, batches[:cut], finish=False)
    blob = first.snapshot()  # type: ignore[attr-defined]
    kept = random.sample(names, random.randint(1, len(names)))  # in another order, and some are gone
    again = {name: queries[name] for name in kept}
    known = {queries[name] for name in names}
    fresh = next(text for text in random.sample(TEXTS, len(TEXTS)) if text not in known)
    adds = random.random() < 0.5
    if adds:
        again["new"] = fresh
    second, reported = open_quietly(again, blob)
    restored = second.restored  # type: ignore[attr-defined]
    assert set(kept) <= set(restored.kept)
    assert set(restored.dropped) == set(names) - set(kept)
    assert reported == bool(restored.empty)
    after = run_through(second, batches[cut:], finish=True)
    for name in kept:
        assert_same_rows(
            pa.concat_tables([*before[name], *after[name]]),
            pa.concat_tables(expected[name]),
            f"{name}: {queries[name]}",
        )
    if adds and "new" in restored.empty:
        alone, _ = open_quietly({"new": fresh})
        begun = run_through(alone, batches[cut:], finish=True)
        assert_same_rows(pa.concat_tables(after["new"]), pa.concat_tables(begun["new"]), f"begins empty: {fresh}")
