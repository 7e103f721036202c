"""On what, and with what, a number was measured."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from cepheid import __version__


def describe_machine() -> dict[str, Any]:
    return {
        "cepheid": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
    }


def _commit() -> str | None:
    """The commit of the source tree, if this is one."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


def return_memory() -> None:
    """Give memory that is free back to the system, so that what is left is in use."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def keep_memory() -> None:
    """Let this process keep what it frees, as one that has been running for a while does.

    Otherwise each large array is new memory, which a virtual machine may take long to give: the same query took 0.65 or
    1.4 s, with 0.58 s of work in it both times.  Threads share it, or each would have to be given its own.
    """
    mmap_max, trim_threshold, top_pad, arena_max = -4, -1, -2, -8
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:  # another C library has other ways
        return
    for setting, value in ((mmap_max, 0), (trim_threshold, 2**31 - 1), (top_pad, 2**29), (arena_max, 1)):
        libc.mallopt(setting, value)
