"""How far what is computed is behind what has come, and what is settled behind that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.settings import Waiting


@dataclass(frozen=True, slots=True)
class Patience:
    """wait_us: how long events are held back; bound_us: how old what is corrected may be, None: any age, or, with
    `waiting`, no older than what is waited for.  waiting: a rule that follows the stream, instead of wait_us.  stays:
    is what was given out never taken back?  Events that would change it are late, however young they are."""

    wait_us: int
    bound_us: int | None
    waiting: Waiting | None = None
    stays: bool = False

    @property
    def corrects(self) -> bool:
        """May something be computed twice?"""
        return self.bound_us != self.wait_us if self.waiting is None else self.bound_us is not None

    @property
    def is_bounded(self) -> bool:
        """Is there an age beyond which nothing changes?"""
        return self.bound_us is not None or self.waiting is not None

    def without_bound(self) -> Patience:
        """What is older than is waited for is late, whatever it would change."""
        return replace(self, bound_us=self.wait_us if self.waiting is None else None, stays=False)
