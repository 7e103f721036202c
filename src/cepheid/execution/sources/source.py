"""What a source is, and what a kind of source is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getattr_static
from typing import Any, Protocol

import pyarrow as pa

BATCH_ROWS = 65_536


class Source(Protocol):
    """A stream of events that can be opened and read.

    schema: known before anything is read but a first piece.  is_finite: does it end by itself, so that it can be read
    whole?  read: tables of at most `rows` rows, each of that schema; of a finite source all have exactly so many, but
    for the last, and a live one never holds events back to fill a table.  What reading opens is closed when the
    iterator ends or is closed.
    """

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def is_finite(self) -> bool: ...

    def read(self, rows: int = BATCH_ROWS) -> Iterator[pa.Table]: ...


def is_source(value: object) -> bool:
    """Asked without reading its schema, which may need the first events."""
    return all(getattr_static(value, name, None) is not None for name in ("schema", "is_finite", "read"))


Recognise = Callable[[Any], bool]
OpenSource = Callable[[Any, str, pa.Schema | None], Source]


@dataclass(frozen=True, slots=True)
class SourceKind:
    """name: in messages.  written: how it is given, for hints.  recognises: is this what it can open?  open: with the
    name of the stream and the schema it was declared to have (None: what is found).  takes_paths: both are handed a
    `Path`, located, in place of the text; other kinds get what the user gave."""

    name: str
    written: str
    recognises: Recognise
    open: OpenSource
    takes_paths: bool = False
