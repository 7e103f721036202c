"""How kernels are compiled.

No fastmath: sums keep their order.  `nogil`: machines that exchange nothing run in threads.  `_nrt=False`: no
references are counted, which took six sevenths of the time, since kernels read arrays out of tuples; so no kernel makes
an array, they ask for what they need and return.

Only a `kernel` may be called from Python: the others have no entry for it (which halves the time to compile), and such
a call crashes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
ONLY_FROM_KERNELS: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """What Python calls."""
    compiled = njit(cache=True, **OPTIONS)(function)
    # Numba checks only the kernel's own file to see whether its cache is stale; the functions it calls are in others
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, STAMP)  # noqa: SLF001
        _discard_unreadable(index)
    return cast(Function, compiled)


def njit_helper(function: Function) -> Function:
    """What kernels call, seldom."""
    return cast(Function, njit(**ONLY_FROM_KERNELS)(function))


def njit_inlined(function: Function) -> Function:
    """What kernels call often: to hand over twenty arrays costs more than what most of these do."""
    return cast(Function, njit(forceinline=True, **ONLY_FROM_KERNELS)(function))


def inline_in_kernel(function: Function) -> Function:
    """A part of one kernel: is not compiled by itself, which would be done again with each that holds it."""
    return cast(Function, njit(inline="always", **ONLY_FROM_KERNELS)(function))


def _discard_unreadable(index: Any) -> None:
    """An index written by an older release may name classes that no longer exist: Numba would raise, not recompile."""
    try:
        index._load_index()  # noqa: SLF001
    except Exception:  # noqa: BLE001 (whatever unpickling raises)
        Path(index._index_path).unlink(missing_ok=True)  # noqa: SLF001


def _stamp_sources() -> tuple[tuple[str, int, int], ...]:
    here = Path(__file__).parent
    files = [*here.glob("*.py"), here.parent / "layout.py", here.parent / "tally.py"]
    return tuple(sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files))


STAMP = _stamp_sources()
