"""What a sink is, and what a kind of sink is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getattr_static
from io import IOBase
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa


class Sink(Protocol):
    """write: rows of a query, in their order; tables have one schema and may be empty.  close: no more will come; what
    is kept back is written now.  One that is dropped without `close` leaves no file that could be taken for whole."""

    def write(self, table: pa.Table, /) -> None: ...

    def close(self) -> None: ...


def is_sink(value: object) -> bool:
    """Files of Python have the same methods, and cannot take tables."""
    has_both = all(callable(getattr_static(value, name, None)) for name in ("write", "close"))
    return has_both and not isinstance(value, IOBase)


Recognise = Callable[[Any], bool]
OpenSink = Callable[[Any, str, pa.Schema | None], Sink]


@dataclass(frozen=True, slots=True)
class SinkKind:
    """name: in messages.  written: how it is given, for hints.  recognises: is this what it can open?  open: with the
    name of the query and the schema of its rows (None: that of the first table).  takes_paths: both are handed a
    `Path`, located, in place of the text; other kinds get what the user gave.  locate: of texts with a path inside, the
    same with a path that starts from a folder."""

    name: str
    written: str
    recognises: Recognise
    open: OpenSink
    takes_paths: bool = False
    locate: Callable[[Any, Path], str] | None = None
