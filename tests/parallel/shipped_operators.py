"""Operators that travel to processes: they are found there by the name of this file."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.messages import Match


def read_sort(event: Event) -> str:
    return event.data["sort"]


class WholeWindow:
    """All events of a window, and on the way each "a" with the number of events before it."""

    def begin(self) -> list[EventName]:
        return []

    def process(self, event: Event, data: list[EventName]) -> Iterable[Match]:
        data.append(event.name)
        return [Match((data[0], event.name), len(data))] if event.data["sort"] == "a" else []

    def finish(self, data: list[EventName]) -> Iterable[Match]:
        return [Match(tuple(data), "whole")] if data else []

    def clone(self, data: list[EventName]) -> list[EventName]:
        return list(data)


class Failing(WholeWindow):
    def process(self, event: Event, data: list[EventName]) -> Iterable[Match]:
        if event.time == 50:
            raise ZeroDivisionError("fifty")
        return super().process(event, data)


class DyingOnce(WholeWindow):
    """Kills its process with an event, unless a file says that it did so."""

    def __init__(self, path: str, time: int) -> None:
        self.path, self.time = path, time

    def process(self, event: Event, data: list[EventName]) -> Iterable[Match]:
        if event.time == self.time and not os.path.exists(self.path):  # noqa: PTH110
            with open(self.path, "w"):  # noqa: PTH123
                os.kill(os.getpid(), signal.SIGKILL)
        return super().process(event, data)


class DyingAlways(WholeWindow):
    def process(self, event: Event, data: list[EventName]) -> Iterable[Match]:
        if event.time == 50:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().process(event, data)


class Unwelcome(WholeWindow):
    """Leaves, and cannot arrive."""

    def __getstate__(self) -> dict[str, int]:
        return {"x": 1}

    def __setstate__(self, state: dict[str, int]) -> None:
        raise LookupError("not here")
