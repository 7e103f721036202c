"""The state of OVER, taken apart by key and put together again, goes on as if nothing had happened."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.execution.operator import KeptEvents
from cepheid.execution.over_operator import OverOperator
from cepheid.graph.operators import OverRows
from cepheid.graph.operators.over_rows import OverCell
from cepheid.kernel.columns import Int64s
from cepheid.kernel.over import OverFrame, OverFunction, OverProgram
from cepheid.kernel.window import WindowedAggregate

LAYOUT = pa.schema([("_time", pa.timestamp("us")), ("_key0", pa.int64()), ("v", pa.int64()), ("_arrival", pa.int64())])
NODE = OverRows(
    program=OverProgram(
        functions=(
            OverFunction(function="lag", number=2),
            OverFunction(function="lead", column="v"),
            OverFunction(function="dense_rank"),
        ),
        frame=OverFrame(kind="rows", start=-1, end=1),
        spans=True,
    ),
    cells=(
        OverCell(name="key", kind="row", column="_key0"),
        OverCell(name="at", kind="row", column="_arrival"),
        OverCell(name="lag", kind="picked", column="v", number=0),
        OverCell(name="lead", kind="picked", column="v", number=1),
        OverCell(name="rank", kind="number", number=2),
        OverCell(name="sum", kind="aggregate", number=0),
    ),
    keys=1,
    aggregates=(WindowedAggregate(function="sum", column="v", column_kind="int", kind="int"),),
)


def make_events(seed: int, count: int = 60) -> tuple[pa.Table, Int64s]:
    chance = np.random.default_rng(seed)
    times = np.sort(chance.integers(0, count, count))
    values = pa.array(chance.integers(0, 9, count), mask=chance.random(count) < 0.3)
    columns = [pa.array(times).cast(pa.timestamp("us")), pa.array(chance.integers(0, 5, count)), values]
    return pa.Table.from_arrays([*columns, pa.array(np.arange(count))], schema=LAYOUT), times


def owners(table: pa.Table) -> Int64s:
    found: Int64s = table.column("_key0").to_numpy() % 3
    return found


def open_operator(kept: KeptEvents | None = None) -> OverOperator:
    operator = OverOperator(NODE, LAYOUT, "compiled")
    if kept is not None:
        operator.replay(kept, kept.table.column("_time").cast(pa.int64()).to_numpy(), None)
    return operator


@pytest.mark.parametrize("seed", range(4))
def test_parts_go_on_where_the_whole_was_and_the_whole_where_parts_were(seed: int) -> None:
    events, times = make_events(seed)
    whole = open_operator()
    (expected,) = whole.step(events, times, int(times[-1]), final=True)
    first = open_operator()
    rows = first.step(events.slice(0, 20), times[:20], int(times[19]), final=False)
    parts = [open_operator(each) for each in first.split(first.keep(int(times[19])), owners, 3)]
    middle, between = events.slice(20, 20), times[20:40]
    for number, part in enumerate(parts):
        mine = owners(middle) == number
        rows += part.step(middle.filter(pa.array(mine)), between[mine], int(times[39]), final=False)
    united = open_operator(first.merge([part.keep(int(times[39])) for part in parts]))
    rows += united.step(events.slice(40), times[40:], int(times[-1]), final=True)
    assert sorted(map(str, pa.concat_tables(rows).to_pylist())) == sorted(map(str, expected.to_pylist()))
