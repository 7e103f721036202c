"""Whatever SQL says of the rows of one key, computed anew for the keys whose rows change.

What was given out for them before is remembered, and taken back where it is no longer so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepheid.execution.changing.row_hash import Hashes
from cepheid.execution.views.delta import Delta, settle, stack
from cepheid.execution.views.key_hash import common_type, hash_keys
from cepheid.execution.views.run_sql import describe_steps_sql, run_steps_sql
from cepheid.execution.views.spine import Latest, Trace
from cepheid.language.views.view_plan import KeyedStep


class KeyedRows:
    def __init__(self, step: KeyedStep, sources: Sequence[pa.Schema]) -> None:
        self._sql, self._keep_sql = step.sql, step.keep
        self._schemas = list(sources)
        self.schema = describe_steps_sql(step.sql, sources)
        self._keys, self._types = _fit_keys([*zip(sources, step.keys, strict=True), (self.schema, step.row_keys)])
        self._traces = [Trace(schema) for schema in sources]
        self._given = Latest(self.schema)
        self._begun = False

    def push(self, deltas: Sequence[Delta]) -> Delta:
        hashes = [self._hash(number, delta.rows) for number, delta in enumerate(deltas)]
        if not self._keys[0] and not self._begun:
            changed: Hashes = np.zeros(1, dtype=np.uint64)  # of no rows something may come, too
        else:
            changed = np.unique(np.concatenate(hashes))
        self._begun = True
        if not len(changed):
            return Delta.nothing(self.schema)
        for trace, keys, delta in zip(self._traces, hashes, deltas, strict=True):
            trace.add(keys, delta)
        tables = [trace.find(changed) for trace in self._traces]
        if self._keep_sql is not None:
            self._forget(tables[0])
        rows = run_steps_sql(self._sql, [_spread(table) for table in tables])
        before = self._given.find(changed)
        self._given.write(changed, self._hash(len(tables), rows), rows)
        return settle(stack([Delta.inserts(before).negated(), Delta.inserts(rows)]))

    def keep(self) -> list[pa.Table]:
        return [*(trace.rows().weighted() for trace in self._traces), self._given.rows()]

    def restore(self, kept: list[pa.Table]) -> None:
        self._begun = True
        for number, trace in enumerate(self._traces):
            delta = Delta.read(kept[number])
            trace.add(self._hash(number, delta.rows), delta)
        hashes = self._hash(len(self._traces), kept[-1])
        self._given.write(np.unique(hashes), hashes, kept[-1])

    def _forget(self, table: Delta) -> None:
        """Rows that can never matter again."""
        assert self._keep_sql is not None, "asked before"
        needed = run_steps_sql(self._keep_sql, [_spread(table)]).select(self._schemas[0].names).cast(self._schemas[0])
        gone = settle(stack([Delta.inserts(needed), table.negated()]))
        self._traces[0].add(self._hash(0, gone.rows), gone)

    def _hash(self, number: int, rows: pa.Table) -> Hashes:
        return hash_keys(rows, self._keys[number], self._types)


def _spread(delta: Delta) -> pa.Table:
    """Each row as often as it is there."""
    single = delta.single()
    assert not len(single) or single.weights.min() > 0, "no row goes that did not come"
    return single.rows


def _fit_keys(
    told: list[tuple[pa.Schema, tuple[str, ...]]],
) -> tuple[list[list[str]], list[pa.DataType | None]]:
    """The keys that a hash can tell, of each table, and what they are compared as."""
    names: list[list[str]] = [[] for _ in told]
    types: list[pa.DataType | None] = []
    for places in zip(*(keys for _, keys in told), strict=True):
        kinds = [schema.field(name).type for (schema, _), name in zip(told, places, strict=True)]
        common: pa.DataType | None = None
        known = True
        for kind in kinds[1:]:
            fit = common_type(common or kinds[0], kind)
            if isinstance(fit, bool):
                known = False
                break
            common = fit if fit is not None else common
        if known:
            types.append(common)
            for own, name in zip(names, places, strict=True):
                own.append(name)
    return names, types
