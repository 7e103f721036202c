"""The clock that measures and paces; tests move one by hand."""

from __future__ import annotations

import time
from typing import Protocol


class Stopwatch(Protocol):
    def now(self) -> float:
        """Seconds since some moment."""
        ...

    def sleep(self, seconds: float) -> None: ...


class WallClock:
    def now(self) -> float:
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
