"""What stands with OVER and picks rows, or numbers them: LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE, ROW_NUMBER, ...

    rows of one key, in order        r0   r1   r2   r3
    LAG(x, 1)                        -    r0   r1   r2
    LEAD(x, 2)                       r2   r3   -    -          r0 is settled when r2 comes, r2 when the input ends
    FIRST_VALUE(x) ROWS 1 PRECEDING  r0   r0   r1   r2

A function picks a row, or none; what it gives is a column of that row.  With IGNORE NULLS only rows count whose column
has a value.  Times are microseconds, offsets of ROWS are rows; an offset below zero is PRECEDING.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s

Flags = npt.NDArray[np.bool_]
Picks = Literal["lag", "lead", "first", "last", "nth"]
Numbers = Literal["row_number", "rank", "dense_rank"]
PICKS: tuple[Picks, ...] = ("lag", "lead", "first", "last", "nth")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverFrame:
    """The rows from `start` to `end`, seen from the row; start None: from the first one of the key on.

    range: offsets are of time, and rows of equal times are seen together."""

    kind: Literal["rows", "range"] = "range"
    start: int | None = None
    end: int = 0

    def __post_init__(self) -> None:
        assert self.start is None or self.start <= self.end, "a frame ends behind its start"
        assert self.kind == "rows" or self.start is not None or self.end >= 0, "the last row before a moment is kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverFunction:
    """lag, lead: `number` rows before or behind; nth: the `number`-th row of the frame, from 1.

    column: of which rows with a value count only; None: all rows count."""

    function: Picks | Numbers
    number: int = 1
    column: str | None = None

    @property
    def picks(self) -> bool:
        return self.function in PICKS

    @property
    def in_frame(self) -> bool:
        return self.function in ("first", "last", "nth")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverProgram:
    """What one vertex is to do: functions over the same frame.  about: a column; rows without a value in it are seen by
    others and do not come out themselves; None: all do.  spans: the rows of each frame are told, for aggregates."""

    functions: tuple[OverFunction, ...]
    frame: OverFrame = OverFrame()
    about: str | None = None
    spans: bool = False

    @property
    def framed(self) -> bool:
        return self.spans or any(function.in_frame for function in self.functions)

    @property
    def sequences(self) -> tuple[str | None, ...]:
        """Rows that functions count: all of them, or those with a value in a column."""
        return tuple(dict.fromkeys(function.column for function in self.functions))

    @property
    def waits(self) -> bool:
        """May a row have to wait for others?"""
        waits = self.framed and (self.frame.end > 0 or (self.frame.kind == "range" and self.frame.end == 0))
        return waits or any(function.function == "lead" and function.number for function in self.functions)


@dataclass(frozen=True, slots=True)
class OverEvents:
    """Rows in order.  times: int64[n], ascending; keys: int64[n], small numbers from 0; with_value: by column,
    bool[n], has the row one."""

    times: Int64s
    keys: Int64s
    with_value: dict[str, Flags]

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class SettledRows:
    """Rows that are settled.  rows: int64[m], by their index since the operator began or was restored; answers: for
    each function int64[m], the row that it picks, -1 for none, or its number.  frames: int64, the rows of all frames,
    one behind another, and int64[m], how many each has, if the program asks for them.

    moments, triggers: int64[m], when each was settled: the time, 2**62 at the end of the input, and the row that did
    it, or -1 if time or the end did.  Rows are in this order: by moment, those that rows settled first,
    then by trigger, then by row."""

    rows: Int64s
    answers: tuple[Int64s, ...]
    moments: Int64s
    triggers: Int64s
    frames: tuple[Int64s, Int64s] | None = None

    def __len__(self) -> int:
        return len(self.rows)
