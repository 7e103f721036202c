"""Each query of NEXMark, as it is written for Flink, gives what plain Python gives."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

sys.path.append(str(Path(__file__).parent))  # queries, streams and oracles lie beside this file
import nexmark_oracles
import nexmark_queries
import nexmark_streams

ROWS = nexmark_streams.make_rows()
TABLES = nexmark_streams.make_tables(ROWS)
GIVEN = {**ROWS, "side_input": nexmark_streams.make_side_rows()}
TEXTS = {**nexmark_queries.QUERIES, **nexmark_queries.PATTERNS}


def make_functions() -> dict[str, cep.Function]:
    """The function of the user in q14; made here, so that workers need not import this file."""

    def count_char(texts: pa.Array, marks: pa.Array) -> pa.Array:
        pairs = zip(texts.to_pylist(), marks.to_pylist(), strict=True)
        return pa.array([None if text is None else text.count(mark) for text, mark in pairs], pa.int64())

    return {"count_char": cep.Function(count_char, takes=["string", "string"], gives="bigint")}


FUNCTIONS = make_functions()
# right at every moment, and never final
UPDATING = ("q3", "q4", "q6", "q9", "q15", "q16", "q17", "q18", "q19", "q20")
ROW_BY_ROW = ("q0", "q1", "q2", "q10", "q13", "q14", "q21", "q22")


def plain(value: Any) -> Any:
    """Numbers that are equal, whatever their type."""
    return round(float(value), 6) if isinstance(value, Decimal | float) else value


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return sorted((tuple(map(plain, row)) for row in zip(*columns, strict=True)), key=repr)


def expect(name: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(plain, row)) for row in nexmark_oracles.ORACLES[name](GIVEN)), key=repr)


def stand_still() -> cep.ManualClock:
    """The clock of q12."""
    return cep.ManualClock(nexmark_oracles.NOW.replace(tzinfo=UTC))


@pytest.mark.parametrize("name", list(TEXTS))
def test_flink_spelling_gives_the_answer_over_tables(name: str) -> None:
    rows = rows_of(cep.sql(TEXTS[name], dialect="flink", functions=FUNCTIONS, clock=stand_still(), **TABLES))
    assert rows == expect(name)
    assert rows


def open_query(name: str, **settings: Any) -> tuple[Any, dict[str, pa.Schema]]:
    streams = ("person", "auction", "bid")
    given = {stream: TABLES[stream].schema for stream in streams if stream in TEXTS[name]}
    looked_up = {"side_input": cep.Table(TABLES["side_input"])} if "side_input" in TEXTS[name] else {}
    asked = {"dialect": "flink", "functions": FUNCTIONS, "clock": stand_still(), **settings}
    times = {stream: nexmark_streams.EVENT_TIME[stream] for stream in given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is kept for ever, and rows that come at the end
        return cep.open(TEXTS[name], event_time=times, **asked, **given, **looked_up), given


def expect_before(name: str, moment: datetime) -> Counter[tuple[Any, ...]]:
    """The answer over the events before that time."""
    given = {stream: [row for row in rows if row["dateTime"] < moment] for stream, rows in ROWS.items()}
    answer = nexmark_oracles.ORACLES[name]({**given, "side_input": GIVEN["side_input"]})
    return Counter(tuple(map(plain, row)) for row in answer)


def count_rows(rows: pa.Table, emit: str) -> Counter[tuple[Any, ...]]:
    """How often each row comes; less than zero: how often it goes."""
    if emit == "final":
        return Counter(rows_of(rows))
    found: Counter[tuple[Any, ...]] = Counter()
    for change, _, _, *row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        found[tuple(map(plain, row))] += 1 if change == "insert" else -1
    return found


def push_all(opened: Any, schemas: dict[str, pa.Schema], seconds: int = 30) -> Iterator[tuple[datetime, pa.Table]]:
    """All streams, some seconds at a time: up to when, and the rows that come."""
    end = nexmark_streams.BEGIN
    last = max(row["dateTime"] for rows in ROWS.values() for row in rows)
    while end <= last:
        begin, end = end, end + timedelta(seconds=seconds)
        some = {each: [row for row in ROWS[each] if begin <= row["dateTime"] < end] for each in schemas}
        yield end, opened.push(**{each: pa.Table.from_pylist(some[each], schema=schemas[each]) for each in schemas})


@pytest.mark.parametrize(
    ("name", "emit"),
    [(name, emit) for name in TEXTS for emit in ("final", "changes")],
)
def test_flink_spelling_gives_the_answer_after_every_push(name: str, emit: str) -> None:
    """With the rows that a copy of it would give at its end; those that are kept up to date need no end."""
    opened, schemas = open_query(name, emit=emit)
    there: Counter[tuple[Any, ...]] = Counter()
    for moment, rows in push_all(opened, schemas):
        there.update(count_rows(rows, emit))
        assert min(there.values(), default=0) >= 0, "no row goes before it came"
        copy, _ = open_query(name, emit=emit, snapshot=opened.snapshot())
        at_the_end = count_rows(copy.finish(), emit)
        if name in ROW_BY_ROW or (name in UPDATING and emit == "changes"):
            assert not at_the_end
        whole = there.copy()
        whole.update(at_the_end)
        assert +whole == expect_before(name, moment)
    there.update(count_rows(opened.finish(), emit))
    assert +there == Counter(expect(name))
