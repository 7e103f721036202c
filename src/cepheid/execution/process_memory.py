"""Let a process keep the memory that it frees.

By default each large array is new memory, which a virtual machine may take long to give: the same query took 0.65 or
1.4 s, with 0.58 s of work in it both times.  So Spark's Python workers, which do the same for batch after batch, keep
some of what they had, and benchmarks all of it, as a process that has been running for a while would.
"""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX, ARENA_MAX = -1, -2, -4, -8  # names of mallopt's in glibc


def keep_memory(most: int = 2**31 - 1, pad: int = 2**29) -> None:
    """most: bytes that are kept at most; pad: by how much more than is asked for the process grows at a time.  Threads
    share what is kept."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:  # another C library has other ways
        return
    for setting, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, most), (TOP_PAD, pad), (ARENA_MAX, 1)):
        libc.mallopt(setting, value)
