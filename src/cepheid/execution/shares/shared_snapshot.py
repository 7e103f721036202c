"""What a query in several processes knows: how far time has come, and of each share an ordinary snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.errors import SnapshotMismatch
from cepheid.execution.blob import read_blob, write_blob


@dataclass(frozen=True, slots=True)
class SharedSnapshot:
    """pushes: so many there were; newest: by stream; handed: what whoever hands out events knows; shares: None where it
    begins with nothing."""

    pushes: int
    newest: Mapping[str, int]
    handed: Mapping[str, Any] | None
    shares: Sequence[bytes | None] = field(repr=False)

    @staticmethod
    def begin(engines: int) -> SharedSnapshot:
        """Nothing is known."""
        return SharedSnapshot(0, {}, None, [None] * engines)

    @staticmethod
    def read(blob: bytes, engines: int) -> SharedSnapshot:
        header, parts = read_blob(blob)
        if "shares" not in header:
            raise SnapshotMismatch(
                f"the snapshot is of a query in one process, and engines is {engines}",
                hint="leave engines out: from there it goes on in one process",
            )
        if header["shares"] != engines:
            raise SnapshotMismatch(
                f"the snapshot is of {header['shares']} engines, and engines is {engines}",
                hint=f"engines={header['shares']}",
            )
        return SharedSnapshot(header["pushes"], header["newest"], header["handed"], parts)

    def write(self) -> bytes:
        header = {
            "shares": len(self.shares),
            "pushes": self.pushes,
            "newest": dict(self.newest),
            "handed": self.handed,
        }
        return write_blob(header, [share or b"" for share in self.shares])
