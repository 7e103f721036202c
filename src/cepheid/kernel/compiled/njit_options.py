"""How functions of the kernel are compiled: kept on disk, and anew whenever any file of the folder changes.

`njit_no_refcount`: without Numba's counting of references.  A kernel that has a dozen tables in a tuple counts whenever
it gets at one of them; that took ten times as long as the work itself.  A function compiled so makes no arrays and
keeps none beyond the call: there is nothing to count.

No kernel touches objects of Python, so all of them let other threads run meanwhile: several operators may be at work at
a time, each on tables of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from cepheid.kernel_cache import stamp_compiled, stamp_files

_F = TypeVar("_F", bound=Callable[..., Any])
_STAMP = stamp_files(Path(__file__).parent)


def njit(**options: Any) -> Callable[[_F], _F]:
    """Numba's own, whose cache knows the other files of the folder."""

    def compile_later(function: _F) -> _F:
        compiled: _F = numba.njit(cache=True, nogil=True, **options)(function)
        stamp_compiled(compiled, _STAMP)
        return compiled

    return compile_later


def njit_no_refcount(function: _F) -> _F:
    return njit(_nrt=False)(function)


def njit_no_refcount_inline(function: _F) -> _F:
    """The same, put in where it is called."""
    return njit(_nrt=False, forceinline=True)(function)
