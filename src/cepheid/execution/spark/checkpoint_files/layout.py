"""A checkpoint of Spark's as folders and files on this machine.

    metadata                    who the query is
    offsets/N                   what batch N reads; written before it runs
    commits/N                   batch N is done
    sources/                    what sources remember
    state/OPERATOR/PARTITION/   N+1.changelog, N+1.zip and SSTs/: what is known after batch N
    state/OPERATOR/_metadata    how many partitions there are, and where the schema of the state is
    cepheid/stages.json         whose state it is (stage_record.py, stage_program.py)

Hadoop writes a checksum beside each file on a local disk, as `.NAME.crc`: for every 512 bytes, a CRC32.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheid.errors import InvalidInput, NotSupportedYet

MAGIC = b"crc\x00"
CHUNK = 512
STATE_FILES = (".changelog", ".zip", ".delta", ".snapshot")
UNIQUE_IDS = "stateUniqueIds"  # in commits, where state files are named by more than a number


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A file of offsets/ or commits/: the version line, a header, and one line for each source."""

    version: str
    header: dict[str, Any]
    sources: tuple[str, ...] = ()

    def write(self) -> bytes:
        return "\n".join([self.version, json.dumps(self.header, separators=(",", ":")), *self.sources]).encode()


def read_entry(content: bytes) -> LogEntry:
    """Raises ValueError if it is not one."""
    version, _, rest = content.decode().partition("\n")
    header, *sources = rest.split("\n") if rest else [""]
    if not version.startswith("v") or not version[1:].isdecimal():
        raise ValueError("it does not begin with a version")
    read = json.loads(header)
    if not isinstance(read, dict):
        raise ValueError("it has no header")
    for source in sources:
        if source != "-":
            json.loads(source)
    return LogEntry(version, read, tuple(sources))


class Checkpoint:
    def __init__(self, root: Path) -> None:
        self.root = root

    def list_batches(self, log: str) -> list[int]:
        """The numbers in offsets/ or commits/, ascending."""
        folder = self.root / log
        return sorted(int(each.name) for each in folder.iterdir() if each.name.isdecimal()) if folder.is_dir() else []

    def read_batch(self, log: str, batch: int) -> LogEntry:
        return read_entry((self.root / log / str(batch)).read_bytes())

    def list_operators(self) -> list[int]:
        folder = self.root / "state"
        return sorted(int(each.name) for each in folder.iterdir() if each.name.isdecimal()) if folder.is_dir() else []

    def operator(self, number: int) -> Path:
        return self.root / "state" / str(number)

    def list_partitions(self, operator: int) -> list[int]:
        return sorted(int(each.name) for each in self.operator(operator).iterdir() if each.name.isdecimal())

    def read_stages(self) -> dict[str, Any]:
        """Of stages.json; raises ValueError if it is damaged."""
        read = json.loads((self.root / "cepheid" / "stages.json").read_text())
        if not isinstance(read, dict) or "stages" not in read:
            raise ValueError("it has no stages")
        return read

    def find_sink(self) -> str | None:
        """Where the sink writes to, if it was told when the query was started, and if that can be read."""
        try:
            path = self.read_stages().get("path")
        except (OSError, ValueError):
            return None
        return None if path is None else str(path)

    def count_state_bytes(self) -> int:
        return sum(each.stat().st_size for each in (self.root / "state").rglob("*") if each.is_file())


def find_local(place: str) -> Path | None:
    """None: it is on another file system."""
    path = place.removeprefix("file://").removeprefix("file:")
    return None if ":/" in path else Path(path).absolute()


def open_checkpoint(place: str) -> Checkpoint:
    """A folder of this machine that has run."""
    root = find_local(place)
    if root is None:
        raise NotSupportedYet(
            f'a checkpoint on another file system than that of this machine, "{place}",',
            hint="copy it to a folder of this machine while the query is stopped, and back",
        )
    checkpoint = Checkpoint(root)
    if not (root / "metadata").is_file() or not (root / "offsets").is_dir():
        nested = sorted(each.parent for each in root.glob("*/*/metadata")) if root.is_dir() else []
        hint = "give what was given as checkpointLocation"
        if nested:
            hint = f"it may be one of {', '.join(map(str, nested[:5]))}"
        raise InvalidInput(f'"{place}" is no checkpoint of a stream that has run', hint=hint)
    return checkpoint


def state_version(name: str) -> int | None:
    """The version that a file of a state partition belongs to; None: it is of another kind."""
    stem, dot, ending = name.partition(".")
    version = stem.partition("_")[0]
    return int(version) if dot + ending in STATE_FILES and version.isdecimal() else None


# --- checksums -------------------------------------------------------------------------------------------
def sidecar(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def write_file(path: Path, content: bytes) -> None:
    """With its checksum, as Spark would."""
    path.write_bytes(content)
    sidecar(path).write_bytes(_write_sums(content))


def move_file(path: Path, target: Path) -> None:
    """With its checksum."""
    if sidecar(path).exists():
        sidecar(path).replace(sidecar(target))
    path.replace(target)


def has_right_sum(path: Path) -> bool:
    """Is the file what was written?  True if nobody wrote down what that was."""
    try:
        sums = sidecar(path).read_bytes()
    except FileNotFoundError:
        return True
    if not sums.startswith(MAGIC) or len(sums) < 8:
        return False
    (chunk,) = struct.unpack_from(">i", sums, len(MAGIC))
    return chunk > 0 and sums == _write_sums(path.read_bytes(), chunk)


def _write_sums(content: bytes, chunk: int = CHUNK) -> bytes:
    sums: Sequence[int] = [zlib.crc32(content[place : place + chunk]) for place in range(0, len(content), chunk)]
    return MAGIC + struct.pack(f">i{len(sums)}I", chunk, *sums)
