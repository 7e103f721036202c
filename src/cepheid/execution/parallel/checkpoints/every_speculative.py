"""Before every so manieth speculative event; with 1, as often as [MP13b].  And whenever many events have come since."""

from __future__ import annotations

from cepheid.errors import InvalidInput
from cepheid.execution.parallel.checkpoints.checkpoint_model import MOST_EVENTS, Progress


class EverySpeculative:
    def __init__(self, count: int = 1) -> None:
        if count < 1:
            raise InvalidInput(f"a checkpoint every {count} speculative events", hint="give 1 or more")
        self._count = count

    def is_due(self, progress: Progress, is_speculative: bool) -> bool:
        is_nth = is_speculative and progress.speculative + 1 >= self._count
        return is_nth or progress.events >= MOST_EVENTS
