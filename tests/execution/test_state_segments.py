"""State in segments: what is written back is what changed, and what is read back is what was known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler import compile_query
from cepheid.errors import SnapshotMismatch
from cepheid.execution import state_segments
from cepheid.execution.blob import write_blob
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.engine import Engine
from cepheid.execution.engine_identity import identify_engine
from cepheid.execution.state_segments import StoredState, load_state, plan_change
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.language.catalog import Catalog

LAYOUT = pa.schema([("_key0", pa.int64()), ("_time", pa.timestamp("us")), ("x", pa.int64())])
PATTERN = """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
    MEASURES FIRST(a.x) AS x, MATCH_NUMBER() AS n PATTERN (a b+ c) WITHIN INTERVAL '50' SECOND
    DEFINE b AS b.x > PREV(b.x), c AS c.x < a.x)"""
SEQUENCE = """SELECT a.x AS ax, b.x AS bx FROM PATTERN SEQ(s a, s b) WHERE a.k = b.k AND b.x > 15
    WITHIN INTERVAL '20' SECOND STRATEGY skip_till_any"""


def make_engine(text: str) -> Engine:
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us")), ("x", pa.int64())])
    graph = compile_query(text, Catalog({"s": schema}, describe_sql)).placed.graph
    vertex = next(name for name, node in graph.vertices.items() if isinstance(node, RowPattern | Sequence))
    node = graph.vertices[vertex]
    assert isinstance(node, RowPattern | Sequence)
    (feed,) = graph.inputs(vertex)
    names = [name for name, _ in graph.vertices[feed].columns]  # type: ignore[attr-defined]
    kinds = {"_key0": pa.int64(), "_time": pa.timestamp("us")}
    layout = pa.schema([(name, kinds.get(name, pa.int64())) for name in names])
    return Engine([node], [layout], identity=identify_engine(graph, [vertex]))


def make_batch(engine: Engine, begin_s: int, count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    values = {name: random.integers(1, 20, count) for name in engine.layout.names}
    values["_key0"] = random.integers(0, 4, count)
    values["_time"] = (begin_s + np.arange(count)) * 1_000_000
    names = [name for name in engine.layout.names if name != "_arrival"]
    return pa.table({name: pa.array(values[name]).cast(engine.layout.field(name).type) for name in names})


@pytest.mark.parametrize("text", [PATTERN, SEQUENCE], ids=["row pattern", "sequence"])
def test_engine_read_back_after_every_batch_gives_the_same_rows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_segments, "SPARE_ROWS", 4)
    steady, store, index, stored = make_engine(text), {}, None, StoredState()
    expected, found = [], []
    written = 0
    for batch in range(12):
        table = make_batch(steady, batch * 30, 30, seed=batch)
        horizon = (batch * 30 + 20) * 1_000_000  # some events stay held
        expected += steady.push([table], horizon)
        engine = make_engine(text)
        if index is not None:
            stored, extra = load_state(engine, index, lambda number, _stamp: store[number])
            assert extra["mark"] == batch - 1
        found += engine.push([table], horizon)
        change, stored = plan_change(engine, stored, {"mark": batch})
        index = change.index
        store.update(change.puts)
        written += len(change.puts)
        for segment in change.deletes:
            del store[segment.number]
        assert sorted(store) == [segment.number for segment in stored.segments]
    expected += steady.finish()
    found += engine.finish()
    assert pa.concat_tables(found).to_pylist() == pa.concat_tables(expected).to_pylist()
    assert sum(map(len, expected)) > 10
    assert written >= 12
    assert len(store) < 8, "segments that nobody needs are deleted"


def test_an_older_index_with_its_segments_goes_back_in_time() -> None:
    engine, stored, store, kept = make_engine(SEQUENCE), StoredState(), {}, []
    for batch in range(3):
        engine.push([make_batch(engine, batch * 10, 10, seed=batch)], batch * 10_000_000)
        change, stored = plan_change(engine, stored, {})
        store.update(change.puts)
        kept.append(change.index)
    earlier = make_engine(SEQUENCE)
    load_state(earlier, kept[1], lambda number, _stamp: store[number])
    again = [*earlier.push([make_batch(earlier, 20, 10, seed=2)], 20_000_000), *earlier.finish()]
    plain = make_engine(SEQUENCE)
    for batch in range(2):
        plain.push([make_batch(plain, batch * 10, 10, seed=batch)], batch * 10_000_000)
    straight = [*plain.push([make_batch(plain, 20, 10, seed=2)], 20_000_000), *plain.finish()]
    assert pa.concat_tables(again).to_pylist() == pa.concat_tables(straight).to_pylist()


def no_segment(number: int, stamp: str) -> bytes:
    raise AssertionError(f"nobody asks for {number}, {stamp}")


def test_state_of_another_query_is_refused() -> None:
    engine = make_engine(SEQUENCE)
    change, _ = plan_change(engine, StoredState(), {})
    with pytest.raises(SnapshotMismatch, match="another query"):
        load_state(make_engine(PATTERN), change.index, no_segment)


def test_state_of_an_earlier_version_is_refused() -> None:
    with pytest.raises(SnapshotMismatch, match="an earlier version of Cepheid"):
        load_state(make_engine(PATTERN), write_blob({"fingerprint": "x", "segments": []}, [b"", b""]), no_segment)
