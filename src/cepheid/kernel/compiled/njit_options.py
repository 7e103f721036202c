"""Compile functions without Numba's counting of references.

A kernel that has a dozen tables in a tuple counts references whenever it gets at one of them; that took ten times as
long as the work itself.  A function compiled here makes no arrays and keeps none beyond the call: there is nothing to
count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

_F = TypeVar("_F", bound=Callable[..., Any])
_njit: Any = njit  # its stubs do not know `_nrt`, which Numba itself uses for functions of this sort


def njit_no_refcount(function: _F) -> _F:
    compiled: _F = _njit(_nrt=False, cache=True)(function)
    return compiled


def njit_no_refcount_inline(function: _F) -> _F:
    """The same, put in where it is called."""
    compiled: _F = _njit(_nrt=False, cache=True, forceinline=True)(function)
    return compiled
