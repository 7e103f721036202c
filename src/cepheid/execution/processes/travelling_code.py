"""Code of users on its way to other processes: by the name of its module where it can be imported there, else as it is.

What stands in a script, a notebook or a lambda cannot be imported by name, and cloudpickle knows.  A module that was
loaded in a way of its own (a test, a plugin) has a name, but nobody else finds it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType

import cloudpickle


def write_code(*values: object) -> bytes:
    """For `pickle.loads` in a process that searches the same folders for modules."""
    with _by_value([module for value in values if (module := _find_module(value)) is not None]):
        written: bytes = cloudpickle.dumps(values, protocol=5)
    return written


def _find_module(value: object) -> ModuleType | None:
    """That of its class, if nobody else would find it."""
    name = type(value).__module__
    module = sys.modules.get(name)
    is_there = module is None or name in ("__main__", "builtins") or PathFinder.find_spec(name.partition(".")[0])
    return None if is_there else module


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    known = cloudpickle.list_registry_pickle_by_value()
    fresh = {module.__name__: module for module in modules if module.__name__ not in known}
    for module in fresh.values():
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in fresh.values():
            cloudpickle.unregister_pickle_by_value(module)
