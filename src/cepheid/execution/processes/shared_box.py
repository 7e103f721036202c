"""Memory that two processes see: one puts a message in, the other copies it out.

    writer ─▶ [ message ......... ] ─▶ reader        one message at a time; it grows with the largest

It has no name that others could find, and it is gone with the last process that has it, however that ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence

FIRST_BYTES = 1 << 20


class SharedBox:
    """descriptor: of a box that another process made, and handed over; None: a new one."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _make_file() if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self.descriptor, FIRST_BYTES)
        self._memory = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)

    def write(self, parts: Sequence[bytes]) -> int:
        """Put in a message, in pieces one behind another, in the place of the one before; its length."""
        length = sum(map(len, parts))
        if length > len(self._memory):
            os.ftruncate(self.descriptor, max(length, 2 * len(self._memory)))
            self._look_again()
        at = 0
        for part in parts:
            self._memory[at : at + len(part)] = part
            at += len(part)
        return length

    def read(self, length: int) -> bytes:
        """The message that was put in."""
        if length > len(self._memory):
            self._look_again()
        return self._memory[:length]

    @property
    def is_closed(self) -> bool:
        return self._memory.closed

    def close(self) -> None:
        """For this process; a second time does nothing."""
        if not self._memory.closed:
            self._memory.close()
            os.close(self.descriptor)

    def _look_again(self) -> None:
        """It has grown."""
        self._memory.close()
        self._memory = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)


def _make_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("cepheid")
    with tempfile.TemporaryFile() as file:  # macOS
        return os.dup(file.fileno())
