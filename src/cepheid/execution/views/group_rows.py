"""GROUP BY with aggregates that can be carried on: what a group has come to is kept, not its rows.

    count, sum, avg of whole numbers and decimals      rows may come and go
    min, max, sums of floats                           rows only come
    count, sum, avg of DISTINCT values                 how often each value is there is kept beside

Whatever else, and rows that go where they may not: `KeyedRows`, which keeps the rows of each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.execution.changing.row_hash import Hashes
from cepheid.execution.views.delta import WEIGHT, Delta, settle, stack
from cepheid.execution.views.key_hash import hash_keys
from cepheid.execution.views.keyed_rows import KeyedRows
from cepheid.execution.views.run_sql import describe_steps_sql, run_steps_sql
from cepheid.execution.views.spine import Latest
from cepheid.language.views.steps import column
from cepheid.language.views.view_plan import GroupAggregate, GroupStep, KeyedStep

_ROWS = "_rows"
_TIMES = "_times"


@dataclass(frozen=True, slots=True)
class _Part:
    """A number that is carried on: what one row adds to it, and how those are put together."""

    name: str
    of_row: str
    combined: str


def group_rows(step: GroupStep, source: pa.Schema, appends: bool) -> GroupRows | KeyedRows:
    """The way to run it that keeps least."""
    if all(_can_carry(each, source, appends) for each in step.aggregates):
        return GroupRows(step, source)
    keys = ", ".join(map(column, step.keys))
    chosen = ", ".join(
        [*map(column, step.keys), *(f"{_call(each)} AS {column(each.name)}" for each in step.aggregates)]
    )
    sql = f"SELECT {chosen} FROM _0" + (f" GROUP BY {keys}" if keys else "")
    return KeyedRows(KeyedStep((step.source,), (step.keys,), sql, row_keys=step.keys), [source])


def _call(each: GroupAggregate) -> str:
    if each.function == "count_rows":
        text = "count(*)"
    else:
        assert each.argument is not None, "only count(*) has none"
        text = f"{each.function}({'DISTINCT ' if each.distinct else ''}{column(each.argument)})"
    return text if each.filter is None else f"{text} FILTER (WHERE {column(each.filter)})"


def _can_carry(each: GroupAggregate, source: pa.Schema, appends: bool) -> bool:
    if each.function in ("count_rows", "count"):
        return True
    assert each.argument is not None, "only count has none"
    kind = source.field(each.argument).type
    if each.function in ("min", "max"):
        return appends and not pa.types.is_nested(kind)
    if pa.types.is_integer(kind):
        return True
    if pa.types.is_decimal(kind):
        return each.function == "sum"
    return pa.types.is_floating(kind) and appends and not each.distinct


class GroupRows:
    def __init__(self, step: GroupStep, source: pa.Schema) -> None:
        self._keys = list(step.keys)
        self._types: list[pa.DataType | None] = [None] * len(self._keys)
        self._begun = False
        chosen = [*map(column, step.keys), *(f"{_call(each)} AS {column(each.name)}" for each in step.aggregates)]
        by = f" GROUP BY {', '.join(map(column, step.keys))}" if step.keys else ""
        self.schema = describe_steps_sql(f"SELECT {', '.join(chosen) or '1'} FROM _0{by}", [source])
        self._distinct = [
            _DistinctValues(each, f"_{number}", self._keys, source)
            for number, each in enumerate(step.aggregates)
            if each.distinct
        ]
        parts = [_Part(_ROWS, column(WEIGHT), f"CAST(coalesce(sum({_ROWS}), 0) AS BIGINT)")]
        for number, each in enumerate(step.aggregates):
            parts += _parts_of(each, f"_{number}", source)
        self._parts = parts
        self._row_sql = f"SELECT {self._names_and([f'{part.of_row} AS {part.name}' for part in parts])} FROM _0"
        weighted = source.append(pa.field(WEIGHT, pa.int64()))
        self._combine_sql = (
            f"SELECT {self._names_and([f'{part.combined} AS {part.name}' for part in parts])} FROM _0{by}"
        )
        of_rows = describe_steps_sql(self._row_sql, [weighted])
        self._carried = describe_steps_sql(self._combine_sql, [of_rows])
        again = describe_steps_sql(self._combine_sql, [self._carried])
        assert again == self._carried, "what is carried on keeps its type"
        finals = [_final_of(each, f"_{number}") for number, each in enumerate(step.aggregates)]
        outs = [f"{final} AS {column(each.name)}" for final, each in zip(finals, step.aggregates, strict=True)]
        self._final_sql = f"SELECT {self._names_and(outs)} FROM _0"
        self._state = Latest(self._carried)

    def _names_and(self, others: list[str]) -> str:
        return ", ".join([*map(column, self._keys), *others])

    def push(self, deltas: Sequence[Delta]) -> Delta:
        delta = deltas[0].single()
        if not len(delta) and (self._keys or self._begun):
            return Delta.nothing(self.schema)
        self._begun = True
        changed = (
            np.unique(hash_keys(delta.rows, self._keys, self._types)) if self._keys else np.zeros(1, dtype=np.uint64)
        )
        before = self._state.find(changed)
        added = [run_steps_sql(self._row_sql, [delta.weighted()]).cast(self._carried)]
        added += [each.push(delta, self._parts).cast(self._carried) for each in self._distinct]
        after = run_steps_sql(self._combine_sql, [pa.concat_tables([before, *added])])
        if self._keys:
            after = after.filter(pa.array(after.column(_ROWS).to_numpy() > 0))
        self._state.write(changed, self._hash(after), after)
        return settle(stack([Delta.inserts(self._final(before)).negated(), Delta.inserts(self._final(after))]))

    def keep(self) -> list[pa.Table]:
        return [self._state.rows(), *(each.state.rows() for each in self._distinct)]

    def restore(self, kept: list[pa.Table]) -> None:
        self._begun = True
        hashes = self._hash(kept[0])
        self._state.write(np.unique(hashes), hashes, kept[0])
        for each, rows in zip(self._distinct, kept[1:], strict=True):
            each.restore(rows)

    def _hash(self, rows: pa.Table) -> Hashes:
        return hash_keys(rows, self._keys, self._types)

    def _final(self, carried: pa.Table) -> pa.Table:
        return (
            run_steps_sql(self._final_sql, [carried]).cast(self.schema) if len(carried) else self.schema.empty_table()
        )


class _DistinctValues:
    """How often each value of a group is there; tells when one comes or goes for good."""

    def __init__(self, each: GroupAggregate, prefix: str, keys: list[str], source: pa.Schema) -> None:
        assert each.argument is not None, "DISTINCT is of something"
        self._group = keys
        self._keys = [*keys, *({each.argument} - set(keys))]  # it may be what is grouped by
        self._types: list[pa.DataType | None] = [None] * len(self._keys)
        kept = ", ".join(map(column, self._keys))
        where = f"{column(each.argument)} IS NOT NULL" + ("" if each.filter is None else f" AND {column(each.filter)}")
        self._count_sql = (
            f"SELECT {kept}, CAST(sum({_TIMES}) AS BIGINT) AS {_TIMES} FROM (SELECT {kept}, {_TIMES} FROM _0 UNION ALL "
            f"SELECT {kept}, {column(WEIGHT)} FROM _1 WHERE {where}) GROUP BY {kept}"
        )
        self._adds = {
            f"{prefix}_count": column(WEIGHT),
            f"{prefix}_sum": f"{column(WEIGHT)} * CAST({column(each.argument)} AS HUGEINT)",
        }
        state = [*(source.field(name) for name in self._keys), pa.field(_TIMES, pa.int64())]
        self.state = Latest(pa.schema(state))

    def push(self, delta: Delta, parts: list[_Part]) -> pa.Table:
        """What the values that came or went add to the numbers of their groups."""
        changed = np.unique(self._hash(delta.rows))
        before = self.state.find(changed)
        after = run_steps_sql(self._count_sql, [before, delta.weighted()])
        after = after.filter(pa.array(after.column(_TIMES).to_numpy() > 0)).cast(self.state.schema)
        self.state.write(changed, self._hash(after), after)
        values = [Delta.inserts(table.select(self._keys)) for table in (before, after)]
        flow = settle(stack([values[0].negated(), values[1]]))
        chosen = [
            *map(column, self._group),
            *(f"{self._adds.get(part.name, 'NULL')} AS {part.name}" for part in parts),
        ]
        return run_steps_sql(f"SELECT {', '.join(chosen)} FROM _0", [flow.weighted()])

    def restore(self, rows: pa.Table) -> None:
        hashes = self._hash(rows)
        self.state.write(np.unique(hashes), hashes, rows)

    def _hash(self, rows: pa.Table) -> Hashes:
        return hash_keys(rows, self._keys, self._types)


def _parts_of(each: GroupAggregate, prefix: str, source: pa.Schema) -> list[_Part]:
    """What is carried on for an aggregate."""
    sums = f"CAST(coalesce(sum({prefix}_count), 0) AS BIGINT)"
    if each.distinct:
        whole = [_Part(f"{prefix}_count", "NULL::BIGINT", sums)]
        if each.function != "count":
            whole.append(_Part(f"{prefix}_sum", "NULL::DECIMAL(38, 0)", f"sum({prefix}_sum)"))
        return whole
    tests = [] if each.filter is None else [column(each.filter)]
    if each.function == "count_rows":
        return [_Part(f"{prefix}_count", _where(column(WEIGHT), tests), sums)]
    assert each.argument is not None, "only count(*) has none"
    value = column(each.argument)
    tests.append(f"{value} IS NOT NULL")
    counted = _Part(f"{prefix}_count", _where(column(WEIGHT), tests), sums)
    if each.function == "count":
        return [counted]
    if each.function in ("min", "max"):
        return [_Part(f"{prefix}_{each.function}", _where(value, tests), f"{each.function}({prefix}_{each.function})")]
    kind = source.field(each.argument).type
    if pa.types.is_floating(kind):
        return [counted, _Part(f"{prefix}_sum", _where(f"CAST({value} AS DOUBLE)", tests), f"fsum({prefix}_sum)")]
    exact = f"CAST({value} AS DECIMAL(38, {kind.scale if pa.types.is_decimal(kind) else 0}))"
    signed = f"CASE WHEN {column(WEIGHT)} > 0 THEN {exact} ELSE -{exact} END"
    return [counted, _Part(f"{prefix}_sum", _where(signed, tests), f"sum({prefix}_sum)")]


def _where(value: str, tests: list[str]) -> str:
    return f"CASE WHEN {' AND '.join(tests)} THEN {value} END" if tests else value


def _final_of(each: GroupAggregate, prefix: str) -> str:
    """The aggregate, of what was carried on."""
    if each.function in ("count_rows", "count"):
        return f"{prefix}_count"
    if each.function in ("min", "max"):
        return f"{prefix}_{each.function}"
    if each.function == "sum":
        return f"CASE WHEN {prefix}_count > 0 THEN {prefix}_sum END"
    return f"CASE WHEN {prefix}_count > 0 THEN CAST({prefix}_sum AS DOUBLE) / {prefix}_count END"
