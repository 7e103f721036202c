"""How much of a processor's time a query needs: the share of the time between pushes that pushes take.

push ─▶ seconds ─┐
push ─▶ seconds ─┴▶ after each span ─▶ load, from 0 (idle) to 1 (all of it)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SPAN_S = 0.25  # between two answers


class ProcessorLoad:
    """now: seconds."""

    def __init__(self, now: Callable[[], float], span_s: float = SPAN_S) -> None:
        self._now, self._span_s = now, span_s
        self._since = now()
        self._busy_s = 0.0

    @contextmanager
    def measuring(self) -> Iterator[None]:
        begun = self._now()
        yield
        self._busy_s += self._now() - begun

    def take(self) -> float | None:
        """The load since it was last told; None: that was just now."""
        now = self._now()
        if now - self._since < self._span_s:
            return None
        load = self._busy_s / (now - self._since)
        self._since, self._busy_s = now, 0.0
        return load
