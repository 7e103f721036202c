"""What a stage compiles is compiled once on a machine, by whoever comes first: the driver, or one of many workers.

    marker on disk? ──yes──▶ go on
         │ no
         ▼
    lock on disk ─▶ marker by now? ──no──▶ two made-up events through the stage: Numba keeps its kernels ─▶ marker
                       (those who wait for the lock go on as soon as there is one)

Without it each worker would compile for itself, all at a time.  The marker is for this stage, this source, this Numba,
this Python and this machine.  It is a hint only: where Numba's own files are gone, or nothing can be written, kernels
are compiled when they are needed, as ever.  Functions of users are never called with made-up events.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

import platformdirs
import pyarrow as pa

import cepheid.kernel.compiled
from cepheid.kernel_cache import stamp_files

_logger = logging.getLogger("cepheid.kernel")
_ready: set[str] = set()


def ensure_kernels(stage: str, warm_up: Callable[[], None]) -> None:
    """Return when this machine has on disk what a stage, known by its name, compiles; warm_up: runs it."""
    if stage not in _ready:  # a process asks the disk once
        _ready.add(stage)
        compile_once(platformdirs.user_cache_path("cepheid") / "kernels", name_marker(stage), partial(_try, warm_up))


def _try(warm_up: Callable[[], None]) -> None:
    """Made-up events may be none that a query can work with: then its kernels are compiled when they are needed."""
    try:
        warm_up()
    except Exception as problem:  # noqa: BLE001 (whatever it is, real events will tell)
        _logger.debug("kernels are compiled when they are needed: %s", problem)


def make_up_events(schema: pa.Schema) -> pa.Table:
    """Two events in order of time, of zeros and empty texts; null where there is no such value."""
    columns = []
    for field in schema:
        values = [0, 1] if field.name == "_time" else [0, 0]
        try:
            columns.append(pa.array(values).cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            columns.append(pa.nulls(2, field.type))
    return pa.table(columns, schema=schema)


def name_marker(stage: str) -> str:
    """What tells the compiled kernels of a stage from others."""
    source = stamp_files(Path(str(cepheid.kernel.compiled.__file__)).parent)
    place = (platform.node(), platform.machine(), platform.python_version(), os.environ.get("NUMBA_CACHE_DIR"))
    return hashlib.sha256(repr((stage, source, version("numba"), place)).encode()).hexdigest()[:24]


def compile_once(folder: Path, name: str, compile_all: Callable[[], None]) -> None:
    """Run `compile_all` unless somebody has; one at a time on a machine."""
    marker = folder / name
    if marker.exists():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / "lock"):
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
