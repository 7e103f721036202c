"""What a source may hand over at most: so many events a second, whatever has piled up.

A latency that is measured from here on has no part of what waited because nobody could keep up.
"""

from __future__ import annotations

import math

from cepheid.bench.disorder.delays.delay import SECOND_NS
from cepheid.errors import InvalidInput

ROUNDING = 1e-9  # of an event


class SourceLimiter:
    """at_once: how many may go together after a rest."""

    def __init__(self, rate_per_s: float, at_once: int = 1) -> None:
        if not rate_per_s > 0 or at_once < 1:
            told = f"a limit of {rate_per_s!r} events a second, {at_once} at once"
            raise InvalidInput(told, hint="give a rate above 0, and 1 or more at once")
        self._each_ns = SECOND_NS / rate_per_s
        self._ahead_ns = (at_once - 1) * self._each_ns  # by so much events may go before their turn
        self._turn_ns = 0.0  # of the next event, if all came at the rate

    def take(self, wanted: int, now_ns: int) -> int:
        """How many of the events that are due may go now."""
        turn = max(self._turn_ns, now_ns)  # what was not used is lost
        early = now_ns + self._ahead_ns - turn
        count = 0 if early < 0 else min(wanted, int(early / self._each_ns + ROUNDING) + 1)
        if count:
            self._turn_ns = turn + count * self._each_ns
        return count

    def wait_ns(self, now_ns: int) -> int:
        """How long until one more may go."""
        return max(0, math.ceil(self._turn_ns - self._ahead_ns - now_ns))
