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
