"""Kernels are compiled once on a machine, by whoever comes first: the driver, or one of many workers.

    marker on disk? ──yes──▶ go on
         │ no
         ▼
    lock on disk ─▶ marker by now? ──no──▶ compile all kernels (Numba keeps them on disk) ─▶ marker
                       (those who wait for the lock go on as soon as there is one)

Without it each worker would compile for itself, all at a time.  The marker is for this source, this Numba, this Python
and this machine.  It is a hint only: where Numba's own files are gone, or nothing can be written, kernels are compiled
when they are needed, as ever.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import platformdirs

import cepheid.kernel.compiled
from cepheid.kernel_cache import stamp_files

_logger = logging.getLogger("cepheid.kernel")
_ready = False


def ensure_kernels() -> None:
    """Return when this machine has the compiled kernels on disk."""
    global _ready  # noqa: PLW0603 (a process asks the disk once)
    if not _ready:
        _ready = True
        compile_once(platformdirs.user_cache_path("cepheid") / "kernels", name_marker(), _compile)


def _compile() -> None:
    from cepheid.kernel.compiled.warm_up import compile_kernels

    compile_kernels()


def name_marker() -> str:
    """What tells one set of compiled kernels from another."""
    source = stamp_files(Path(str(cepheid.kernel.compiled.__file__)).parent)
    place = (platform.node(), platform.machine(), platform.python_version(), os.environ.get("NUMBA_CACHE_DIR"))
    return hashlib.sha256(repr((source, version("numba"), place)).encode()).hexdigest()[:24]


def compile_once(folder: Path, name: str, compile_all: Callable[[], None]) -> None:
    """Run `compile_all` unless somebody has; one at a time on a machine."""
    marker = folder / name
    if marker.exists():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / f"{name}.lock"):
            if not marker.exists():
                compile_all()
                marker.touch()
    except OSError as problem:  # nowhere to write: then nobody can share
        _logger.debug("kernels are compiled when they are needed: %s", problem)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Held by one process at a time; freed by the system if that dies."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _logger.warning("Cepheid waits for another process of this machine that compiles its kernels")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
