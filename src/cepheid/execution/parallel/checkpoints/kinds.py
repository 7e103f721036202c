"""The models there are.  A user's own is any object like them (checkpoint_model.py): it needs no line here."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.execution.parallel.checkpoints.adaptive import Adaptive
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.checkpoints.every_speculative import EverySpeculative

CHECKPOINT_MODELS: dict[str, Callable[..., CheckpointModel]] = {
    "every n events": EveryEvents,
    "every n speculative events": EverySpeculative,
    "adaptive": Adaptive,
}
