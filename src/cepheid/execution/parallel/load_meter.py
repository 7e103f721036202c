"""How busy components were of late, from how long they have worked so far: what follows the load asks for (3.2.2).

busy so far, in seconds     [0.40, 1.90, 0.10]   a span later   [0.45, 2.80, 0.10]   span 1 s
loads                                                           [0.05, 0.90, 0.00]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

SPAN_S = 0.1


class LoadMeter:
    """now: seconds."""

    def __init__(self, now: Callable[[], float], span_s: float = SPAN_S) -> None:
        self._now, self._span_s = now, span_s
        self._since = now()
        self._before: list[float] = []

    def take(self, busy_s: Sequence[float]) -> list[float] | None:
        """The load of each component since it was last told; None: that was just now."""
        span = self._now() - self._since
        if span < self._span_s:
            return None
        before = self._before or [0.0] * len(busy_s)
        self._since, self._before = self._since + span, list(busy_s)
        return [min(1.0, (now - then) / span) for now, then in zip(busy_s, before, strict=True)]
