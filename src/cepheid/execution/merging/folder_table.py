"""A folder of Parquet files that is a table: a list of files that count, which is replaced by one rename.

    jam/_merged.json           the files that count, in the order in which they were written
    jam/_00000007-1f3a.parquet the base: newest changes, one for each row
    jam/_00000012-9c02.parquet what came later, likewise
    jam/_00000014-77b1.parquet

A batch is written beside what is there: a small file, and a new list.  Files are merged as they grow, each into the one
before it that is not twice as large: so there are few, and a row is written again once for each doubling of the table.
A file holds changes in our own form, retracts among them, and the answer is the newest change of each row
(latest_changes.py): merging twice, or in another order, is the same.

Whoever reads has a list, and with it a whole state.  A writer that is killed leaves the old list or the new one, and
perhaps files that no list names, which the next one removes.  Files of the list before stay until the next one, for
those who were reading it; who is slower than that reads the new list and begins again.  Writers wait for one another.
Names begin with an underscore, so that whoever takes all Parquet files of a folder finds none, not rows twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.arrow_compute import pc
from cepheid.errors import InvalidInput
from cepheid.execution.file_names import is_folder
from cepheid.execution.merging.latest_changes import keep_latest
from cepheid.execution.merging.merged_table import Tombstones
from cepheid.schema import INSERT, RETRACT, empty_table, fit_schema, without_changes

LIST = "_merged.json"
FORMAT = 1
SINCE = pa.field("_since", pa.int64())  # of each row: when it was written; tells the age of tombstones


@dataclass(frozen=True, slots=True)
class MergedFile:
    """oldest_us: when the oldest retract in it was written; None: there is none."""

    name: str
    rows: int
    oldest_us: int | None


@dataclass(frozen=True, slots=True)
class FileList:
    """commit: how many lists there were before.  key: columns that tell rows of one `_match` apart.  clock_us: the
    latest time that was written.  before: the names of the files of the list before, which are still there."""

    commit: int
    key: tuple[str, ...]
    clock_us: int | None
    files: tuple[MergedFile, ...]
    before: tuple[str, ...] = ()


class FolderTable:
    def __init__(self, folder: Path, key: tuple[str, ...]) -> None:
        self._folder, self._key = folder, key

    def prepare(self, schema: pa.Schema) -> None:
        if SINCE.name in schema.names:
            raise InvalidInput(f'the rows have a column "{SINCE.name}"', hint="call it something else: files have one")
        kept = schema.append(SINCE)
        with _telling(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._alone():
                if not (self._folder / LIST).exists():
                    first = self._write_file(0, empty_table(kept))
                    self._commit(FileList(0, self._key, None, (first,)))
            listed = read_list(self._folder)
            there = _read_schema(self._folder, listed)
        if listed.key != self._key:
            was = ", ".join(listed.key) or "_match alone"
            raise InvalidInput(f'rows of "{self._folder}" are told by {was}', hint="give the same key, or a new folder")
        fit_schema(str(self._folder), empty_table(kept), there)

    def merge(self, latest: pa.Table, tombstones: Tombstones) -> None:
        with _telling(self._folder), self._alone():
            listed = read_list(self._folder)
            schema = _read_schema(self._folder, listed)
            since = pa.array([tombstones.now_us], pa.int64()).take(pa.nulls(len(latest), pa.int64()).fill_null(0))
            rows = fit_schema(str(self._folder), latest.append_column(SINCE, since), schema)
            first = _find_first(listed.files, len(rows), tombstones)
            parts = [self._read_file(file) for file in listed.files[first:]]
            merged = keep_latest(pa.concat_tables([*parts, rows]), self._key)
            if first == 0:  # all that is older is in it: nothing is left that a forgotten tombstone would hold back
                merged = _forget(merged, tombstones.forgotten_us)
            written = self._write_file(listed.commit + 1, merged)
            clock = max(tombstones.now_us, listed.clock_us or tombstones.now_us)
            files = (*listed.files[:first], written)
            self._commit(FileList(listed.commit + 1, self._key, clock, files, tuple(f.name for f in listed.files)))

    def read_clock(self, time: str | None) -> int | None:  # noqa: ARG002 (it is written down)
        with _telling(self._folder):
            return read_list(self._folder).clock_us

    # --- files -------------------------------------------------------------------------------------------
    def _read_file(self, file: MergedFile) -> pa.Table:
        return pq.read_table(self._folder / file.name, partitioning=None)

    def _write_file(self, commit: int, rows: pa.Table) -> MergedFile:
        name = f"_{commit:08}-{uuid4().hex[:8]}.parquet"
        with (self._folder / name).open("xb") as file:
            pq.write_table(rows, file)
            _settle(file)
        retracts = rows.filter(pc.equal(rows.column("_change"), RETRACT))
        return MergedFile(name, len(rows), pc.min(retracts.column(SINCE.name)).as_py())

    def _commit(self, listed: FileList) -> None:
        """From here on the new files count; those that no reader can ask for are removed."""
        unfinished = self._folder / f"{LIST}.part"
        with unfinished.open("wb") as file:
            file.write(json.dumps({"format": FORMAT, **asdict(listed)}, indent=1).encode())
            _settle(file)
        unfinished.replace(self._folder / LIST)
        _settle_folder(self._folder)
        named = {*listed.before, *(file.name for file in listed.files)}
        for path in self._folder.glob("_*.parquet"):
            if path.name not in named:
                path.unlink()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, whatever process it is in."""
        import fcntl

        with (self._folder / "_writer.lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the system lets go of it when the process ends
            yield


def is_merged_folder(path: Path) -> bool:
    return is_folder(path) and (path / LIST).is_file()


def read_list(folder: Path) -> FileList:
    read = json.loads((folder / LIST).read_bytes())
    if read.pop("format", None) != FORMAT:
        raise InvalidInput(f'"{folder / LIST}" is of a format that is not known here', hint="a newer version wrote it")
    files = tuple(MergedFile(**file) for file in read.pop("files"))
    return FileList(**{**read, "key": tuple(read["key"]), "before": tuple(read["before"]), "files": files})


def read_merged_schema(folder: Path) -> pa.Schema:
    """The columns of the rows."""
    return without_changes(pa.schema(list(_read_schema(folder, read_list(folder)))[:-1]))


def read_merged_folder(folder: Path) -> pa.Table:
    """The net answer as it is now: a whole state, whatever is written meanwhile."""
    listed = read_list(folder)
    newest = keep_latest(pa.concat_tables(_read_files(folder, listed)), listed.key)
    alive = newest.filter(pc.equal(newest.column("_change"), INSERT))
    return alive.select(without_changes(alive.schema).names[:-1])


def _read_files(folder: Path, listed: FileList) -> list[pa.Table]:
    try:
        return [pq.read_table(folder / file.name, partitioning=None) for file in listed.files]
    except FileNotFoundError:
        newer = read_list(folder)
        if newer == listed:
            raise
        return _read_files(folder, newer)


def _read_schema(folder: Path, listed: FileList) -> pa.Schema:
    """With the time that is written beside each row."""
    return pq.read_schema(folder / listed.files[0].name)


def _find_first(files: tuple[MergedFile, ...], rows: int, tombstones: Tombstones) -> int:
    """From which file on all are merged with so many new rows."""
    first = len(files)
    while first and files[first - 1].rows <= 2 * rows:
        first -= 1
        rows += files[first].rows
    forgotten, bound = tombstones.forgotten_us, tombstones.bound_us
    oldest = min((file.oldest_us for file in files if file.oldest_us is not None), default=None)
    if forgotten is None or bound is None or oldest is None or oldest >= forgotten - bound:
        return first
    return 0  # tombstones are kept for up to twice as long as they must be, so that the base is seldom rewritten


def _forget(merged: pa.Table, forgotten_us: int | None) -> pa.Table:
    if forgotten_us is None:
        return merged
    is_old = pc.less(merged.column(SINCE.name), forgotten_us)
    return merged.filter(pc.invert(pc.and_(is_old, pc.equal(merged.column("_change"), RETRACT))))


def _settle(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())  # else a crash of the machine could leave the name and not the content


def _settle_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def _telling(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, InvalidInput):
            raise
        told = str(problem).strip().rstrip(".")
        hint = "see that it is whole, that you may write to it, and that its disk has room"
        raise InvalidInput(f'the table "{folder}" cannot be merged into: {told}', hint=hint) from None
