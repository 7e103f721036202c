"""What Spark's file sink has written, batch by batch, and how it forgets the last of them.

    OUT/_spark_metadata/7           the files of batch 7
    OUT/_spark_metadata/9.compact   those of all batches up to 9

The sink skips a batch that it knows, and with it everything that the batch computes, its state as well.  So when a
checkpoint is taken back, the sink must forget what is written again: its readers go by this log only.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from cepheid.errors import SnapshotMismatch
from cepheid.execution.spark.checkpoint_files.layout import find_local, sidecar

LOG = "_spark_metadata"


@dataclass(frozen=True, slots=True)
class FileSinkLog:
    folder: Path

    def list_batches(self) -> dict[int, Path]:
        found = {}
        for path in self.folder.iterdir():
            number = path.name.removesuffix(".compact")
            if number.isdecimal():
                found[int(number)] = path
        return found

    def check_forgetting(self, behind: int) -> None:
        """Raises if what the batches up to `behind` have written is known only together with later ones."""
        known = self.list_batches()
        kept = sorted((number for number in known if number <= behind), reverse=True)
        start = next((number for number in kept if known[number].suffix == ".compact"), -1)
        missing = set(range(max(start, 0), behind + 1)) - set(kept)
        if missing and any(number > behind for number in known):
            raise SnapshotMismatch(
                f'"{self.folder}" tells of batch {min(missing)} only together with later ones',
                hint="start with a new checkpointLocation and a new folder for the files",
            )

    def forget(self, behind: int, aside: Path) -> None:
        """Set aside the log of all batches behind this one, and the files that they have written."""
        known = self.list_batches()
        stay = {path for number, log in known.items() if number <= behind for path in _read_paths(log)}
        for number, log in sorted(known.items(), reverse=True):
            if number <= behind:
                continue
            written = _read_paths(log) - stay
            _set_aside(log, aside / LOG)
            for path in written:
                local = find_local(path)
                if local is not None and local.exists():
                    _set_aside(local, aside / "files")


def find_file_sink(place: str | None) -> FileSinkLog | None:
    """Of a folder that Spark's file sink writes to; None: it is none, or not on this machine."""
    local = None if place is None else find_local(place)
    return FileSinkLog(local / LOG) if local is not None and (local / LOG).is_dir() else None


def _read_paths(log: Path) -> set[str]:
    return {json.loads(line)["path"] for line in log.read_text().splitlines()[1:] if line}


def _set_aside(path: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for each in (path, sidecar(path)):
        if each.exists():
            shutil.move(each, folder / each.name)
