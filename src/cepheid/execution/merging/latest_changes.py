"""What becomes of a batch of changes: of each row, its newest change.

    insert  7 v1        retract 7 v2 ──┐
    retract 7 v2   ─▶   insert  8 v5   │ of equal versions, a retract is newer than the insert that it takes back:
    insert  8 v5        insert  9 v1   │ versions grow with each insert (docs/reference/changes.md)
    insert  9 v1

A row is told by its `_match`.  Where a `_match` has several rows (a join gives one for each partner), columns of the
row tell them apart, which the user names; without them, two different rows of one `_match` and `_version` are refused,
since one of them would be lost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.errors import InvalidInput
from cepheid.schema import CHANGE_COLUMNS, INSERT, RETRACT, has_changes, without_changes

KEY_REMEDY = 'name columns that tell them apart: key=("{column}",), or ?key={column}'
Flags = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]


def check_changes(name: str, schema: pa.Schema, key: tuple[str, ...]) -> None:
    """Can rows of this schema be merged?  key: columns that tell rows of one `_match` apart."""
    if not has_changes(name, schema):
        hint = f'rows with {", ".join(CHANGE_COLUMNS)}: emit="changes"'
        raise InvalidInput(f'the rows of "{name}" do not say which they are, and cannot be merged', hint=hint)
    row = without_changes(schema).names
    for column in key:
        if column not in row:
            raise InvalidInput(f'key is "{column}", which the rows of "{name}" do not have', hint=f"{', '.join(row)}")
        if pa.types.is_nested(schema.field(column).type):
            raise InvalidInput(f'key is "{column}", a {schema.field(column).type}', hint="name a plain column")


def read_batch(name: str, changes: pa.Table, key: tuple[str, ...], remedy: str = KEY_REMEDY) -> pa.Table:
    """The newest change of each row of a batch; refuses what cannot be a change.  remedy: what to do about several
    rows of one `_match`."""
    for column in CHANGE_COLUMNS:
        if changes.column(column).null_count:
            raise InvalidInput(f'a row of "{name}" has no "{column}"', hint="each row must have one")
    words = changes.column("_change")
    known = pc.is_in(words, pa.array([INSERT, RETRACT], words.type))
    if not pc.all(known, min_count=0).as_py():
        wrong = words.filter(pc.invert(known))[0].as_py()
        raise InvalidInput(f'"{name}" has {wrong!r} for _change', hint=f'"{INSERT}" or "{RETRACT}"')
    order, is_last = _sort_changes(changes, key)
    gone, versions = _read_age(changes)
    again = np.flatnonzero(~is_last[:-1])
    some, others = order[again], order[again + 1]
    are_alike = (versions[some] == versions[others]) & ~gone[some] & ~gone[others]
    _refuse_different(name, changes, some[are_alike], others[are_alike], remedy)
    return changes.take(pa.array(np.sort(order[is_last])))


def keep_latest(changes: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """The newest change of each row, in the order in which they came; of several that are as new, the first."""
    order, is_last = _sort_changes(changes, key)
    return changes.take(pa.array(np.sort(order[is_last])))


def _sort_changes(changes: pa.Table, key: tuple[str, ...]) -> tuple[Int64s, Flags]:
    """Places of changes, those of one row behind one another, the newest last; bool[n]: is it that one?"""
    rows = _number_rows(changes.select(["_match", *key]))
    gone, versions = _read_age(changes)
    order = np.lexsort([-np.arange(len(rows)), gone, versions, rows])
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = rows[order][1:] != rows[order][:-1]
    return order, is_last


def _read_age(changes: pa.Table) -> tuple[Flags, Int64s]:
    """Is it a retract, and its version."""
    gone = pc.equal(changes.column("_change"), RETRACT).to_numpy()
    return gone, changes.column("_version").cast(pa.int64()).to_numpy()


def _number_rows(identity: pa.Table) -> Int64s:
    """int64[n]: the same for the same row."""
    numbers: Int64s = np.zeros(len(identity), dtype=np.int64)
    for column in identity.columns:
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        numbers = numbers * max(len(coded.dictionary), 1) + coded.indices.to_numpy().astype(np.int64)
        numbers = np.unique(numbers, return_inverse=True)[1]  # else several columns could overflow
    return numbers


def _refuse_different(name: str, changes: pa.Table, some: Int64s, others: Int64s, remedy: str) -> None:
    """Rows of one `_match` and `_version` must be one row that came twice."""
    if not len(some):
        return
    for column in without_changes(changes.schema).names:
        pair = [_without_nan(changes.column(column).take(pa.array(places))) for places in (some, others)]
        if not pair[0].equals(pair[1]):
            match = changes.column("_match")[int(some[0])].as_py()
            told = f'"{name}" has several rows for one _match, {match!r} for instance'
            raise InvalidInput(told, hint=remedy.format(column=column))


def _without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """NaN equals nothing, not even itself."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
