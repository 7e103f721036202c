"""Two folders change places in one step of the file system, so that whoever looks sees one or the other, always whole.

Two renames would leave a moment without a checkpoint: a query that is started then, or after a power cut then, would
begin from nothing without a word.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from cepheid.errors import NotSupportedYet

HERE = -100  # paths are relative to the working folder, as usual
EXCHANGE = 2


def exchange(left: Path, right: Path) -> None:
    """Raises if the system has no such step; then nothing has changed."""
    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(left), os.fsencode(right)
    if sys.platform == "darwin":
        done = library.renamex_np(first, second, EXCHANGE)
    elif hasattr(library, "renameat2"):
        done = library.renameat2(HERE, first, HERE, second, EXCHANGE)
    else:
        done = -1
    if done != 0:
        reason = os.strerror(ctypes.get_errno())
        raise NotSupportedYet(
            f'exchanging two folders in one step in "{left.parent}" ({reason})',
            hint="give --to DIR: the new checkpoint is made there, and the old one stays where it is",
        )
