"""What of a checkpoint is whole, and what is not: every file that Spark will read when the query is started again.

    offsets/N, commits/N     a version and JSON
    state after batch N      in each partition a snapshot of a version up to N+1, and every change since, up to N+1
    all of them              the checksum beside the file, where there is one

The newest batch whose state is whole is where the stream can go on.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cepheid.errors import SnapshotMismatch
from cepheid.execution.spark.checkpoint_files.layout import Checkpoint, has_right_sum, read_entry, state_version

LOGS = ("offsets", "commits")
LZ4 = b"LZ4Block"
MOST_BYTES = 256_000_000  # of state that is looked at before a query starts


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is missing, or is not what was written."""

    path: Path
    reason: str

    def tell(self, root: Path) -> str:
        return f"{self.path.relative_to(root)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """begun, committed: the last batch in each log, None if there is none.  damaged: what is not whole, among the files
    that Spark will read.  whole: the newest batch that the stream can go on behind, once what is damaged is out of the
    way; -1: from the beginning; None: it cannot.  replays: the batch behind would be read again just as it was, since
    its offsets are whole."""

    begun: int | None
    committed: int | None
    damaged: tuple[Damage, ...]
    whole: int | None
    replays: bool

    @property
    def is_whole(self) -> bool:
        return not self.damaged


def diagnose(checkpoint: Checkpoint) -> Diagnosis:
    begun, committed = (checkpoint.list_batches(log) for log in LOGS)
    needed = _find_needed(checkpoint, begun, committed)
    candidates = sorted({*committed, *(batch - 1 for batch in committed)}, reverse=True)
    whole = next((batch for batch in candidates if _can_go_on(checkpoint, batch, max(begun, default=-1))), None)
    replays = whole is not None and not check_log(checkpoint, "offsets", whole + 1)
    return Diagnosis(max(begun, default=None), max(committed, default=None), tuple(needed), whole, replays)


def refuse_damaged(checkpoint: Checkpoint) -> None:
    """Before a query is started: Spark would fail in its own words, some of it in a worker."""
    begun, committed = (checkpoint.list_batches(log) for log in LOGS)
    looks_at_state = checkpoint.count_state_bytes() <= MOST_BYTES
    damaged = _find_needed(checkpoint, begun, committed if looks_at_state else [])
    if damaged:
        raise explain_damage(checkpoint, damaged)


def explain_damage(checkpoint: Checkpoint, damaged: Sequence[Damage]) -> SnapshotMismatch:
    more = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
    return SnapshotMismatch(
        f'the checkpoint "{checkpoint.root}" is damaged: {damaged[0].tell(checkpoint.root)}{more}',
        hint=f"cepheid checkpoint rewind {checkpoint.root} goes back to the last batch that is whole; "
        "cepheid checkpoint check says what is not",
    )


def _find_needed(checkpoint: Checkpoint, begun: list[int], committed: list[int]) -> list[Damage]:
    """Spark reads the last two offsets, the last commit, and the state after it."""
    found = check_metadata(checkpoint)
    found += [damage for batch in begun[-2:] for damage in check_log(checkpoint, "offsets", batch)]
    found += [damage for batch in committed[-1:] for damage in check_log(checkpoint, "commits", batch)]
    return found + (check_state(checkpoint, committed[-1], only_newest=True) if committed else [])


def _can_go_on(checkpoint: Checkpoint, batch: int, begun: int) -> bool:
    """Is all whole that is known after this batch?"""
    if batch < 0:
        return True
    if any(check_log(checkpoint, log, batch) for log in LOGS) or check_state(checkpoint, batch):
        return False
    return begun > batch or batch == 0 or not check_log(checkpoint, "offsets", batch - 1)


def check_metadata(checkpoint: Checkpoint) -> list[Damage]:
    """Who the query is, and whose state it is."""
    found = _check_json(checkpoint.root / "metadata")
    record = checkpoint.root / "cepheid" / "stages.json"
    return found + (_check_json(record) if record.exists() else [])


def _check_json(path: Path) -> list[Damage]:
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        return [Damage(path, "it is missing")]
    except ValueError:
        return [Damage(path, "it is not what was written")]
    return [] if has_right_sum(path) else [Damage(path, "its checksum is another")]


def check_log(checkpoint: Checkpoint, log: str, batch: int) -> list[Damage]:
    path = checkpoint.root / log / str(batch)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [Damage(path, "it is missing")]
    if not content:
        return [Damage(path, "it is empty")]
    try:
        read_entry(content)
    except ValueError:
        return [Damage(path, "it is not what was written")]
    return [] if has_right_sum(path) else [Damage(path, "its checksum is another")]


def check_state(checkpoint: Checkpoint, batch: int, only_newest: bool = False) -> list[Damage]:
    """Of all operators and partitions, what is known after a batch."""
    found: list[Damage] = []
    for operator in checkpoint.list_operators():
        for partition in checkpoint.list_partitions(operator):
            found += check_partition(checkpoint.operator(operator) / str(partition), batch + 1, only_newest)
    return found


def check_partition(folder: Path, version: int, only_newest: bool = False) -> list[Damage]:
    """What is wrong with the best way to a version: a snapshot, and each change since.  only_newest: with the way that
    Spark takes, from the newest snapshot."""
    names = [path for path in folder.iterdir() if not path.name.startswith(".") and path.is_file()]
    versions = {path: found for path in names if (found := state_version(path.name)) is not None}
    if not versions:  # joins of Spark's have several stores in a partition
        stores = [path for path in folder.iterdir() if path.is_dir() and path.name != "SSTs"]
        return [damage for store in stores for damage in check_partition(store, version, only_newest)]
    if any("_" in path.name.partition(".")[0] for path in versions):  # named by ids that only commits know
        return [damage for path, found in versions.items() if found == version for damage in check_file(path)]
    changes = {found: path for path, found in versions.items() if path.suffix in (".changelog", ".delta")}
    snapshots = {found: path for path, found in versions.items() if path.suffix in (".zip", ".snapshot")}
    starts = sorted((start for start in {0, *snapshots} if start <= version), reverse=True)
    ways = [_check_way(folder, start, version, snapshots, changes) for start in starts[: 1 if only_newest else None]]
    return min(ways, key=len)


def _check_way(
    folder: Path, start: int, version: int, snapshots: dict[int, Path], changes: dict[int, Path]
) -> list[Damage]:
    """From a snapshot (0: from nothing) on, one change after another."""
    found = check_file(snapshots[start]) if start else []
    for number in range(start + 1, version + 1):
        if number in changes:
            found = found + check_file(changes[number])
        else:
            found = [*found, Damage(folder / f"{number}.changelog", "it is missing")]
    return found


def check_file(path: Path) -> list[Damage]:
    return list(_check_file(path, path.stat().st_mtime_ns))


@cache
def _check_file(path: Path, _changed: int) -> tuple[Damage, ...]:
    """The same file is on several ways."""
    if not path.stat().st_size:
        return (Damage(path, "it is empty"),)
    if not has_right_sum(path):
        return (Damage(path, "its checksum is another"),)
    if path.suffix == ".zip":
        return tuple(_check_snapshot(path))
    return tuple(_check_blocks(path))


def _check_snapshot(path: Path) -> Iterable[Damage]:
    """A zip that names the tables it needs."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                raise zipfile.BadZipFile
            told = json.loads(archive.read("metadata").partition(b"\n")[2])
        tables = [path.parent / "SSTs" / each["dfsSstFileName"] for each in told.get("sstFiles", ())]
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):
        yield Damage(path, "it is not what was written")
        return
    for table in tables:
        if not table.exists():
            yield Damage(table, "it is missing")
        else:
            yield from check_file(table)


def _check_blocks(path: Path) -> Iterable[Damage]:
    """Changes are compressed in blocks, of which the last is empty: a file that was cut short lacks it."""
    content = path.read_bytes()
    if not content.startswith(LZ4):
        return
    place, is_ended = 0, False
    while place + 21 <= len(content) and content.startswith(LZ4, place):
        packed = int.from_bytes(content[place + 9 : place + 13], "little")
        is_ended = int.from_bytes(content[place + 13 : place + 17], "little") == 0
        place += 21 + packed
    if place != len(content) or not is_ended:
        yield Damage(path, "it was cut short")
