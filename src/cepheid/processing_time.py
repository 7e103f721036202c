"""Processing time: the moment at which events come in, as a column of its own.

    bids  ──▶  bids                      the events as they are
          └─▶  bids$proctime             the same, stamped: _proctime

A query that says PROCTIME() reads the stamped stream (language/processing_time.py), and from there on all is ordinary
event time: the stamp is in the log and in snapshots, so a replay gives the same rows.  Every batch is stamped with one
moment, which never goes back; no stamped event is ever late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.event_time import BEGINNING, read_moment

STAMP = "_proctime"
SUFFIX = "$proctime"
STAMP_TYPE = pa.timestamp("us")


class Clock(Protocol):
    """What says how late it is."""

    def now(self) -> datetime: ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ManualClock:
    """A clock that is moved by hand, for tests: `ManualClock(datetime(2026, 1, 1))`, `clock.move(seconds=10)`."""

    def __init__(self, start: datetime = datetime(1970, 1, 1, tzinfo=UTC)) -> None:
        read_moment(start)
        self._now = start

    def now(self) -> datetime:
        return self._now

    def move(self, by: timedelta | None = None, *, seconds: float = 0.0, to: datetime | None = None) -> None:
        """On by so much, or to a moment; not back."""
        there = to if to is not None else self._now + (by or timedelta(0)) + timedelta(seconds=seconds)
        if read_moment(there) < read_moment(self._now):
            raise InvalidInput(f"a clock does not go back, from {self._now} to {there}", hint="move it on")
        self._now = there


def check_clock(clock: object) -> Clock:
    if not callable(getattr(clock, "now", None)):
        raise InvalidInput(
            f"the clock is a {type(clock).__name__}", hint="give something with now() -> datetime: cep.ManualClock()"
        )
    return clock  # type: ignore[return-value]


def stamped_name(stream: str) -> str:
    """What the stream is called with its stamps."""
    return f"{stream}{SUFFIX}"


def base_name(stream: str) -> str | None:
    """The stream whose events are stamped; None: these are not stamped."""
    return stream.removesuffix(SUFFIX) if stream.endswith(SUFFIX) else None


def stream_of(source: str) -> str:
    """The stream as users know it, with stamps or without."""
    return base_name(source) or source


def find_schema(schemas: Mapping[str, pa.Schema], stream: str, zone: str | None = None) -> pa.Schema:
    """The columns of a stream, which may be one with stamps; zone: of those."""
    base = base_name(stream)
    if stream in schemas or base is None:
        return schemas[stream]
    return schemas[base].append(pa.field(STAMP, pa.timestamp("us", zone)))


def stamp_table(table: pa.Table, moment: int) -> pa.Table:
    """The events with one moment, in microseconds since 1970."""
    stamps = pa.repeat(pa.scalar(moment, pa.int64()), len(table)).cast(STAMP_TYPE)
    return table.append_column(pa.field(STAMP, STAMP_TYPE), stamps)


class Stamps:
    """Stamps what is pushed.  streams: those of which a query reads the stamped events."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self.last = BEGINNING
        self.streams: set[str] = set()

    def read_sources(self, names: Iterable[str], given: Mapping[str, pa.Schema]) -> None:
        """names: of what queries read; given: the streams that are pushed."""
        self.streams = {base for name in names if (base := base_name(name)) is not None and base in given}

    def stamp(self, tables: Mapping[str, pa.Table], nothing: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """The stamped events of what is pushed; of streams that are not, none.  nothing: empty tables."""
        self.last = max(self.last, read_moment(self._clock.now()))
        return {
            stamped_name(name): stamp_table(tables.get(name, nothing[name]), self.last) for name in sorted(self.streams)
        }
