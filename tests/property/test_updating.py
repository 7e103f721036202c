"""Random results that change: after each push, inserts less retracts are what DuckDB says of all events so far."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))  # random queries lie beside this file
from case_counts import few
from random_updating import make_updating

import cepheid as cep

pytestmark = [
    pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning"),
    pytest.mark.filterwarnings("ignore::cepheid.errors.RowsAtTheEndWarning"),
]
SCHEMA = pa.schema({"ts": pa.timestamp("us"), "k": "int64", "v": "int64"})


def make_events(random: Random, turn: int) -> pa.Table:
    count = random.randrange(5)
    values = {
        "ts": [turn * 1_000_000 + number for number in random.sample(range(9), count)],
        "k": [random.choice([None, 1, 1, 2, 3]) for _ in range(count)],
        "v": [random.choice([None, *range(6)]) for _ in range(count)],
    }
    return pa.table(values, schema=SCHEMA)


def count_rows(rows: list[tuple[Any, ...]]) -> Counter[Any]:
    return Counter(tuple(int(value) if value is not None else None for value in row) for row in rows)


def ask_duckdb(query: str, tables: dict[str, pa.Table]) -> Counter[Any]:
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.register(name, table)
        return count_rows(database.execute(query).fetchall())


def list_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def take_changes(shown: Counter[Any], changes: pa.Table) -> None:
    """A row that is there may be taken back; a stream that is read twice may give two rows of one name."""
    for change, name, _, *values in list_rows(changes):
        if change == "retract":
            assert shown[name, *values] > 0
        shown[name, *values] += 1 if change == "insert" else -1


def list_shown(shown: Counter[Any]) -> list[tuple[Any, ...]]:
    return [tuple(values) for _, *values in shown.elements()]


@pytest.mark.parametrize("seed", range(few(60, of=1500)))
def test_changes_add_up_to_what_duckdb_says_after_each_push(seed: int) -> None:
    random = Random(seed)
    query = make_updating(random, random.choice([1, 2, 2, 3]))
    streams = {name: SCHEMA for name in "sr" if f"FROM {name}" in query}
    changing, final = cep.open(query, emit="changes", **streams), cep.open(query, **streams)
    events = {name: SCHEMA.empty_table() for name in streams}
    shown: Counter[Any] = Counter()
    given: list[tuple[Any, ...]] = []
    for turn in range(6):
        batch = {name: make_events(random, turn) for name in streams if random.random() < 0.8}
        events |= {name: pa.concat_tables([events[name], table]) for name, table in batch.items()}
        take_changes(shown, changing.push(**batch))
        given += list_rows(final.push(**batch))
        assert count_rows(list_shown(shown)) == ask_duckdb(query, events), query
        if random.random() < 0.3:
            changing = cep.open(query, emit="changes", snapshot=changing.snapshot(), **streams)
            final = cep.open(query, snapshot=final.snapshot(), **streams)
    take_changes(shown, changing.finish())
    given += list_rows(final.finish())
    whole = ask_duckdb(query, events)
    assert count_rows(list_shown(shown)) == whole, query
    assert count_rows(given) == whole, query
    assert count_rows(list_rows(cep.sql(query, **events))) == whole, query
