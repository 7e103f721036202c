"""Joins as of a time give the rows that DuckDB gives over whole tables: for any split, after restarts, with events that
come late but not too late."""

from __future__ import annotations

import random
import sys
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import cepheid as cep

sys.path.append(str(Path(__file__).parent))  # how many cases lies beside this file
from case_counts import some

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LATENESS = timedelta(seconds=4)
COMPARISONS = (">=", ">", "<=", "<")


def make_table(chance: random.Random, value: str) -> pa.Table:
    """Times differ within a key, so that everybody chooses the same row."""
    places = [(second, key) for second in range(20) for key in ("x", "y", None) if chance.random() < 0.4]
    return pa.table(
        {
            "ts": pa.array([BEGIN + timedelta(seconds=second) for second, _ in places], pa.timestamp("us", tz="UTC")),
            "k": pa.array([key for _, key in places], pa.string()),
            value: pa.array(range(len(places)), pa.int64()),
        }
    )


def shuffle(table: pa.Table, chance: random.Random) -> pa.Table:
    """No event comes after one that is more than the lateness younger."""
    seconds = [(ts - BEGIN).total_seconds() + chance.uniform(0, 3.9) for ts in table.column("ts").to_pylist()]
    return table.take(pa.array(sorted(range(len(table)), key=seconds.__getitem__)))


def run_in_pieces(query: str, tables: dict[str, pa.Table], chance: random.Random) -> pa.Table:
    given = {"lateness": LATENESS, **{name: table.schema for name, table in tables.items()}}
    opened, parts = cep.open(query, **given), []
    places = dict.fromkeys(tables, 0)
    while any(places[name] < len(table) for name, table in tables.items()):
        sizes = {name: chance.randrange(6) for name in tables}
        parts.append(opened.push(**{name: tables[name].slice(places[name], size) for name, size in sizes.items()}))
        places = {name: place + sizes[name] for name, place in places.items()}
        if chance.random() < 0.3:
            opened = cep.open(query, snapshot=opened.snapshot(), **given)
    return pa.concat_tables([*parts, opened.finish()])


def list_rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize("seed", range(some(12)))
def test_any_split_gives_what_duckdb_gives(seed: int) -> None:
    chance = random.Random(seed)
    a, b = make_table(chance, "n"), make_table(chance, "v")
    side, keys = chance.choice(["", "LEFT"]), chance.choice(["a.k = b.k AND ", "a.k = b.k AND b.v % 3 <> 0 AND "])
    for comparison in chance.sample(COMPARISONS, 2):
        query = f"SELECT a.n, b.v, b.k FROM a ASOF {side} JOIN b ON {keys}a.ts {comparison} b.ts"
        expected = list_rows(duckdb.sql(query).to_arrow_table())
        assert list_rows(cep.sql(query, a=a, b=b)) == expected, query
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.UnboundedStateWarning)
            shuffled = {"a": shuffle(a, chance), "b": shuffle(b, chance)}
            assert list_rows(run_in_pieces(query, shuffled, chance)) == expected, query


OVERS = (
    "lag(v, 2, -1)",
    "lead(v)",
    "lead(v, 2) IGNORE NULLS",
    "lag(v) IGNORE NULLS",
    "row_number()",
    "dense_rank()",
)
FRAMED = ("first_value(v)", "last_value(v) IGNORE NULLS", "nth_value(v, 2)", "sum(v)", "count(*)", "max(v)")
FRAMES = (
    "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND INTERVAL '2' SECOND FOLLOWING",
    "RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
)


@pytest.mark.parametrize("seed", range(some(12)))
def test_rows_around_a_row_are_those_of_whole_tables(seed: int) -> None:
    chance = random.Random(seed)
    table = make_table(chance, "n")
    values = pa.array([chance.choice([None, 1, 2, 3]) for _ in range(len(table))], pa.int64())
    table = table.append_column("v", values)
    window = f"PARTITION BY k ORDER BY ts {chance.choice(FRAMES)}"
    calls = [*chance.sample(OVERS, 2), *chance.sample(FRAMED, 2)]
    outputs = ", ".join(f"CAST({call} OVER ({window}) AS BIGINT) AS c{number}" for number, call in enumerate(calls))
    query = f"SELECT n, {outputs} FROM a"
    expected = list_rows(cep.sql(query, a=table))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.UnboundedStateWarning)
        assert list_rows(run_in_pieces(query, {"a": shuffle(table, chance)}, chance)) == expected, query
