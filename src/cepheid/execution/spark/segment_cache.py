"""Segments of the state as files on the machine of the executor, beside the state store.

A share is served by whichever worker is free, and a worker that has not served it last must read its state: through
Spark's state server that takes 25 ms for each megabyte, from a file next to nothing.  A segment never changes; its
stamp tells it from others of its number.  What is missing here is in the store, and what is here goes with Spark's
temporary files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pyspark import SparkFiles, TaskContext

from cepheid.execution.state_segments import Segment


class SegmentCache:
    """Of one share of one stage."""

    def __init__(self, digest: str, share: int) -> None:
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty("sql.streaming.queryId")
        self._folder = Path(SparkFiles.getRootDirectory()) / "cepheid-state" / f"{query}-{digest}-{share}"

    def read(self, number: int, stamp: str) -> bytes | None:
        """None: it is not here."""
        try:
            return self._place(number, stamp).read_bytes()
        except OSError:
            return None

    def write(self, number: int, stamp: str, blob: bytes) -> None:
        """If there is room; it appears whole."""
        place = self._place(number, stamp)
        part = place.with_suffix(f".{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(blob)
            part.replace(place)
        except OSError:
            _remove(part)

    def remove(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            _remove(self._place(segment.number, segment.stamp))

    def _place(self, number: int, stamp: str) -> Path:
        return self._folder / f"{number}-{stamp}"


def _remove(place: Path) -> None:
    with suppress(OSError):  # it was never there, or is gone
        place.unlink()
