"""Bytes from one process to another through shared memory: one writes, one reads, and what does not fit waits.

    written ──▶ [........######........]  ──▶ read          records: length, bytes
                        read ▲     ▲ written                they may be longer than the ring, and cross its end

Nothing is dropped: who writes more than fits is told how much was taken, and comes again (back-pressure).
"""

from __future__ import annotations

import os
from multiprocessing.shared_memory import SharedMemory
from secrets import token_hex

_COUNTS = 16  # bytes: written and read, since the beginning
_LENGTH = 8


class SharedRing:
    """name: of memory that is there; without one it is made, and whoever made it removes it."""

    def __init__(self, capacity: int, name: str | None = None) -> None:
        self._capacity = capacity
        self._is_owner = name is None
        if name is None:
            name = f"cepheid-{os.getpid()}-{token_hex(4)}"
        self._memory = SharedMemory(name, create=self._is_owner, size=_COUNTS + capacity if self._is_owner else 0)
        buffer = memoryview(self._memory.buf)  # type: ignore[arg-type]
        self._counts = buffer[:_COUNTS].cast("Q")
        self._bytes = buffer[_COUNTS : _COUNTS + capacity]
        buffer.release()
        if self._is_owner:
            self._counts[0] = self._counts[1] = 0
        self._partial = bytearray()

    @property
    def name(self) -> str:
        return self._memory.name

    def write(self, data: memoryview) -> int:
        """How many bytes were taken."""
        written, read = self._counts
        count = min(len(data), self._capacity - (written - read))
        start = written % self._capacity
        first = min(count, self._capacity - start)
        self._bytes[start : start + first] = data[:first]
        self._bytes[: count - first] = data[first:count]
        self._counts[0] = written + count
        return count

    def read_record(self) -> bytes | None:
        """The next record of what was taken in; None: it is not all there yet."""
        if len(self._partial) < _LENGTH:
            return None
        end = _LENGTH + int.from_bytes(self._partial[:_LENGTH], "little")
        if len(self._partial) < end:
            return None
        record = bytes(self._partial[_LENGTH:end])
        del self._partial[:end]
        return record

    def take_in(self) -> int:
        """Make room for the writer; how many bytes there were."""
        written, read = self._counts
        count = written - read
        start = read % self._capacity
        first = min(count, self._capacity - start)
        self._partial += self._bytes[start : start + first]
        self._partial += self._bytes[: count - first]
        self._counts[1] = read + count
        return count

    def close(self) -> None:
        """For this process; the owner removes it for all."""
        self._counts.release()
        self._bytes.release()
        self._memory.close()
        if self._is_owner:
            self._memory.unlink()


def frame_record(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH, "little") + data
