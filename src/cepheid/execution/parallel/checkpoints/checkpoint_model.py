"""What a component asks a checkpoint model before each event: save the state first?

Seldom: after a late event much is done again, and much is kept until then.  Often: much time goes into saving.  Each
component has a model of its own, and what it knows of itself (Progress) is told, so that a model has no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MOST_EVENTS = 1_000  # without a checkpoint: what has come since is kept, and would eat up all memory


@dataclass(slots=True)
class Progress:
    """Since the last checkpoint: events handled; how many of them speculative.  And on average, how long it takes to
    handle an event, and to save the state; 0: not known."""

    events: int = 0
    speculative: int = 0
    process_s: float = 0.0
    save_s: float = 0.0
    _processed: int = 0
    _saved: int = 0

    def count(self, is_speculative: bool) -> None:
        self.events += 1
        self.speculative += is_speculative

    def restart(self) -> None:
        self.events = self.speculative = 0

    def learn_process(self, seconds: float) -> None:
        self._processed += 1
        self.process_s += (seconds - self.process_s) / self._processed

    def learn_save(self, seconds: float) -> None:
        self._saved += 1
        self.save_s += (seconds - self.save_s) / self._saved


class CheckpointModel(Protocol):
    def is_due(self, progress: Progress, is_speculative: bool) -> bool:
        """is_speculative: the event that comes next, which progress does not count yet."""
        ...
