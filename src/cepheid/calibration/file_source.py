"""A stream of Parquet files for Spark: all written beforehand, then linked into the folder that Spark watches.

A link costs next to nothing, so the source takes no processor time from what is measured; and many runs can play the
same files from the start.  Files have one size, as those of a writer that rolls them by size: what a file costs is then
part of what an event costs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.calibration.feed import Feed

FIRST_SECOND = 1_767_225_600  # Spark takes files by the time they were changed: one second apart, whatever the clock


class FilePool:
    """Part number n of the feed is one file for each of its streams."""

    def __init__(self, feed: Feed, folder: Path, events_per_part: int) -> None:
        self.feed, self.folder, self.events_per_part = feed, folder, events_per_part
        self.parts = len(feed) // events_per_part
        self._written = 0
        for name in feed.tables:
            (folder / name).mkdir(parents=True, exist_ok=True)

    def write(self, parts: int) -> None:
        """See that so many are there, and on the disk: what is written later would disturb what is measured."""
        if parts <= self._written:
            return
        for part in range(self._written, parts):
            for name, table in self.feed.take(part * self.events_per_part, self.events_per_part).items():
                path = self.path(name, part)
                pq.write_table(_in_utc(table), path, compression="none", use_dictionary=False)
                os.utime(path, (FIRST_SECOND + part, FIRST_SECOND + part))
        self._written = parts
        os.sync()

    def path(self, stream: str, part: int) -> Path:
        return self.folder / stream / f"{part:06d}.parquet"

    def link(self, part: int, folder: Path) -> None:
        for name in self.feed.tables:
            os.link(self.path(name, part), folder / name / f"{part:06d}.parquet")

    def frames(self, spark: Any, folder: Path, parts_per_batch: int | None = None) -> dict[str, Any]:
        """Streaming DataFrames over what will be linked into a folder."""
        self.write(1)
        frames = {}
        for name in self.feed.tables:
            (folder / name).mkdir(parents=True)
            reader = spark.readStream.schema(spark.read.parquet(str(self.path(name, 0))).schema)
            if parts_per_batch is not None:
                # Without a cache of names, Spark fills every batch while more files wait; with it, what is left of one
                # look into the folder becomes a small batch of its own
                reader = reader.option("maxFilesPerTrigger", str(parts_per_batch)).option("maxCachedFiles", "0")
            frames[name] = reader.parquet(str(folder / name))
        return frames


def _in_utc(table: pa.Table) -> pa.Table:
    """Spark's timestamps have a zone."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is None:
            zoned = pa.timestamp(field.type.unit, tz="UTC")
            table = table.set_column(number, field.name, table.column(number).cast(zoned))
    return table
