"""What `import cepheid` finds first in the Python workers of a cluster: which files are Cepheid there.

    cepheid-DIGEST.zip on the path ─▶ cepheid.py, which is this file
         installed here, and the same source?  ─▶ that: its kernels may be compiled already
         else ─▶ the source of the driver, unpacked once on this machine by whoever comes first

So workers run what the driver runs, whatever is installed where they are.  Numba keeps compiled kernels beside the
source: one place for all executors of a machine, and for the next application, means that they are compiled once.
Only the standard library is used here (and platformdirs, if it is there), as nothing else can be found yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGE = "cepheid"
LISTING = "listing.json"  # in the archive: the digest, and when each file was changed
SOURCE = "source/"  # in the archive: where the package lies


def read_source(folder: Path) -> dict[str, bytes]:
    """The files of a package by their names in it."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.py")}


def digest_source(files: Mapping[str, bytes]) -> str:
    together = hashlib.sha256()
    for name, content in sorted(files.items()):
        together.update(f"{name} {len(content)} ".encode() + content)
    return together.hexdigest()[:24]


def choose_source(archive: Path, home: Path) -> Path:
    """The folder of the package to use: an installed one, if it is the same, or what the archive has."""
    with zipfile.ZipFile(archive) as packed:
        digest = json.loads(packed.read(LISTING))["digest"]
    for folder in (_find_installed(archive), home / digest / PACKAGE):
        if folder is not None and folder.is_dir() and digest_source(read_source(folder)) == digest:
            return folder
    return _unpack(archive, home, digest)


def _find_installed(archive: Path) -> Path | None:
    paths = [path for path in sys.path if Path(path or ".").absolute() != archive.absolute()]
    spec = PathFinder.find_spec(PACKAGE, paths)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _unpack(archive: Path, home: Path, digest: str) -> Path:
    """It appears whole; where nobody may write, or what is there was damaged, beside the archive, for this process."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=home))
    except OSError:
        draft = Path(tempfile.mkdtemp(dir=archive.absolute().parent))
    _unpack_into(archive, draft / PACKAGE)
    try:
        draft.rename(home / digest)
    except OSError:  # somebody was faster
        if digest_source(read_source(home / digest / PACKAGE)) != digest:
            return draft / PACKAGE
        shutil.rmtree(draft, ignore_errors=True)
    return home / digest / PACKAGE


def _unpack_into(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for name, changed_ns in json.loads(packed.read(LISTING))["changed"].items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(packed.read(SOURCE + name))
            os.utime(place, ns=(changed_ns, changed_ns))


def find_home(archive: Path) -> Path:
    """Where shipped source is kept: under the user's cache, or else with the files of this executor."""
    try:
        import platformdirs
    except ImportError:
        return archive.absolute().parent / "cepheid-shipped"
    return platformdirs.user_cache_path(PACKAGE) / "shipped"


def become(folder: Path) -> None:
    """From here on, in this process, `cepheid` is the package in this folder."""
    spec = spec_from_file_location(PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None, "a source file can be loaded"
    assert spec.loader is not None, "a source file can be loaded"
    module = sys.modules[PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == PACKAGE:
    _archive = Path(__file__).parent
    become(choose_source(_archive, find_home(_archive)))
