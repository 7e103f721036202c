"""Whatever the keys, tasks and shares: each event comes out once, in the share of its key, and all hear the time."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from cepheid.execution.spark import envelopes
from cepheid.execution.spark.envelopes import TASK, Packing, open_envelopes, pack_table
from cepheid.execution.spark.key_groups import choose_labels, hash_label

SCHEMA = pa.schema([("_time", pa.timestamp("us", tz="UTC")), ("_key0", pa.int32()), ("number", pa.int64())])
EVENTS = st.lists(st.tuples(st.integers(0, 40), st.one_of(st.none(), st.integers(0, 9))), max_size=12)


@settings(deadline=None)
@given(
    tasks=st.lists(st.lists(EVENTS, min_size=1, max_size=3), min_size=1, max_size=3),
    groups=st.sampled_from([1, 5, 64]),
    shares=st.integers(1, 9),
)
def test_each_event_comes_out_once_in_its_share(
    tasks: list[list[list[tuple[int, int | None]]]], groups: int, shares: int
) -> None:
    how = Packing(0, ("_key0",), groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelopes.Packing, "count_shares", lambda _how: shares)
        packed, sent = [], []
        for task, tables in enumerate(tasks):
            for place, events in enumerate(tables):
                rows = [(time, key, len(sent) + number) for number, (time, key) in enumerate(events)]
                sent += rows
                columns = list(zip(*rows, strict=True)) or [(), (), ()]
                arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
                table = pa.Table.from_arrays(arrays, schema=SCHEMA)
                packed += pack_table(table, how, task * TASK + place, 1000 * task + place).to_pylist()
    labels = choose_labels(shares)
    assert {hash_label(label) % shares for label in labels} == set(range(shares))
    received: dict[int | None, int] = {}
    numbers: list[int] = []
    for label in {row["label"] for row in packed}:
        assert label in labels
        own = [row for row in packed if row["label"] == label]
        assert len({row["newest"] for row in own}) == sum(map(len, tasks)), "it hears of every table"
        ports, sequences, payloads = ([row[name] for row in own] for name in ("port", "sequence", "payload"))
        (table,) = open_envelopes(ports, sequences, payloads, [SCHEMA], ["_time"])
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        assert all(received.setdefault(key, label) == label for _, key, _ in rows), "a key is in one share"
        assert all(a[2] < b[2] for a, b in pairwise(rows) if a[0] == b[0]), "events of one time stay in order"
        numbers += [number for _, _, number in rows]
    assert sorted(numbers) == [number for _, _, number in sent]
