"""What a form of changes is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from cepheid.settings import ChangelogName


@dataclass(frozen=True, slots=True)
class Commit:
    """What is told of one push: number grows by one with each, also over restarts from a snapshot; moment: when its
    rows were given out, in microseconds since 1970, by the clock of the query."""

    number: int
    moment_us: int


@dataclass(frozen=True, slots=True)
class Changelog:
    """name: what users call it.  make_schema: of its rows, for rows in our own form; raises `InvalidInput` where a
    column of the row is in the way.  write: the rows of a push, all of which are in our own form.

    find_schema: our own form of a schema in this one; None: it is in no such form, or nobody can read it back.  read:
    such rows, in our own form; the name is that of the stream, for messages.
    """

    name: ChangelogName
    make_schema: Callable[[pa.Schema], pa.Schema]
    write: Callable[[pa.Table, Commit], pa.Table]
    find_schema: Callable[[pa.Schema], pa.Schema | None] = lambda _schema: None
    read: Callable[[str, pa.Table], pa.Table] | None = None
