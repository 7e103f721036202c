"""The rules there are.  To add one: a file with a class like those (wait.py), and its line here."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.disorder.waits.growing import GrowingWait
from cepheid.disorder.waits.wait import Wait
from cepheid.settings import Waiting, WaitRule

WAITS: dict[WaitRule, Callable[[Waiting], Wait]] = {
    "growing": lambda _: GrowingWait(),
}


def make_wait(waiting: Waiting) -> Wait:
    return WAITS[waiting.rule](waiting)
