"""Garbage is collected later while modules are loaded and queries compiled, and then as before."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from cepheid.collector import collecting_later, loading_modules


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("pause", [collecting_later, loading_modules])
def test_the_collector_rests_meanwhile_and_is_then_as_it_was(pause: Callable[[], AbstractContextManager[None]]) -> None:
    for switch in (gc.enable, gc.disable):
        switch()
        before = gc.isenabled()
        with pause():
            assert not gc.isenabled()
        assert gc.isenabled() == before
        with pytest.raises(ValueError, match="inside"), pause():
            raise ValueError("inside")
        assert gc.isenabled() == before


def test_what_was_loaded_is_old_and_can_still_be_collected() -> None:
    gc.enable()
    gc.collect()
    with loading_modules():
        made: list[Any] = [[] for _ in range(5000)]
    assert not any(any(each is kept for kept in gc.get_objects(generation=0)) for each in made[:10])
    assert gc.get_freeze_count() == 0
    made.append(made)
    del made
    assert gc.collect() > 5000
