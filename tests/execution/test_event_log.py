"""The event log gives back what it was given, whatever the types and however it came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.execution import event_log, log_column
from cepheid.execution.event_log import EventLog

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, False]),
    "tiny": (pa.int8(), [1, -128]),
    "huge": (pa.uint64(), [0, 2**64 - 1]),
    "short": (pa.float32(), [0.5, float("inf")]),
    "half": (pa.float16(), [np.float16(0.5), np.float16(2)]),
    "at": (pa.timestamp("us", tz="UTC"), [0, 5]),
    "day": (pa.date32(), [0, 20000]),
    "moment": (pa.time32("s"), [0, 3600]),
    "span": (pa.duration("ms"), [1, 2]),
    "name": (pa.string(), ["", "é"]),
    "word": (pa.dictionary(pa.int32(), pa.string()), ["x", "y", "z"]),
    "price": (pa.decimal128(5, 2), [None]),
    "list": (pa.list_(pa.int64()), [[1], []]),
}


def make_table(random: np.random.Generator, count: int, nulls: float) -> pa.Table:
    columns = {}
    for name, (kind, values) in VALUES.items():
        chosen = [None if random.random() < nulls else values[random.integers(len(values))] for _ in range(count)]
        columns[name] = pa.array(chosen, kind)
    return pa.table(columns)


@pytest.mark.parametrize("seed", range(8))
def test_events_come_back_as_they_went_in(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_column, "MOST_MERGED", 40)
    random = np.random.default_rng(seed)
    parts = [make_table(random, int(random.integers(0, 9)), random.choice([0.0, 0.3])) for _ in range(30)]
    if seed % 2:
        parts.insert(3, pa.concat_tables(parts[:3]))
    log = EventLog(parts[0].schema)
    for part in parts:
        log.append(part)
    whole = pa.concat_tables(parts).combine_chunks()
    assert len(log) == len(whole)
    events = random.integers(0, len(whole), 25)
    kept = random.random(len(whole)) < 0.5
    missing = np.where(random.random(25) < 0.2, -1, events)
    assert log.take_rows(kept).to_pylist() == whole.filter(pa.array(kept)).to_pylist()
    for name in whole.column_names:
        values = whole.column(name).to_pylist()
        assert log.take(name, events).type == whole.schema.field(name).type
        assert log.take(name, events).to_pylist() == [values[event] for event in events]
        assert log.take(name, missing).to_pylist() == [None if event < 0 else values[event] for event in missing]
        assert log.take(name, events[:0]).to_pylist() == []


def test_first_table_is_not_copied_and_not_changed() -> None:
    table = pa.table({"x": np.arange(5)})
    log = EventLog(table.schema)
    log.append(table)
    log.append(pa.table({"x": np.arange(5, 8)}))
    assert log.take("x", np.arange(8)).to_pylist() == list(range(8))
    assert table.column("x").to_pylist() == list(range(5))


def test_empty_log_has_only_missing_events() -> None:
    log = EventLog(make_table(np.random.default_rng(1), 1, 0.0).schema)
    for name in VALUES:
        assert log.take(name, np.array([-1])).to_pylist() == [None]


@pytest.mark.parametrize("seed", range(6))
def test_some_events_of_tables_come_back_as_if_they_had_been_copied(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MOST_WAITING", 1 + seed)
    random = np.random.default_rng(seed)
    log, parts = EventLog(make_table(random, 1, 0.0).schema), []
    for _ in range(9):
        table = make_table(random, int(random.integers(0, 40)), random.choice([0.0, 0.3]))
        chosen = np.flatnonzero(random.random(len(table)) < 0.6)
        log.append(table, chosen)
        parts.append(table.take(pa.array(chosen)))
        whole = pa.concat_tables(parts).combine_chunks()
        for name in random.choice(whole.column_names, 5):
            low = int(random.integers(0, len(whole) + 1))
            events = (
                random.integers(low, len(whole), int(random.integers(0, 12))) if low < len(whole) else np.zeros(0, int)
            )
            wanted = whole.column(name).to_pylist()
            assert log.take(name, events).to_pylist() == [wanted[event] for event in events]
    assert len(log) == len(whole)
    assert log.take_rows(np.ones(len(log), dtype=np.bool_)).to_pylist() == whole.to_pylist()
