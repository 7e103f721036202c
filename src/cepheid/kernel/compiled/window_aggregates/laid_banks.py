"""Banks by the addresses of their arrays, so that a few steps are carried out without leaving compiled code.

    banks     int64[n, 4]: kind, address and length of the table, how many steps it has carried out

Each bank that has a kind lays out its arrays and says how to go on when there is no room; the others carry out steps as
they do for large batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Int64s
from cepheid.kernel.compiled.array_table import lay_out, table_at
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.banks import Bank, Banks
from cepheid.kernel.compiled.window_aggregates.cells import Columns
from cepheid.kernel.compiled.window_aggregates.counts import CountBank, run_laid_counts
from cepheid.kernel.compiled.window_aggregates.extremes import ExtremeBank, run_laid_extremes
from cepheid.kernel.compiled.window_aggregates.float_sums import FloatSumBank, run_laid_sums
from cepheid.kernel.compiled.window_aggregates.integer_sums import OUT_OF_RANGE, IntegerSumBank, run_laid_integers
from cepheid.kernel.compiled.window_aggregates.ranked import RankedBank, run_laid_ranks
from cepheid.kernel.window import WindowedAggregate

FLOAT_SUMS, INTEGER_SUMS, COUNTS, EXTREMES, RANKS = range(5)
KINDS: dict[type[Bank], int] = {
    FloatSumBank: FLOAT_SUMS, IntegerSumBank: INTEGER_SUMS, CountBank: COUNTS, ExtremeBank: EXTREMES, RankedBank: RANKS,
}  # fmt: skip
KIND, ADDRESS, LENGTH, PROGRESS = range(4)
ALL_DONE = -1


class LaidBank(Protocol):
    def lay_out(self, slots: int, store: Columns, words: Int64s, valid: Flags) -> list[npt.NDArray[Any]] | None:
        """Its arrays, with room for so many slots; words, valid: [aggregates, rows], where answers go.  None: this one
        cannot be laid out."""
        ...

    def grow(self) -> None:
        """Make room for what there was none for."""
        ...


@njit()
def run_laid_banks(banks: npt.NDArray[np.int64], steps: Flags, slots: Int64s, items: Int64s, rows: int) -> int:
    """Let each bank carry out the steps that it has not; ALL_DONE, or the number of one that lacks room, or whose
    answer is out of range (its progress then says so)."""
    for number in range(banks.shape[0]):
        done = banks[number, PROGRESS]
        if done == steps.shape[0] and done > 0:
            continue
        tables, kind = table_at(banks[number, ADDRESS], banks[number, LENGTH]), banks[number, KIND]
        if kind == FLOAT_SUMS:
            done = run_laid_sums(tables, steps, slots, items, done, rows)
        elif kind == INTEGER_SUMS:
            done = run_laid_integers(tables, steps, slots, items, rows)
        elif kind == COUNTS:
            done = run_laid_counts(tables, steps, slots, items)
        elif kind == EXTREMES:
            done = run_laid_extremes(tables, steps, slots, items, done, rows)
        else:
            done = run_laid_ranks(tables, steps, slots, items, done, rows)
        banks[number, PROGRESS] = done
        if done < steps.shape[0]:
            return number
    return ALL_DONE


@dataclass(frozen=True, slots=True)
class _Answers:
    bank: LaidBank
    kind: int
    members: list[WindowedAggregate]
    words: Int64s
    valid: Flags


class LaidBanks:
    """All banks of a program; `table` is for run_laid_banks."""

    def __init__(self, banks: list[_Answers], aggregates: tuple[WindowedAggregate, ...]) -> None:
        self._banks = banks
        self.table = np.zeros((len(banks), PROGRESS + 1), dtype=np.int64)
        self._held: list[Any] = []
        at = {
            aggregate: (each.words[place], each.valid[place])
            for each in banks
            for place, aggregate in enumerate(each.members)
        }
        self.answers = [at[aggregate] for aggregate in aggregates]
        """Of each aggregate: its values as 64-bit words, floats by their bits; and validity."""
        self._is_float = [aggregate.kind == "float" for aggregate in aggregates]

    def lay_out(self, slots: int, store: Columns) -> bool:
        """Note where all arrays are; False: some bank cannot be laid out."""
        self._held = []
        for number, each in enumerate(self._banks):
            arrays = each.bank.lay_out(slots, store, each.words, each.valid)
            if arrays is None:
                return False
            table = lay_out(arrays)
            self.table[number, :PROGRESS] = each.kind, table.ctypes.data, len(table)
            self._held.append((arrays, table))
        return True

    def grow(self, number: int) -> None:
        """Make room in the bank that a run stopped at."""
        bank = self._banks[number].bank
        if self.table[number, PROGRESS] == OUT_OF_RANGE and isinstance(bank, IntegerSumBank):
            raise bank.refuse()
        bank.grow()

    def take(self, count: int) -> tuple[Column, ...]:
        """The first answers of each aggregate, as columns of their own."""
        return tuple(
            Column(words[:count].view(np.float64).copy() if is_float else words[:count].copy(), valid[:count].copy())
            for (words, valid), is_float in zip(self.answers, self._is_float, strict=True)
        )


def lay_banks(banks: Banks, store: Columns, slots: int, rows: int) -> LaidBanks | None:
    """None: some bank must carry out its steps another way."""
    found: list[_Answers] = []
    for bank, members in banks.members:
        kind = KINDS.get(type(bank))
        if kind is None:
            return None
        shape = (len(members), rows)
        words, valid = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.uint8)
        found.append(_Answers(bank, kind, members, words, valid))  # type: ignore[arg-type]
    laid = LaidBanks(found, banks.aggregates)
    return laid if laid.lay_out(slots, store) else None
