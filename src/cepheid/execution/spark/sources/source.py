"""What a stream on Spark is, and what a kind of such streams is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.application import ApplicationSource
from cepheid.execution.file_names import is_path, locate_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class OpenStream:
    """rows: a streaming DataFrame of what fits.  misfits: of what does not (dead_letters.py); None: there is no such
    thing here.  is_replayable: can what was read be read again after a failure?"""

    rows: DataFrame
    misfits: DataFrame | None = None
    is_replayable: bool = True


Recognise = Callable[[str, Path], bool]
Open = Callable[["SparkSession", ApplicationSource, Path], OpenStream]
ReadSchema = Callable[[str, Path], "pa.Schema | None"]


@dataclass(frozen=True, slots=True)
class StreamKind:
    """name: in messages.  written: how it is given, for hints.  The functions take the text of the file, or the source,
    and the folder that relative paths start from.  read_schema: before Spark is there; None: only Spark knows it.
    is_files: files of the machine or of a store, whose schema can be read without Spark."""

    name: str
    written: str
    recognises: Recognise
    open: Open
    read_schema: ReadSchema | None = None
    is_files: bool = False


def begins_with(prefix: str) -> Recognise:
    return lambda text, _: text.startswith(prefix)


def locate(text: str, folder: Path) -> str:
    """A path or a pattern as Spark takes it; the URL of a store stays as it is."""
    return str(locate_path(text, folder.absolute())) if is_path(text) else text


def text_of(source: ApplicationSource) -> str:
    assert source.path is not None, "a stream is opened from what the application says"
    return source.path
