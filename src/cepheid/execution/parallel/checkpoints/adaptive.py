"""When doing all again would take longer than saving: n * t_proc > t_cp (Equation 4.1)."""

from __future__ import annotations

from cepheid.execution.parallel.checkpoints.checkpoint_model import MOST_EVENTS, Progress


class Adaptive:
    """Knows nothing of times at first: until they are told, the bound on what is kept decides."""

    def is_due(self, progress: Progress, is_speculative: bool) -> bool:  # noqa: ARG002
        return progress.events * progress.process_s > progress.save_s or progress.events >= MOST_EVENTS
