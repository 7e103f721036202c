"""ISTREAM and DSTREAM over rows that come and go: the evaluations that were touched are compared anew.

    rows of an evaluation before the push ─▶ net_changes ─┐
    rows of an evaluation after the push  ─▶ net_changes ─┴▶ what is no longer so, what is new

The rows of evaluations that may still change are kept here; they are those of the engine below, so a snapshot need
not have them.  Who a row is: the vertex, its evaluation and its values; of equal rows, which of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.execution.changes import net_changes, result_schema
from cepheid.execution.changing.change_rows import CARRIED, GONE, PLACE, ROW, VERSION, carry, read_flags, with_carried
from cepheid.execution.changing.row_hash import hash_rows, hash_text, write_ids
from cepheid.execution.changing.row_identity import tell_apart
from cepheid.graph.operators import Changes

_EVALUATION = "_evaluation"


class ChangedEvaluations:
    def __init__(self, node: Changes, digest: str, schema: pa.Schema) -> None:
        """schema: of the rows that come in."""
        self._seeds = (hash_text(digest), hash_text(f"{digest} again"))
        kept = dict.fromkeys((*node.columns, *node.keys, "_sign", _EVALUATION, *CARRIED.names))
        self._names = list(kept)
        self._node = node
        self._rows = pa.schema([schema.field(name) for name in self._names]).empty_table()
        self.schema = with_carried(result_schema(node, schema))

    def push(self, changes: pa.Table) -> pa.Table:
        """The changes of what came in."""
        if not len(changes):
            return self.schema.empty_table()
        changes = changes.select(self._names)
        touched = pc.unique(changes.column(_EVALUATION))
        is_touched = pc.is_in(self._rows.column(_EVALUATION), value_set=touched)
        before, others = self._rows.filter(is_touched), self._rows.filter(pc.invert(is_touched))
        gone = read_flags(changes.column(GONE))
        retracted = changes.column(ROW).filter(pa.array(gone))
        left = before.filter(pc.invert(pc.is_in(before.column(ROW), value_set=retracted.combine_chunks())))
        after = pa.concat_tables([left, changes.filter(pa.array(~gone))])
        self._rows = pa.concat_tables([others, after]).combine_chunks()
        turn = int(pc.max(changes.column(VERSION)).as_py()) // 2
        return self._compare(self._net(before), self._net(after), turn)

    def fill(self, rows: pa.Table) -> None:
        """The rows that may still change, as they are after a restart."""
        self._rows = rows.select(self._names)

    def keep_only(self, rows: pa.ChunkedArray) -> None:
        """All others no longer change."""
        if len(self._rows):
            self._rows = self._rows.filter(pc.is_in(self._rows.column(ROW), value_set=rows.combine_chunks()))

    def _net(self, rows: pa.Table) -> pa.Table:
        """What is new or gone at each evaluation, with its id."""
        rows = rows.take(pc.sort_indices(rows.column(PLACE)))  # stable: without places, as they are
        shown = net_changes(self._node, rows, carried=(_EVALUATION, *self._node.keys, PLACE))
        about = [shown.column(name) for name in (_EVALUATION, *self._node.keys, *self._node.columns)]
        high, low = (hash_rows(about, len(shown), seed) for seed in self._seeds)
        return shown.append_column(ROW, write_ids(*tell_apart(high, low)))

    def _compare(self, before: pa.Table, after: pa.Table, turn: int) -> pa.Table:
        """Rows that have the same id are the same rows, unless they stand elsewhere."""
        told = [self._name(before), self._name(after)]
        lost = before.filter(pc.invert(pc.is_in(told[0], value_set=told[1])))
        found = after.filter(pc.invert(pc.is_in(told[1], value_set=told[0])))
        rows = pa.concat_tables([lost, found])
        gone = np.arange(len(rows)) < len(lost)
        return carry(
            rows.select(list(self._node.columns)).cast(pa.schema([self.schema.field(n) for n in self._node.columns])),
            gone,
            rows.column(ROW),
            np.where(gone, 2 * turn, 2 * turn + 1),
            rows.column(PLACE).to_numpy(),
        )

    @staticmethod
    def _name(rows: pa.Table) -> pa.Array:
        places = rows.column(PLACE).cast(pa.string())
        return pc.binary_join_element_wise(rows.column(ROW), places, ":").combine_chunks()
