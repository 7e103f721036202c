"""The application's end of a process that has a share of a query: what it was sent, what it answered, its second life.

    message ─▶ process ─▶ answer
       └── kept until a snapshot of the process is here that has it

A process that dies is started again from its last snapshot, and what it was sent since is sent again; what it had
answered before is not heard twice.  The same messages give the same answers: a share has no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from cepheid.errors import RunFailed
from cepheid.execution.processes.worker import Worker, WorkerDied
from cepheid.execution.shares.share_messages import FINISH, PUSH, TELL, Answer, Push, Question, read_answer, write_push

MOST_DEATHS = 3  # of a process, at one message
KEPT_BYTES = 16 << 20  # of messages, after which a snapshot is asked for: or four times as much as that takes
ENTRY = "cepheid.execution.shares.share_process:open_share"


@dataclass(frozen=True, slots=True)
class Message:
    kind: int
    body: bytes


class ShareLink:
    """lives: processes that there were."""

    open_worker: ClassVar[Callable[[str, bytes], Worker]] = Worker

    def __init__(
        self,
        number: int,
        make_setup: Callable[[bytes | None], bytes],
        schemas: Mapping[str, pa.Schema],
        snapshot: bytes | None,
    ) -> None:
        """make_setup: what a process is told, given the snapshot that it goes on from.  schemas: of rows, by query."""
        self._number, self._make_setup, self._schemas = number, make_setup, schemas
        self._snapshot = snapshot
        self._kept: deque[Message] = deque()  # since the snapshot
        self._kept_bytes = 0
        self._deaths = 0  # at this message
        self.lives = 0
        self._is_ready = False
        self._start()

    # --- messages and answers ----------------------------------------------------------------------------
    def wait_until_ready(self) -> None:
        """The process has loaded what it needs."""
        if not self._is_ready:
            self._hear()

    def push(self, push: Push) -> None:
        known = 0 if self._snapshot is None else len(self._snapshot)
        asks = self._kept_bytes > max(KEPT_BYTES, 4 * known)
        self._send(Message(PUSH, write_push(push, asks_snapshot=asks)))

    def finish(self, newest: Mapping[str, int]) -> None:
        """newest: of each stream, in the end."""
        self._send(Message(FINISH, write_push(Push({}, {}, newest), asks_snapshot=False)))

    def ask(self, question: Question) -> None:
        """Late events are taken out, so that it matters when; no other question changes anything."""
        self._send(Message(TELL, question.encode()))

    def hear_rows(self) -> Answer:
        """The answer to a push, or to the end."""
        answer = read_answer(self._hear(), self._schemas)
        if answer.snapshot is not None:
            self._snapshot = answer.snapshot
            self._kept.clear()
            self._kept_bytes = 0
        return answer

    def hear_answer(self) -> bytes:
        """The answer to a question."""
        answer = self._hear()
        if self._kept[-1].body != b"late":
            self._kept_bytes -= len(self._kept.pop().body)
        return answer

    def _send(self, message: Message) -> None:
        assert self._is_ready, "nobody is told anything before"
        self._kept.append(message)
        self._kept_bytes += len(message.body)
        self.worker.send(message.kind, [message.body])

    def _hear(self) -> bytes:
        """The answer to what was sent last, by whoever lives to give it."""
        while True:
            try:
                answer = self.worker.receive()
                if self._is_ready:
                    self._deaths = 0
                    return answer
                self._is_ready = True
                for place, message in enumerate(self._kept):
                    self.worker.send(message.kind, [message.body])
                    if place < len(self._kept) - 1:
                        self.worker.receive()  # it was heard before
                if not self._kept:
                    return b""
            except WorkerDied:
                self._start_again()

    # --- the life of the process -------------------------------------------------------------------------
    def _start(self) -> None:
        self.worker = ShareLink.open_worker(ENTRY, self._make_setup(self._snapshot))
        self._is_ready = False
        self.lives += 1

    def _start_again(self) -> None:
        self._deaths += 1
        if self._deaths == MOST_DEATHS:
            raise RunFailed(
                f"the process of engine {self._number} died {MOST_DEATHS} times at the same place "
                f"(exit code {self.worker.find_exit_code()})",
                hint="-9: somebody killed it, mostly for want of memory; else see what functions of your own do to it",
            )
        self.worker.stop()
        self._start()
