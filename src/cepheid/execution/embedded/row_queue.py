"""The rows of a pattern, put into the order in which they come out of a whole table, before another pattern reads them.

A match is given out when it is settled, and when that is depends on how the events were cut into batches.  So the rows
wait until no match that ended earlier can follow, and leave in the order of the last events of their matches.

    lower pattern ─▶ rows with their places ─▶ [ queue ] ─▶ rows in order ─▶ upper pattern
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.event_time import END, order_values
from cepheid.execution.operator import Owners
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.columns import Int64s
from cepheid.kernel.expression import CURRENT, Position
from cepheid.kernel.partition_rows import list_rows
from cepheid.schema import empty_table

_FIRST = "_place.first"


def with_places(node: RowPattern | Sequence, many: bool) -> RowPattern | Sequence:
    """The pattern with cells that tell where its rows belong; `many`: it has several inputs."""
    columns = _order_columns(node, many)
    last = [OutputCell(name=f"_place.last{column}", column=column, position=CURRENT, final=True) for column in columns]
    own = [OutputCell(name=f"_place.own{column}", kind="row", column=column) for column in columns]
    first = OutputCell(name=_FIRST, column="_time", position=Position((), "first"), final=True)
    return replace(node, cells=(*node.cells, first, *last, *own))


class RowQueue:
    """Rows that wait for their turn."""

    def __init__(self, node: RowPattern | Sequence, many: bool, schema: pa.Schema) -> None:
        """`node`: without places; `schema`: of its rows, with places."""
        self._columns = _order_columns(node, many)
        self._names = [cell.name for cell in node.cells]
        self.waiting = empty_table(schema)

    def pass_on(self, rows: pa.Table, floor: int) -> pa.Table:
        """Take rows in; give out those whose matches ended before `floor`: rows to come are about later events."""
        rows = pa.concat_tables([self.waiting, rows]) if len(self.waiting) else rows
        ready = np.empty(0, dtype=np.int64)
        if len(rows):
            keys = [_values(_place_of(rows, column)) for column in self._columns]
            order = np.lexsort(keys[::-1])
            ready = order[keys[0][order] < floor]
            kept = np.ones(len(rows), dtype=np.bool_)
            kept[ready] = False
            self.waiting = rows.filter(pa.array(kept))
        return rows.take(pa.array(ready)).select(self._names)

    def oldest(self) -> int:
        """No row that waits is about an event older than this."""
        if not len(self.waiting):
            return END
        first = pc.coalesce(self.waiting.column(_FIRST), self.waiting.column("_place.own_time"))
        return int(_values(first).min())


def order_rows(node: RowPattern | Sequence, many: bool, rows: pa.Table) -> list[Int64s]:
    """What orders rows with places, the first thing first; `node`: without places."""
    return [_values(_place_of(rows, column)) for column in _order_columns(node, many)]


def _place_of(rows: pa.Table, column: str) -> pa.ChunkedArray:
    """Where the last event of the match stands in this order; an empty match has the event it was found at."""
    return pc.coalesce(rows.column(f"_place.last{column}"), rows.column(f"_place.own{column}"))


def split_waiting(waiting: pa.Table, cells: list[str], owners: Owners, count: int) -> list[pa.Table]:
    """The rows that wait in each of `count` queues, if keys are spread over them; cells: copies of the keys by which
    (placement/chain_keys.py), in the order of `_key0`, ..., by which the owners are told."""
    keys = waiting.select(cells).rename_columns([f"_key{number}" for number in range(len(cells))])
    return [waiting.take(pa.array(rows)) for rows in list_rows(owners(keys), count)]


def merge_waiting(parts: list[pa.Table]) -> pa.Table:
    """The rows of several queues as one has them: they leave in the order of their places.

    Rows tell the arrivals of events, so that those must be unique among all parts, and stay what they are.
    """
    return pa.concat_tables(parts)


def _order_columns(node: RowPattern | Sequence, many: bool) -> list[str]:
    """What orders the events of a pattern, the first thing first."""
    ties = ["_stream"] if many else []
    return ["_time", *ties, *(f"_order{number}" for number in range(1, node.order)), "_arrival"]


def _values(column: pa.ChunkedArray) -> Int64s:
    values, _ = order_values(column)
    return values
