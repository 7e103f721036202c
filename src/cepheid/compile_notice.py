"""Compiling is slow and happens once: whoever waits for it is told so, in any process.

Numba says when it compiles a function that is not on disk.  What is quick goes without a word; then comes a line that
says what is going on, and every few seconds another.  They are warnings of the logger "cepheid.kernel", so that they
are seen without any set-up, on the driver as in the workers of Spark, and can be silenced like others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

QUIET_S = 1.0  # what takes less is not worth a word
EVERY_S = 5.0

_logger = logging.getLogger("cepheid.kernel")


class CompileNotice:
    """Counts what is compiled; functions that are compiled for another one count for themselves."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._depth = 0
        self._began = self._spent = 0.0
        self._count = 0
        self._next = QUIET_S

    def begin(self) -> None:
        if self._depth == 0:
            self._began = self._clock()
        self._depth += 1

    def end(self) -> None:
        self._depth -= 1
        self._count += 1
        now = self._clock()
        spent = self._spent + now - self._began
        if spent >= self._next:
            if self._next == QUIET_S:
                self._say("Cepheid compiles its kernels, once on this machine: this takes about half a minute")
            self._say(f"Cepheid has compiled {self._count} functions in {spent:.0f} s")
            self._next = spent + EVERY_S
        if self._depth == 0:
            self._spent = spent


_notice: CompileNotice | None = None


def announce_compiling() -> None:
    """From now on, in this process."""
    global _notice  # noqa: PLW0603 (Numba keeps one list of listeners for a process, too)
    if _notice is not None:
        return
    from numba.core import event

    notice = _notice = CompileNotice(_logger.warning)

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:  # noqa: ARG002
            notice.begin()

        def on_end(self, event: Any) -> None:  # noqa: ARG002
            notice.end()

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
