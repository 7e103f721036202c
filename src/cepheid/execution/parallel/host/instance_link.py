"""The application's end of an operator instance that is a process: what it was sent, what it answered, its second life.

    encoded batch ─▶ log ─▶ ring ─▶ process ─▶ ring ─▶ reply
                      └── kept until a checkpoint of the process is here that has it

A process that dies is started again from its last checkpoint, and the log since is sent again.  What it had answered
before is not heard twice: it answers once at the last batch that was heard (a boundary), and that answer is dropped.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import Any

import pyarrow as pa

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import RunFailed
from cepheid.execution.parallel.host.instance_process import InstanceSetup, run_instance
from cepheid.execution.parallel.host.message_codec import set_flags
from cepheid.execution.parallel.host.reply_codec import Reply, decode_reply
from cepheid.execution.parallel.host.shared_ring import SharedRing, frame_record

MOST_LIVES = 3  # of a process that dies without having got any further
LOG_BYTES = 4 << 20  # after which a checkpoint is asked for
STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class LinkSetup:
    """Of all instances alike."""

    context: SpawnContext
    happened: Any
    strategy: str
    built: bytes
    includes_end: bool
    schema: pa.Schema
    ring_bytes: int


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """position, settled: of the splitter when the batch was made."""

    number: int
    encoded: bytes
    position: EventName
    settled: EventName


class InstanceLink:
    """heard: the last batch that was answered.  bytes_sent, bytes_heard: through the rings.  lives: its processes.
    busy_s: for how long it has worked.  is_ready: has a process said anything?"""

    def __init__(self, number: int, setup: LinkSetup) -> None:
        self._number, self._setup = number, setup
        self.heard = self.queued = -1
        self.bytes_sent = self.bytes_heard = self.lives = self.recoveries = 0
        self.busy_s, self.is_ready = 0.0, False
        self._log: deque[LoggedBatch] = deque()
        self._log_bytes = 0
        self._asked = False
        self._checkpoint: tuple[int, bytes | None] = (-1, None)
        self._lives_here = 0  # without having got any further
        self._start()

    # --- sending and hearing -----------------------------------------------------------------------------
    def send(self, batch: LoggedBatch) -> None:
        """It goes out as far as there is room, the rest when there is more (pump)."""
        asks = not self._asked and self._log_bytes + len(batch.encoded) > LOG_BYTES
        self._asked |= asks
        self._log.append(batch)
        self._log_bytes += len(batch.encoded)
        self.queued = batch.number
        self._frame(set_flags(batch.encoded, asks, False) if asks else batch.encoded)
        self._write_out()

    def pump(self) -> list[Reply]:
        """Send what there is room for; the answers that are there."""
        self._write_out()
        if self._outbox.take_in():
            self._arrived.release()
        replies = []
        while (record := self._outbox.read_record()) is not None:
            self.bytes_heard += len(record)
            reply = decode_reply(record)
            if reply.failure is not None:
                where = f"the operator failed in instance {self._number}: {reply.failure.sentence}"
                raise RunFailed(f"{where}\n{reply.failure.trace}", hint=reply.failure.hint)
            self.is_ready = True
            self._learn(reply)
            if reply.through > self.heard:
                self.heard, self._lives_here = reply.through, 0
                self.busy_s += reply.busy_s
                replies.append(reply)
        return replies

    def check(self) -> None:
        """Start the process again if it is dead."""
        if self._process.is_alive():
            return
        if self._outbox.take_in():  # its last words: pump reads them
            self._setup.happened.release()
            return
        self._lives_here += 1
        if self._lives_here >= MOST_LIVES:
            code = self._process.exitcode
            raise RunFailed(
                f"operator instance {self._number} died {self._lives_here} times at the same place (exit code {code})",
                hint="see what its operator does to its process: memory, exits, signals",
            )
        self._remove()
        self._start()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    @property
    def is_idle(self) -> bool:
        """Has it answered everything?"""
        return self.heard == self.queued

    @property
    def process_id(self) -> int | None:
        return self._process.pid

    def find_heard(self) -> LoggedBatch | None:
        """The last batch that was answered; None: it is not in the log any more."""
        place = self.heard - self._log[0].number if self._log else -1  # numbers grow by one
        return self._log[place] if place >= 0 else None

    # --- the life of the process -------------------------------------------------------------------------
    def _start(self) -> None:
        setup = self._setup
        through, checkpoint = self._checkpoint
        self._inbox, self._outbox = SharedRing(setup.ring_bytes), SharedRing(setup.ring_bytes)
        self._arrived = setup.context.Semaphore(0)
        schema = setup.schema.serialize().to_pybytes()
        told = InstanceSetup(
            *(setup.strategy, setup.built, setup.includes_end, schema, setup.ring_bytes),
            *(self._inbox.name, self._outbox.name, checkpoint),
        )
        self._process = setup.context.Process(
            target=run_instance,
            args=(told, self._arrived, setup.happened),
            name=f"cepheid-instance-{self._number}",
            daemon=True,
        )
        self._process.start()
        self.lives += 1
        self._asked = False
        self._unsent: deque[memoryview] = deque()
        for batch in self._log:
            if batch.number > through:
                self._frame(set_flags(batch.encoded, False, batch.number == self.heard))

    def stop(self) -> None:
        """It ends by itself, or is made to: when nobody waits any more for what it does."""
        if self.is_idle and self._process.is_alive():
            self._frame(b"")
            self._write_out()
            self._process.join(STOP_S)
        self._remove()

    def _remove(self) -> None:
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(STOP_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
        self._inbox.close()
        self._outbox.close()

    # --- inside ------------------------------------------------------------------------------------------
    def _frame(self, encoded: bytes) -> None:
        self._unsent.append(memoryview(frame_record(encoded)))

    def _write_out(self) -> None:
        sent = 0
        while self._unsent:
            taken = self._inbox.write(self._unsent[0])
            sent += taken
            if taken < len(self._unsent[0]):
                self._unsent[0] = self._unsent[0][taken:]
                break
            self._unsent.popleft()
        if sent:
            self.bytes_sent += sent
            self._arrived.release()

    def _learn(self, reply: Reply) -> None:
        self.recoveries = max(self.recoveries, reply.recoveries)
        if reply.checkpoint is None:
            return
        self._checkpoint, self._asked = (reply.through, reply.checkpoint), False
        while self._log and self._log[0].number < reply.through:
            self._log_bytes -= len(self._log.popleft().encoded)
