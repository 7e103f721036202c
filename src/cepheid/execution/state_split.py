"""The state of an engine spread over several by key group, gathered again, and moved between them.

    key ─hash─▶ key group ─owner table─▶ number of the engine

A key group means the same on every host and in every process: the hash is that of the envelopes on Spark.  So a table
that says which engine owns which group is all that must be agreed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.execution.operator import KeptEvents, Operator, Owners
from cepheid.kernel.columns import Int64s
from cepheid.kernel.key_hash import group_keys


def spread_groups(key_groups: int, engines: int) -> Int64s:
    """int64[key_groups]: an owner table in which each engine has neighbouring groups, as many as any other."""
    return np.arange(key_groups, dtype=np.int64) * engines // key_groups


def make_owners(table: Int64s, split: int) -> Owners:
    """Which engine a row belongs to, by its first `split` key columns; table: int64[key_groups], the owner of each."""
    return own_by_columns(table, [f"_key{number}" for number in range(split)])


def own_by_columns(table: Int64s, columns: Sequence[str]) -> Owners:
    """The same by columns of any names: key columns in another order, columns of a stream, cells of rows
    (placement/chain_keys.py says which mean the same)."""
    assert columns, "a vertex without keys has one engine"

    def find_owners(rows: pa.Table) -> Int64s:
        return table[group_keys([rows.column(name) for name in columns], len(rows), len(table))]

    return find_owners


def split_state(operator: Operator, kept: KeptEvents, table: Int64s, split: int, engines: int) -> list[KeptEvents]:
    """What each of `engines` engines restores; operator: any one for the same vertices; split: the least of theirs."""
    return operator.split(kept, make_owners(table, split), engines)


def merge_states(operator: Operator, parts: list[KeptEvents]) -> KeptEvents:
    """What one engine restores to go on where several are, all at the same horizon.

    Engines that count the arrivals of their own events (those on Spark) give the same numbers to different events:
    then all are numbered anew.  What was late and what was counted is not in it: that is theirs who hand out events.
    """
    return operator.merge(_number_apart(parts))


def move_groups(
    operator: Operator, parts: list[KeptEvents], table: Int64s, split: int, engines: int
) -> list[KeptEvents]:
    """What each of `engines` engines restores once key groups belong to other engines than before; `table`: to which
    now; parts: what those that had them kept, all at the same horizon."""
    pieces = [split_state(operator, part, table, split, engines) for part in _number_apart(parts)]
    return [operator.merge(list(of_engine)) for of_engine in zip(*pieces, strict=True)]


def _number_apart(parts: list[KeptEvents]) -> list[KeptEvents]:
    """The parts with arrivals that are unique among all of them, in the order that they have in each part."""
    arrivals = [part.table.column("_arrival").to_numpy() for part in parts]
    together = np.concatenate(arrivals)
    if len(np.unique(together)) == len(together):
        return parts
    order = np.argsort(together, kind="stable")
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    counted = max(len(order), *(part.arrivals for part in parts))
    numbered = np.split(numbers, np.cumsum([len(each) for each in arrivals])[:-1])
    return [
        replace(part, table=_with_arrivals(part.table, fresh), arrivals=counted)
        for part, fresh in zip(parts, numbered, strict=True)
    ]


def _with_arrivals(table: pa.Table, arrivals: Int64s) -> pa.Table:
    place = table.schema.get_field_index("_arrival")
    return table.set_column(place, table.schema.field(place), pa.array(arrivals))
