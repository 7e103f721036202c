"""What is known of the rows of one stream that changes: which are there, and in which version.

    rows as users push them ─▶ checked against what is there ─▶ retracts of old rows, inserts of new ones

A retract is told by `_match`; which row that was is known here, so its other columns are not looked at.  An insert
with a higher `_version` takes the place of a row that is there: the old one is retracted.  Whatever cannot be (a
retract of a row that is not there, a version that does not grow) is refused, with all of the push, before anything
has changed.

What a push says of one row is told as one change: what was there before is retracted, what is there in the end is
inserted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import InvalidInput
from cepheid.event_time import order_values
from cepheid.execution.changing.change_rows import CARRIED, NUMBER, Flags, Int64s, carry, name_row
from cepheid.execution.event_log import EventLog
from cepheid.kernel.columns import Interner, read_column
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.schema import INSERT, RETRACT, without_changes

SPARE_ROWS = 8192  # forgotten rows that are not worth starting afresh for
_ALIVE = "_change.alive"
_UNKNOWN = np.iinfo(np.int64).min  # version of a row that was never there


@dataclass(frozen=True, slots=True)
class Push:
    """What users said, as arrays: which row (a number), is it an insert, which version; known: is the row known?"""

    numbers: Int64s
    inserts: Flags
    versions: Int64s
    known: Flags


class Ledger:
    def __init__(self, stream: str, schema: pa.Schema) -> None:
        """schema: with the columns that tell changes."""
        self._stream = stream
        self._given = schema
        self.schema = without_changes(schema)
        self._keeps = pa.schema([*self.schema, schema.field("_match")])
        self._remembered = 0  # rows when we last forgot
        self._clear()

    def _clear(self) -> None:
        self._interner = Interner()
        self._index = KeyIndex(1)
        self._log = EventLog(self._keeps)
        self._alive: Flags = np.zeros(0, dtype=np.bool_)  # by number
        self._versions: Int64s = np.zeros(0, dtype=np.int64)
        self._places: Int64s = np.zeros(0, dtype=np.int64)  # in the log

    def check(self, table: pa.Table, settled: Mapping[str, int] | None = None) -> Push:
        """What a push says; refuses what cannot be.  settled: times that are no longer changed, by column that orders
        events; None: whatever happened may still be changed."""
        words = _read_words(self._stream, table)
        for column in ("_match", "_version"):
            if table.column(column).null_count:
                raise InvalidInput(f'a row of "{self._stream}" has no "{column}"', hint="each row must have one")
        numbers, _ = self._index.number_rows([read_column(table.column("_match"), self._interner)], len(table))
        self._make_room()
        versions = table.column("_version").cast(pa.int64()).to_numpy()
        push = Push(numbers, words, versions, self._versions[numbers] > _UNKNOWN)
        self._refuse_impossible(push, table, settled)
        return push

    def take(self, push: Push, table: pa.Table, first_place: int) -> pa.Table:
        """Take in a push that was checked: retracts, then inserts, as rows that travel.  first_place: of its rows."""
        numbers = push.numbers
        order = np.lexsort([np.arange(len(numbers)), numbers])
        grouped = numbers[order]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = grouped[1:] != grouped[:-1]
        is_last = np.roll(is_first, -1)
        firsts, lasts = order[is_first], order[is_last] if len(order) else order
        gone = np.sort(firsts[self._alive[numbers[firsts]]])
        old = self._log.take_at(self._places[numbers[gone]]) if len(gone) else self._keeps.empty_table()
        unknown = np.sort(firsts[~push.inserts[firsts] & ~push.known[firsts]])  # of a time that is settled
        retracted = pa.concat_tables([old, table.take(pa.array(unknown)).select(self._keeps.names).cast(self._keeps)])
        versions = np.where(push.inserts[gone], self._versions[numbers[gone]], push.versions[gone])
        fresh = np.sort(lasts[push.inserts[lasts]])
        inserted = table.take(pa.array(fresh)).select(self._keeps.names).cast(self._keeps)
        self._remember(push, lasts, fresh, inserted)
        rows = pa.concat_tables([retracted, inserted])
        return carry(
            rows.select(self.schema.names),
            np.arange(len(rows)) < len(retracted),
            name_row(self._stream, rows.column("_match")),
            np.concatenate([versions, push.versions[unknown], push.versions[fresh]]),
            np.concatenate([np.zeros(len(retracted), dtype=np.int64), first_place + fresh]),
        )

    def forget(self, settled: Mapping[str, int]) -> None:
        """Rows that can no longer change need not be known, once they are many."""
        if len(self._log) <= 2 * self._remembered + SPARE_ROWS:
            return
        table = self.write()
        self.read(table.filter(pa.array(~find_settled(table, settled))))
        self._remembered = len(self._log)

    def __len__(self) -> int:
        """Rows that are known, or were."""
        return int((self._versions > _UNKNOWN).sum())

    # --- snapshots ---------------------------------------------------------------------------------------
    def write(self) -> pa.Table:
        """All that is known."""
        known = np.flatnonzero(self._versions > _UNKNOWN)
        table = self._log.take_at(self._places[known])
        return table.append_column("_version", pa.array(self._versions[known])).append_column(
            _ALIVE, pa.array(self._alive[known])
        )

    def read(self, table: pa.Table) -> None:
        """Go on from there."""
        self._clear()
        numbers, _ = self._index.number_rows([read_column(table.column("_match"), self._interner)], len(table))
        self._make_room()
        self._versions[numbers] = table.column("_version").to_numpy()
        self._alive[numbers] = table.column(_ALIVE).to_numpy()
        self._places[numbers] = np.arange(len(table))
        self._log.append(table.select(self._keeps.names).cast(self._keeps))

    # --- inside ------------------------------------------------------------------------------------------
    def _make_room(self) -> None:
        if len(self._index) > len(self._versions):
            more = max(len(self._index) - len(self._versions), len(self._versions))
            self._versions = np.concatenate([self._versions, np.full(more, _UNKNOWN)])
            self._alive = np.concatenate([self._alive, np.zeros(more, dtype=np.bool_)])
            self._places = np.concatenate([self._places, np.full(more, -1, dtype=np.int64)])

    def _remember(self, push: Push, lasts: Int64s, fresh: Int64s, inserted: pa.Table) -> None:
        numbers = push.numbers
        told = lasts[push.inserts[lasts] | push.known[lasts] | self._is_inserted(push)[lasts]]
        self._alive[numbers[told]] = push.inserts[told]
        self._versions[numbers[told]] = push.versions[told]
        self._places[numbers[fresh]] = len(self._log) + np.arange(len(fresh))
        self._log.append(inserted)

    @staticmethod
    def _is_inserted(push: Push) -> Flags:
        """bool[n]: is the row inserted by this very push?"""
        return np.isin(push.numbers, push.numbers[push.inserts])

    def _refuse_impossible(self, push: Push, table: pa.Table, settled: Mapping[str, int] | None) -> None:
        """Each row against the one before it of the same match, the first against what is known."""
        numbers = push.numbers
        order = np.lexsort([np.arange(len(numbers)), numbers])
        follows = np.zeros(len(order), dtype=np.bool_)
        follows[1:] = numbers[order][1:] == numbers[order][:-1]
        before = np.roll(order, 1)
        is_there = np.where(follows, push.inserts[before], self._alive[numbers[order]])
        version = np.where(follows, push.versions[before], self._versions[numbers[order]])
        inserts, versions = push.inserts[order], push.versions[order]
        wrong = np.where(inserts, versions <= version, ~is_there | (versions < version))
        if settled is not None and wrong.any():
            late = find_settled(table, settled)[order]
            wrong &= ~(~inserts & ~follows & (version == _UNKNOWN) & late)  # it may have been there: late, not wrong
        if not wrong.any():
            return
        place = np.flatnonzero(wrong)[np.argmin(order[wrong])]
        match = table.column("_match")[int(order[place])].as_py()
        raise _describe_mistake(
            self._stream, match, bool(inserts[place]), bool(is_there[place]), int(versions[place]), int(version[place])
        )


def _describe_mistake(
    stream: str, match: object, insert: bool, is_there: bool, version: int, known: int
) -> InvalidInput:
    told = f'"{stream}": {"an insert" if insert else "a retract"} of _match {match!r}'
    if not insert and not is_there:
        was = "was never inserted" if known == _UNKNOWN else "was retracted before"
        return InvalidInput(f"{told}, which {was}", hint="a row is inserted before it is retracted, and retracted once")
    if insert and version == known and is_there:
        return InvalidInput(
            f"{told} with _version {version}, which is there already",
            hint="retract it first, or insert it with a higher _version, which takes its place",
        )
    return InvalidInput(
        f"{told} with _version {version}, after {known}", hint="the _version of each _match grows with each insert"
    )


def _read_words(stream: str, table: pa.Table) -> Flags:
    """bool[n]: is it an insert?"""
    words = table.column("_change").cast(pa.string())
    inserts = pc.fill_null(pc.equal(words, INSERT), False)
    known = pc.or_(inserts, pc.fill_null(pc.equal(words, RETRACT), False))
    if not pc.all(known).as_py() and len(table):
        wrong = words.filter(pc.invert(known))[0].as_py()
        raise InvalidInput(f'"{stream}" has {wrong!r} for _change', hint=f'"{INSERT}" or "{RETRACT}"')
    flags: Flags = inserts.to_numpy()
    return flags


def find_settled(table: pa.Table, settled: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    """bool[n]: is the row older than what may still change, by whatever it is ordered?"""
    found = np.full(len(table), bool(settled))
    for column, horizon in settled.items():
        times, placed = order_values(table.column(column))
        found &= times < horizon if placed is None else (times < horizon) | ~placed
    return found


def net_table(stream: str, table: pa.Table) -> pa.Table:
    """The rows of a whole table that are left in the end, without the columns that told it."""
    ledger = Ledger(stream, table.schema)
    rows = ledger.take(ledger.check(table), table, 0)
    return rows.drop_columns(CARRIED.names)


class PlainRows:
    """A stream that only grows, where it meets one that changes: its rows are told by their numbers."""

    def __init__(self, stream: str, origin: str = "") -> None:
        """origin: of several that number the rows of a stream, each has one of its own."""
        self._name = f"{stream}{origin}"
        self.count = 0
        self._first_place = 0  # of the last push, less the number of its first row

    def take(self, table: pa.Table, first_place: int) -> pa.Table:
        """The rows of a push, with their numbers."""
        self._first_place = first_place - self.count
        numbers = pa.array(np.arange(self.count, self.count + len(table)))
        self.count += len(table)
        return table.append_column(NUMBER, numbers)

    def spell_out(self, rows: pa.Table) -> pa.Table:
        """Rows of the last push, as those read them who also read rows that go."""
        numbers = rows.column(NUMBER).to_numpy()
        return carry(
            rows.drop_columns([NUMBER]),
            np.zeros(len(rows), dtype=np.bool_),
            name_row(self._name, pa.array(numbers)),
            np.zeros(len(rows), dtype=np.int64),
            self._first_place + numbers,
        )


def without_retracts(table: pa.Table) -> pa.Table:
    """What of a push tells how far time has come."""
    inserts = pc.equal(table.column("_change").cast(pa.string()), INSERT)
    return table if pc.all(inserts).as_py() else table.filter(inserts)
