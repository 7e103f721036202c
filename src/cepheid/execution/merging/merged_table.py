"""What a table is to those who merge changes into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Tombstones:
    """now_us: the time that is written beside what is retracted, in microseconds.  bound_us: for how long that is
    remembered; None: for ever."""

    now_us: int
    bound_us: int | None = None

    @property
    def forgotten_us(self) -> int | None:
        """What was retracted before that need not be remembered; None: all must."""
        return None if self.bound_us is None else self.now_us - self.bound_us


class MergedTable(Protocol):
    """prepare: what is not there is made, for rows of this schema, in our own form of changes.  merge: takes in the
    newest changes of a batch, each where it is newer than what is there, all of them or none.  read_clock: the latest
    time that the table knows of, in microseconds; None: none; time: the column of its rows that is a time, if any."""

    def prepare(self, schema: pa.Schema, /) -> None: ...

    def merge(self, latest: pa.Table, tombstones: Tombstones, /) -> None: ...

    def read_clock(self, time: str | None, /) -> int | None: ...
