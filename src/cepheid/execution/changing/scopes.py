"""Whose the events and rows of an engine are: scopes, and the *epochs* of a scope that was put right.

    live operator, told by key and epoch

    key 7, epoch 0   e1  e2      e4                    what it knew: never asked again, and forgotten with time
    key 7, epoch 3   e1  e2  e3  e4 ─▶ goes on here    e3 came late: the events that matter again, with it among them

An operator knows events in order only.  To put a late one among them, the events of its scope (reach.py) that may still
matter are given to the operator once more, as those of a key that it never saw: so nothing in the operator is changed,
and nobody else is touched.  The epoch is a key column of its own.  What comes out under an epoch that is not the one of
its scope any more is about what was, and is left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.event_time import order_values
from cepheid.execution.changing.change_rows import Flags, Int64s
from cepheid.execution.changing.row_hash import hash_rows
from cepheid.execution.changing.row_identity import EVENT
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import OverRows, RowPattern, Sequence, WindowAggregate, WindowJoin
from cepheid.graph.operators.over_rows import OverCell
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import CellKind, WindowCell
from cepheid.graph.operators.window_join import JoinCell
from cepheid.graph.reach import Reach
from cepheid.kernel.columns import Column
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.expression import Position
from cepheid.kernel.window import Window

PLACED = "_id.turn.place."  # cells that tell where a row is; they are no part of its id
_AT = f"{PLACED}at"
_FIRST, _LAST = f"{PLACED}first", f"{PLACED}last"  # events of the match, where matches are parted (match_chain.py)


class Scopes:
    """Of one engine; layout: of its events."""

    def __init__(self, reach: Reach, layout: pa.Schema) -> None:
        self._reach = reach
        self._keys = [f"_key{number}" for number in range(len(reach.scope) + 1)]  # the last one is the epoch
        copied = zip(self._keys, reach.scope, strict=False)
        self._copies = [(key, column) for key, column in copied if key != column]
        self.layout = layout
        for key, column in self._copies:
            self.layout = self.layout.append(pa.field(key, layout.field(column).type))
        self.layout = self.layout.append(pa.field(self._keys[-1], pa.int64()))
        self._used = 0  # epochs so far
        self.forget()

    def forget(self) -> None:
        """The operator knows all events by their first epoch."""
        self._are_used = False
        self._index = KeyIndex(1)
        self._epochs: Int64s = np.zeros(64, dtype=np.int64)

    # --- vertices ----------------------------------------------------------------------------------------
    def place_node(self, node: EngineNode) -> EngineNode:
        """The vertex with scopes for keys, and cells that tell where its rows are."""
        count = len(self._keys)
        match node:
            case Sequence():
                first = OutputCell(name=_AT, column="_time", position=Position((), "first"), final=True)
                keys = [OutputCell(name=f"{PLACED}{key}", kind="row", column=key) for key in self._keys]
                return replace(node, keys=count, cells=(*node.cells, first, *keys))
            case RowPattern():
                keys = [OutputCell(name=f"{PLACED}{key}", kind="row", column=key) for key in self._keys]
                return replace(node, keys=count, cells=(*node.cells, *keys, *self._place_match(node)))
            case WindowAggregate(program=program):
                at = WindowCell(name=_AT, kind=_find_moment(program.window))
                told = [WindowCell(name=f"{PLACED}{key}", kind="key", column=key) for key in self._keys]
                if not self._copies:
                    return replace(node, keys=count, cells=(*node.cells, at, *told))
                # groups are keys, and need no numbers of their own
                keys_of = {column: key for key, column in self._copies}
                cells = [replace(cell, column=keys_of.get(cell.column or "", cell.column)) for cell in node.cells]
                return replace(node, keys=count, groups=0, cells=(*cells, at, *told))
            case WindowJoin(program=program):
                moment = JoinCell(name=_AT, column="_time", input=-1)
                sides = [
                    JoinCell(name=f"{PLACED}{key}.{side}", column=key, input=side)
                    for key in self._keys
                    for side in range(len(program.inputs))
                ]
                keyed = replace(program, keyed=True)
                return replace(node, program=keyed, keys=count, cells=(*node.cells, moment, *sides))
            case OverRows():
                told_of = {_AT: "_time", **{f"{PLACED}{key}": key for key in self._keys}}
                row = [OverCell(name=name, kind="row", column=column) for name, column in told_of.items()]
                return replace(node, keys=count, cells=(*node.cells, *row))
        raise AssertionError(f"a {type(node).__name__} has no reach")

    def _place_match(self, node: RowPattern) -> list[OutputCell]:
        """A row is where its match begins; a row without a match, where it is itself.  Where it does not matter that
        matches overlap (match_chain.py), each ends where it begins."""
        if self._reach.chain_us is None:
            return [OutputCell(name=_AT, kind="row", column="_time")]
        first = Position((), "first")
        last = Position() if node.program.skip.kind == "past_last" else first
        told = ((_AT, "_time", first), (_FIRST, EVENT, first), (_LAST, EVENT, last))
        matched = [OutputCell(name=name, column=column, position=at, final=True) for name, column, at in told]
        return [*matched, *(OutputCell(name=f"{name}.own", kind="row", column=column) for name, column, _ in told)]

    # --- events ------------------------------------------------------------------------------------------
    def of_events(self, events: pa.Table) -> Int64s:
        """int64[n]: whose they are."""
        return _hash_scopes([events.column(name) for name in self._reach.scope], len(events))

    def mark(self, events: pa.Table, epochs: Int64s | None = None) -> pa.Table:
        """Events as the operator wants them.  epochs: int64[n]; None: all are in the first one."""
        for key, column in self._copies:
            events = events.append_column(key, events.column(column))
        told = np.zeros(len(events), dtype=np.int64) if epochs is None else epochs
        return events.append_column(self._keys[-1], pa.array(told))

    def present_of(self, events: pa.Table) -> Int64s | None:
        """int64[n]: those that events belong to; None: all to the first one."""
        return self.present(self.of_events(events)) if len(self._index) and len(events) else None

    def present(self, scopes: Int64s) -> Int64s:
        """int64[n]: the epochs that scopes are in."""
        numbers = self._index.find_rows([Column(scopes)], len(scopes))
        return np.where(numbers < 0, 0, self._epochs[numbers])

    def open_epochs(self, count: int) -> Int64s:
        """int64[count]: new ones, ascending."""
        first, self._used, self._are_used = self._used + 1, self._used + count, True
        return np.arange(first, first + count)

    def go_on_in(self, scopes: Int64s, epochs: Int64s) -> None:
        """From now on, these scopes are in these epochs."""
        numbers, _ = self._index.number_rows([Column(np.ascontiguousarray(scopes))], len(scopes))
        if len(self._index) > len(self._epochs):
            wider = np.zeros(max(len(self._index), 2 * len(self._epochs)), dtype=np.int64)
            wider[: len(self._epochs)] = self._epochs
            self._epochs = wider
        self._epochs[numbers] = epochs

    # --- rows --------------------------------------------------------------------------------------------
    def of_rows(self, rows: pa.Table) -> tuple[Int64s, Int64s]:
        """int64[n] each: whose they are, and when."""
        scopes = _hash_scopes([self._read(rows, f"{PLACED}{key}") for key in self._keys[:-1]], len(rows))
        times = rows.column(_AT) if self._reach.chain_us is None else self._read_match(rows, _AT)
        return scopes, order_values(times)[0]

    @property
    def tells_matches(self) -> bool:
        """Is it known of rows which events their matches begin and end with?"""
        return self._reach.chain_us is not None

    def matches_of(self, rows: pa.Table) -> tuple[Int64s, Int64s]:
        """int64[n] each: the first event of the match of each row, and the last; of a row without one, itself."""
        first, last = (self._read_match(rows, name).to_numpy() for name in (_FIRST, _LAST))
        return first, last

    def epochs_of(self, rows: pa.Table) -> Int64s:
        """int64[n]: under which epoch they came out."""
        epochs: Int64s = self._read(rows, f"{PLACED}{self._keys[-1]}").to_numpy()
        return epochs

    def find_present(self, rows: pa.Table) -> Flags | None:
        """bool[n]: is the row about what is?  None: all are."""
        if not self._are_used or not len(rows):
            return None
        present: Flags = self.present(self.of_rows(rows)[0]) == self.epochs_of(rows)
        return present

    def _read(self, rows: pa.Table, name: str) -> pa.ChunkedArray:
        if name in rows.column_names:
            return rows.column(name)
        return pc.coalesce(*(rows.column(each) for each in rows.column_names if each.startswith(f"{name}.")))

    def _read_match(self, rows: pa.Table, name: str) -> pa.ChunkedArray:
        return pc.coalesce(rows.column(name), rows.column(f"{name}.own"))


def _find_moment(window: Window) -> CellKind:
    """What tells where the rows of a window are."""
    if window.kind == "session":
        return "start"
    return "moment" if window.is_sliding else "end"


def _hash_scopes(columns: list[pa.ChunkedArray], count: int) -> Int64s:
    return hash_rows(columns, count, 0).view(np.int64)
