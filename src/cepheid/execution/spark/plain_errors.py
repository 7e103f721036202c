"""Mistakes of users that workers find, told without the way through our code.

What a worker raises reaches the user as text, all frames in front of the message.  They help nobody who is to correct a
value: so a CepheidError begins anew where Spark called us.  What is broken on our side keeps its frames.
"""

from __future__ import annotations

from types import TracebackType

from cepheid.errors import CepheidError


class TellPlainly:
    """Around what a worker does for Spark."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, problem: BaseException | None, _frames: TracebackType | None) -> None:
        if isinstance(problem, CepheidError):
            raise problem.with_traceback(None) from None
