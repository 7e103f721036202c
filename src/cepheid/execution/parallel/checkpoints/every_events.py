"""After so many events."""

from __future__ import annotations

from cepheid.errors import InvalidInput
from cepheid.execution.parallel.checkpoints.checkpoint_model import Progress


class EveryEvents:
    def __init__(self, count: int = 50) -> None:
        if count < 1:
            raise InvalidInput(f"a checkpoint every {count} events", hint="give 1 or more")
        self._count = count

    def is_due(self, progress: Progress, is_speculative: bool) -> bool:  # noqa: ARG002
        return progress.events >= self._count
