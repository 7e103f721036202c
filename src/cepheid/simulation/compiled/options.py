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

from cepheid.kernel_cache import stamp_compiled, stamp_files

Function = TypeVar("Function", bound=Callable[..., Any])
STAMP = stamp_files(Path(__file__).parent, *(Path(__file__).parent.parent / name for name in ("layout.py", "tally.py")))
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
ONLY_FROM_KERNELS: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """What Python calls."""
    compiled = njit(cache=True, **OPTIONS)(function)
    stamp_compiled(compiled, STAMP)
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
