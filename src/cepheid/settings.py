"""What a user can set for one query, with its defaults, in one place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from cepheid.errors import InvalidInput

DialectName = Literal["trino", "spark"]
"""Whose SQL conditions and columns of a plan are in: Spark's, where Spark runs them, else Trino's."""

WrittenDialect = Literal["trino", "flink", "spark", "risingwave", "duckdb"]
"""Whose SQL a query is written in; none is said: a superset of Trino's."""

EmitName = Literal["final", "changes"]
"""What comes out: rows that can no longer change, or every change."""

ChangelogName = Literal["cepheid", "flink", "spark", "debezium"]
"""Whose names and codes tell changes."""

WaitRule = Literal["fixed", "growing", "maximum", "quantile", "recall"]
"""How long events are held back: for a time, as long as the latest so far, as the latest or as a share of the last
events, as long as a share of results needs."""

MOST_KEY_GROUPS = 2**15


def check_key_groups(given: object, name: str = "key_groups") -> int:
    """A number of key groups; name: what it is called where it was given."""
    if type(given) is not int or not 1 <= given <= MOST_KEY_GROUPS:
        raise InvalidInput(f"{name} is {given!r}", hint=f"give a number from 1 to {MOST_KEY_GROUPS}; 64 suits most")
    return given


def _read_key_groups(given: str) -> int:
    return check_key_groups(int(given) if given.strip().isdecimal() else given, "CEPHEID_KEY_GROUPS")


KEY_GROUPS = _read_key_groups(os.environ.get("CEPHEID_KEY_GROUPS", "64"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long events are held back.  span: of the rule "fixed".  recall: the share of rows to be right at first.
    max_wait: no longer than this.  speculation: the share of that which they are really held, None: as the load
    allows."""

    rule: WaitRule = "fixed"
    span: timedelta = timedelta(0)
    recall: float = 0.999
    max_wait: timedelta | None = None
    speculation: float | None = 1.0

    @property
    def follows_stream(self) -> bool:
        """May it change while a query runs?"""
        return self.rule != "fixed" or self.speculation is None

    @property
    def held(self) -> timedelta:
        """How long events are really held, where that never changes."""
        return self.span if self.speculation is None else self.span * self.speculation


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """strict: refuse a continuous query whose state cannot be bounded, instead of warning.

    lateness: how long events may be overtaken by others; None: as the host says (Spark: the DataFrame's own
    watermark; embedded: not at all).  key_groups: into how many parts the keys are hashed on Spark; fixed for
    the life of a checkpoint.  wait: of streams that change, how long events are held back, if not as long as they may
    be late: what was given out too early is corrected.  waiting: the rule behind that; None: no other than `wait`.
    emit: what comes out.  changelog: in whose words, where that is changes.  idle_after: a stream that says nothing
    for so long, while others go on, is not waited for (disorder/stream_clocks.py); of all streams, or by name.
    """

    strict: bool = False
    lateness: timedelta | None = None
    key_groups: int = KEY_GROUPS
    wait: timedelta | None = None
    waiting: Waiting | None = None
    emit: EmitName = "final"
    changelog: ChangelogName = "cepheid"
    idle_after: timedelta | Mapping[str, timedelta] | None = None

    @property
    def is_bounded(self) -> bool:
        """Is there an age beyond which nothing changes?"""
        return self.lateness is not None or (self.waiting is not None and self.waiting.follows_stream)

    @property
    def corrects(self) -> bool:
        """Do events count that come later than what is waited for?"""
        if self.waiting is not None and self.waiting.follows_stream:
            return True
        return self.lateness is not None and self.wait is not None and self.wait < self.lateness

    def idle_after_us(self, streams: Iterable[str]) -> dict[str, int]:
        """In microseconds, of those streams that have one."""
        given = self.idle_after
        if given is None:
            return {}
        spans = given if isinstance(given, Mapping) else dict.fromkeys(streams, given)
        return {name: spans[name] // timedelta(microseconds=1) for name in streams if name in spans}
