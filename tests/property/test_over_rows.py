"""OVER that picks rows: the vectorised kernel says what the definition says, for any split, also after a restart."""

from __future__ import annotations

import random
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))  # how many cases lies beside this file
from case_counts import some

import cepheid as cep
from cepheid.kernel import over_rows
from cepheid.kernel.columns import Int64s
from cepheid.kernel.over import OverEvents, OverFrame, OverFunction, OverProgram, SettledRows
from cepheid.kernel.over_rows import OverRowsKernel
from cepheid.kernel.reference.over_rows import ReferenceOverRows


def make_program(chance: random.Random) -> OverProgram:
    start = chance.choice([None, -3, -1, 0, 1])
    least = max(start if start is not None else 0, -2)
    kind = chance.choice(["rows", "range"])
    frame = OverFrame(
        kind=kind, start=start, end=chance.choice([each for each in (-1, 0, 1, 3) if each >= least] or [least])
    )
    functions = [
        OverFunction(
            function=chance.choice(["lag", "lead", "first", "last", "nth", "row_number", "rank", "dense_rank"]),
            number=chance.choice([1, 1, 2, 3]),
            column=chance.choice([None, "x"]),
        )
        for _ in range(chance.choice([1, 2, 3]))
    ]
    return OverProgram(functions=tuple(functions), frame=frame, spans=start is not None and chance.random() < 0.5)


def make_events(chance: random.Random) -> OverEvents:
    count = chance.randrange(1, 25)
    times = np.sort(np.array([chance.randrange(count) for _ in range(count)], dtype=np.int64))
    keys = np.array([chance.randrange(3) for _ in range(count)], dtype=np.int64)
    return OverEvents(times, keys, {"x": np.array([chance.random() < 0.6 for _ in range(count)])})


def cut(events: OverEvents, begin: int, end: int) -> OverEvents:
    return OverEvents(events.times[begin:end], events.keys[begin:end], {"x": events.with_value["x"][begin:end]})


def describe(found: SettledRows, ids: Int64s, picks: list[bool]) -> list[tuple[Any, ...]]:
    """By the rows' own numbers, whatever they are called since a restart."""
    answers = [
        np.where(answer >= 0, ids[np.maximum(answer, 0)], -1) if picked else answer
        for answer, picked in zip(found.answers, picks, strict=True)
    ]
    triggers = np.where((found.triggers >= 0) & (found.moments < 2**61), ids[np.maximum(found.triggers, 0)], -1)
    told = [each.tolist() for each in (ids[found.rows], found.moments, triggers, *answers)]
    if found.frames is not None:
        inside = np.split(ids[found.frames[0]], np.cumsum(found.frames[1])[:-1]) if len(found) else []
        told.append([tuple(frame.tolist()) for frame in inside])
    return list(zip(*told, strict=True))


def run_in_pieces(program: OverProgram, events: OverEvents, chance: random.Random) -> list[tuple[Any, ...]]:
    kernel, ids, begin, told = OverRowsKernel(program), np.zeros(0, dtype=np.int64), 0, []
    picks = [function.picks for function in program.functions]
    while begin < len(events):
        end = min(begin + chance.choice([1, 1, 2, 5]), len(events))
        ids = np.concatenate([ids, np.arange(begin, end)])
        horizon = int(events.times[end - 1])
        told += describe(kernel.step(cut(events, begin, end), horizon, final=False), ids, picks)
        if chance.random() < 0.4:
            kept = kernel.needed(horizon)
            arrays, kernel = kernel.keep(kept), OverRowsKernel(program)
            ids = ids[kept]
            kernel.restore(OverEvents(events.times[ids], events.keys[ids], {"x": events.with_value["x"][ids]}), arrays)
        begin = end
    return told + describe(kernel.step(cut(events, 0, 0), 2**62, final=True), ids, picks)


@pytest.fixture(autouse=True, params=[0, 4096], ids=["forgets at once", "forgets late"])
def spare(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_rows, "SPARE", request.param)


@pytest.mark.parametrize("seed", range(some(90)))
def test_any_split_says_what_the_definition_says(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(5):
        try:
            program = make_program(chance)
        except AssertionError:
            continue  # a frame that ends before it starts
        events = make_events(chance)
        picks = [function.picks for function in program.functions]
        expected = describe(ReferenceOverRows(program).step(events, 0, final=True), np.arange(len(events)), picks)
        whole = describe(OverRowsKernel(program).step(events, 0, final=True), np.arange(len(events)), picks)
        assert whole == expected
        assert run_in_pieces(program, events, chance) == expected, program


CALLS = ["lag(v)", "lead(v, 2, -1)", "first_value(v)", "last_value(v)", "nth_value(v, 2)", "row_number()", "rank()"]
SOURCES = ["s", "(SELECT * FROM s WHERE v > 1) AS s", "x AS s"]


@pytest.mark.parametrize("seed", range(some(30)))
def test_whole_tables_and_streams_agree_on_rows_of_one_time(seed: int) -> None:
    """DuckDB puts rows that ORDER BY does not tell apart in any order, once there are more than a few dozen."""
    chance = random.Random(seed)
    count = chance.choice([10, 300, 3000])
    times = sorted(chance.randrange(1 + count // 4) for _ in range(count))
    events = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us")),
            "k": [chance.randrange(3) for _ in times],
            "v": [chance.choice([None, *range(9)]) for _ in times],
        }
    )
    if chance.random() < 0.5:
        events = events.take(pa.array(chance.sample(range(count), count)))
    frame = chance.choice(["", "", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"])
    calls = chance.sample(CALLS, 3) + (["sum(v)", "count(*)"] if frame else [])
    shown = ", ".join(f"{call} OVER w AS c{number}" for number, call in enumerate(calls))
    query = f"SELECT s.*, {shown} FROM {chance.choice(SOURCES)} "
    query += f"WINDOW w AS ({chance.choice(['PARTITION BY k ', ''])}ORDER BY ts{frame})"
    if "x AS s" in query:
        query = f"WITH x AS (SELECT k, ts, v FROM s) {query}"
    opened = cep.open(query, s=events.schema, lateness=timedelta(seconds=1))
    rows = pa.concat_tables([opened.push(s=events), opened.finish()])
    assert Counter(map(str, rows.to_pylist())) == Counter(map(str, cep.sql(query, s=events).to_pylist()))
