"""What a sink of a streaming query is, and what a kind of such sinks is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BatchId:
    """Whose rows these are: the same again only if the same rows come again.  checkpoint: an id that Spark gives to
    each new checkpoint, whose batches are counted from 0."""

    query: str
    checkpoint: str
    number: int


class Rows(Protocol):
    """The rows of a batch, which can be gone through more than once."""

    @property
    def schema(self) -> pa.Schema: ...

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...


class BatchSink(Protocol):
    """Gets the rows of each batch that has some.  prepare: the same rows, of types that the sink can take."""

    def prepare(self, frame: DataFrame) -> DataFrame: ...

    def write(self, rows: Rows, batch: BatchId) -> None: ...


@dataclass(frozen=True, slots=True)
class FileSink:
    """A folder that Spark's own sink writes to."""

    form: str
    path: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SparkSinkKind:
    """name: in messages.  written: how it is given, for hints.  open: with the text, the name of the query and the
    folder that relative paths start from.  find_target: the file or folder that is written, None: neither."""

    name: str
    written: str
    recognises: Callable[[str], bool]
    open: Callable[[str, str, Path], FileSink | BatchSink]
    find_target: Callable[[str, Path], Path | None] = lambda _text, _folder: None
