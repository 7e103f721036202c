"""Measure in a process of its own, so that memory is that of the thing measured."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any


def measure_in_new_process(measure: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of a function in a new process."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(measure, arguments)
