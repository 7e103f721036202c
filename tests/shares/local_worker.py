"""A worker without a process: the same messages and answers, at once.  It may die of any message, as processes do."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from random import Random
from typing import ClassVar

from cepheid.execution.processes.worker import WorkerDied

PEACE = 120  # more messages than a worker that begins again is sent: who dies three times of the same ones is given up


class LocalWorker:
    """deaths: who says of which messages workers die; None: of none.  died: how many did.  peace: so many messages go
    by before the next one may."""

    deaths: ClassVar[Random | None] = None
    died: ClassVar[int] = 0
    peace: ClassVar[int] = 0

    def __init__(self, entry: str, setup: bytes) -> None:
        module, _, function = entry.partition(":")
        self._answer = getattr(import_module(module), function)(setup)
        self._waiting: bytes | None = b""

    def send(self, kind: int, parts: Sequence[bytes]) -> None:
        LocalWorker.peace -= 1
        may_die = LocalWorker.deaths is not None and LocalWorker.peace < 0
        fate = LocalWorker.deaths.random() if may_die and LocalWorker.deaths is not None else 1.0
        if fate >= 0.05:  # it dies before it does anything, or when all is done and nobody has heard
            self._waiting = b"".join(self._answer(kind, b"".join(parts)))
        if fate < 0.1:
            self._waiting, LocalWorker.peace = None, PEACE

    def receive(self) -> bytes:
        if self._waiting is None:
            LocalWorker.died += 1
            raise WorkerDied
        return self._waiting

    def find_exit_code(self) -> int:
        return -9

    def hang_up(self) -> None:
        """Nobody is there."""

    def stop(self) -> None:
        """Nobody is there."""
