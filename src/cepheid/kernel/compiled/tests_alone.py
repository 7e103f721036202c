"""Conditions on single events, answered for a few of them by register code: which steps could each event be?

    plays[i]: bit v says that event i alone fits variable v

For whole batches columnar.py does the same with numpy, which for a few events costs a hundred times as much.
`asked` is a table of addresses (array_table.py) with the places below.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.errors import MatchFailure
from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.array_table import (
    flag_table,
    flags,
    float_table,
    floats,
    int_table,
    ints,
    lay_out,
    small_ints,
    small_table,
)
from cepheid.kernel.compiled.evaluate import Cells, Machine, build_machine, holds
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.register_code import CodeWriter, RegisterCode
from cepheid.kernel.expression import Expression

(
    CODE, CODE_BOUNDS, CODE_INTEGERS, CODE_FLOATS, RANKS, REGISTERS_I, REGISTERS_F, REGISTERS_VALID, TROUBLE, BY_RANK,
    FACTS_I, FACTS_F, FACTS_VALID, CELLS_I, CELLS_I_VALID, CELLS_F, CELLS_F_VALID, WHERE, SHIFTS, BITS, KEYS, PLAYS,
    STREAMS, STREAM_BITS,
) = range(24)  # fmt: skip
"""The machine; the cells; int64[positions] the event that each stands for; int64[positions] how many events before the
tested one it is; int64[conditions] the bit of each; int64[room] numbers of keys, answers, and numbers of streams, of
the events at hand; int64[streams] the bits that events of a stream may have, empty if there is one stream."""


@njit()
def machine_at(asked: Int64s) -> Machine:
    return Machine(
        small_table(asked, CODE), small_ints(asked, CODE_BOUNDS), ints(asked, CODE_INTEGERS),
        floats(asked, CODE_FLOATS), ints(asked, RANKS), ints(asked, REGISTERS_I), floats(asked, REGISTERS_F),
        flags(asked, REGISTERS_VALID), ints(asked, TROUBLE), ints(asked, BY_RANK), ints(asked, FACTS_I),
        floats(asked, FACTS_F), flags(asked, FACTS_VALID),
    )  # fmt: skip


@njit()
def cells_at(asked: Int64s) -> Cells:
    return Cells(
        int_table(asked, CELLS_I), flag_table(asked, CELLS_I_VALID), float_table(asked, CELLS_F),
        flag_table(asked, CELLS_F_VALID),
    )  # fmt: skip


@njit()
def begin_plays(asked: Int64s, count: int, all_bits: int) -> None:
    """What the events could be by their streams alone."""
    plays, streams, bits = ints(asked, PLAYS), ints(asked, STREAMS), ints(asked, STREAM_BITS)
    for i in range(count):
        plays[i] = bits[streams[i]] if bits.shape[0] else all_bits


@njit()
def test_events(asked: Int64s, begin: int, count: int, preceding: Int64s) -> None:
    """Clear the bits of the conditions that do not hold; begin: the place of the first event among the cells;
    preceding: int64[cells], for each event the one before it of its key (empty: nobody looks back)."""
    conditions, shifts = small_ints(asked, CODE_BOUNDS).shape[0] - 1, ints(asked, SHIFTS)
    where, bits, plays = ints(asked, WHERE), ints(asked, BITS), ints(asked, PLAYS)
    machine, cells = machine_at(asked), cells_at(asked)
    for i in range(count):
        for position in range(shifts.shape[0]):
            event = begin + i
            for _ in range(shifts[position]):
                if event >= 0:
                    event = preceding[event]
            where[position] = event
        for condition in range(conditions):
            if plays[i] & bits[condition] and not holds(condition, where, machine, cells):
                plays[i] &= ~bits[condition]


class AloneTests:
    """Conditions, each with the bit that it decides."""

    def __init__(self, conditions: Iterable[tuple[int, Expression]], interner: Interner, writer: CodeWriter) -> None:
        """writer: says where columns are; it is not written to if it knows them all."""
        self._interner = interner
        self._known = -1
        numbered = list(conditions)
        for _, condition in numbered:
            writer.add_condition(condition)
        self._code: RegisterCode = writer.finish()
        self._bits = np.array([1 << bit for bit, _ in numbered] or [0], dtype=np.int64)
        self._shifts = np.array([-position.shift for position in writer.positions] or [0], dtype=np.int64)
        self._where = np.full(len(self._shifts), -1, dtype=np.int64)
        self._machine = build_machine(self._code, interner.ranks())

    def __len__(self) -> int:
        return len(self._code.bounds) - 1

    @property
    def is_stale(self) -> bool:
        """Are there new strings, of which the machine does not know the order?"""
        return self._code.uses_ranks and len(self._machine.ranks) < self._interner.count

    def lay_out(self, cells: Cells, here: list[Int64s]) -> Int64s:
        """here: keys, plays, streams and bits of streams."""
        if self.is_stale:
            self._machine = build_machine(self._code, self._interner.ranks())
        return lay_out([*self._machine, *cells, self._where, self._shifts, self._bits, *here])

    def check_trouble(self) -> None:
        if self._machine.trouble[0]:
            raise MatchFailure(
                "an integer expression in a condition left the range of 64 bits", hint="cast one side to DOUBLE"
            )


def local_cells(writer: CodeWriter, room: int) -> Cells:
    """Cells for the events at hand."""
    integers, floating = max(1, len(writer.integer_columns)), max(1, len(writer.float_columns))
    return Cells(
        np.zeros((integers, room), dtype=np.int64), np.zeros((integers, room), dtype=np.uint8),
        np.zeros((floating, room)), np.zeros((floating, room), dtype=np.uint8),
    )  # fmt: skip


class Target(NamedTuple):
    """Where the values of a column go: into `values`, and into `valid` if there is such an array."""

    column: str
    values: npt.NDArray[Any]
    valid: npt.NDArray[Any] | None = None


def list_targets(writer: CodeWriter, cells: Cells) -> list[Target]:
    """The rows of the cells, by column."""
    integers = [
        Target(name, cells.integers[row], cells.integers_valid[row]) for name, row in writer.integer_columns.items()
    ]
    floating = [Target(name, cells.floats[row], cells.floats_valid[row]) for name, row in writer.float_columns.items()]
    return integers + floating
