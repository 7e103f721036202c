"""Cepheid ships itself: workers on other machines need not have it, and never have another version of it.

    driver: the source of this package ─▶ cepheid-DIGEST.zip ─addPyFile, addArtifacts─▶ every executor, also later ones
    worker: import cepheid ─▶ shipped_start.py, which chooses the files

What Cepheid needs (pyarrow, Numba, ...) is not shipped: it is compiled for a machine, and workers must have it
(worker_needs.py).  Spark asks a process on the driver for the state variables of a stream, and gives it none of the
added files: it finds the archive through PYTHONPATH, which functions of ours bring with them (worker_python.py).  That
also gives them Python workers of their own, which have not loaded another Cepheid for a function of the user's.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from cepheid.execution.spark import shipped_start
from cepheid.execution.spark.shipped_start import LISTING, PACKAGE, SOURCE, digest_source, read_source

_shipped: set[str] = set()


def ship(context: Any) -> str | None:
    """Send this package to all executors of a SparkContext; gives where it lies on the driver."""
    archive = _make_own_archive()
    if archive is None:
        return None
    if context.applicationId not in _shipped:
        before = list(sys.path)
        context.addPyFile(str(archive))
        sys.path[:] = before  # this process has it
        _shipped.add(context.applicationId)
    return str(archive)


def ship_over_connect(session: Any) -> None:
    """The same for a session of Spark Connect, whose server decides about everything else."""
    archive = _make_own_archive()
    if archive is not None and session.session_id not in _shipped:
        session.addArtifacts(str(archive), pyfile=True)
        _shipped.add(session.session_id)


@cache
def _make_own_archive() -> Path | None:
    return make_archive(platformdirs.user_cache_path("cepheid") / "shipped")


def make_archive(home: Path) -> Path | None:
    """This package as one file, made once; None: it came in an archive, which users give to workers, too."""
    folder = Path(shipped_start.__file__).parents[2]
    if not folder.is_dir():
        return None
    files = read_source(folder)
    digest = digest_source(files)
    changed = {name: (folder / name).stat().st_mtime_ns for name in files}
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError:
        home = Path(tempfile.mkdtemp(prefix="cepheid-"))
    place = home / f"cepheid-{digest}.zip"
    if not place.exists():
        _write(place, files, json.dumps({"digest": digest, "changed": changed}))
    return place


def _write(place: Path, files: dict[str, bytes], listing: str) -> None:
    """It appears whole."""
    with (
        tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        packed.write(Path(shipped_start.__file__), f"{PACKAGE}.py")
        packed.writestr(LISTING, listing)
        for name, content in sorted(files.items()):
            packed.writestr(SOURCE + name, content)
    Path(draft.name).chmod(0o644)
    Path(draft.name).replace(place)
