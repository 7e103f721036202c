"""Compiled functions are kept on disk by Numba, which sees that one is stale only by its own file.

What it calls lies in other files, and may have been put into it when it was compiled.  So each function here is stamped
with all files of its folder: a new release, or an edit anywhere among them, compiles anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cepheid.compile_notice import announce_compiling

Stamp = tuple[tuple[str, int, int], ...]


def stamp_files(folder: Path, *others: Path) -> Stamp:
    """What tells one state of the source from another: names, times and sizes of a folder's files, and of others."""
    files = [*folder.rglob("*.py"), *others]
    return tuple(sorted((str(file.name), file.stat().st_mtime_ns, file.stat().st_size) for file in files))


def stamp_compiled(compiled: Any, stamp: Stamp) -> None:
    """Trust what is on disk only if it was compiled from the same files, and say so when it has to be compiled."""
    announce_compiling()
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if not hasattr(index, "_source_stamp"):  # caching is switched off, or Numba keeps it otherwise
        return
    index._source_stamp = (index._source_stamp, stamp)  # noqa: SLF001 (Numba has no public way)
    _ignore_unreadable(index)


def _ignore_unreadable(index: Any) -> None:
    """An index written by an older release may name classes that no longer exist: Numba would raise, not recompile."""
    load = index._load_index  # noqa: SLF001

    def load_or_nothing() -> dict[Any, Any]:
        try:
            known: dict[Any, Any] = load()
        except Exception:  # noqa: BLE001 (whatever unpickling raises)
            return {}
        return known

    index._load_index = load_or_nothing  # noqa: SLF001
