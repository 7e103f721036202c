"""An inner join: new rows of either side with all rows of the other whose keys are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepheid.execution.changing.row_hash import Hashes
from cepheid.execution.views.delta import WEIGHT, Delta, stack
from cepheid.execution.views.key_hash import common_type, hash_keys
from cepheid.execution.views.run_sql import describe_steps_sql, run_steps_sql
from cepheid.execution.views.spine import Trace
from cepheid.language.views.steps import column
from cepheid.language.views.view_plan import JoinStep


class JoinRows:
    def __init__(self, step: JoinStep, left: pa.Schema, right: pa.Schema) -> None:
        told = [common_type(left.field(one).type, right.field(other).type) for one, other in step.keys]
        usable = [(pair, kind) for pair, kind in zip(step.keys, told, strict=True) if kind is not False]
        self._keys = tuple([pair[side] for pair, _ in usable] for side in (0, 1))
        self._types = [kind for _, kind in usable if not isinstance(kind, bool)]
        self._sides = (Trace(left), Trace(right))
        chosen = ", ".join(column(name) for name in (*left.names, *right.names))
        self._sql = (
            f"SELECT {chosen}, l.{column(WEIGHT)} * r.{column(WEIGHT)} AS {column(WEIGHT)} "
            f"FROM _0 AS l JOIN _1 AS r ON {step.condition}"
        )
        weighted = [schema.append(pa.field(WEIGHT, pa.int64())) for schema in (left, right)]
        made = describe_steps_sql(self._sql, weighted)
        self.schema = made.remove(made.get_field_index(WEIGHT))

    def push(self, deltas: Sequence[Delta]) -> Delta:
        left, right = deltas
        hashes = [self._hash(side, delta.rows) for side, delta in enumerate(deltas)]
        found = [self._pair(left, self._sides[1].find(np.unique(hashes[0])))]
        self._sides[0].add(hashes[0], left)
        found.append(self._pair(self._sides[0].find(np.unique(hashes[1])), right))
        self._sides[1].add(hashes[1], right)
        return stack(found)

    def keep(self) -> list[pa.Table]:
        return [side.rows().weighted() for side in self._sides]

    def restore(self, kept: list[pa.Table]) -> None:
        for number, table in enumerate(kept):
            delta = Delta.read(table)
            self._sides[number].add(self._hash(number, delta.rows), delta)

    def _hash(self, side: int, rows: pa.Table) -> Hashes:
        return hash_keys(rows, self._keys[side], self._types)

    def _pair(self, left: Delta, right: Delta) -> Delta:
        if not len(left) or not len(right):
            return Delta.nothing(self.schema)
        return Delta.read(run_steps_sql(self._sql, [left.weighted(), right.weighted()]))
