"""The main function of a process that is an operator instance.

    ring of messages ─▶ all batches that are there ─▶ take, take, ... work, work, ... ─▶ ring of replies

All that waits is taken before work begins, so that late events overtake.  A reply is the difference that its batches
made, whatever number of them it answers: after a failure the same batches give the same differences.
"""

from __future__ import annotations

import pickle
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from typing import Any

import pyarrow as pa

from cepheid.errors import CepheidError
from cepheid.execution.parallel.host.message_codec import MessageBatch, decode_messages
from cepheid.execution.parallel.host.reply_codec import Failure, Reply, encode_reply
from cepheid.execution.parallel.host.shared_ring import SharedRing, frame_record
from cepheid.execution.parallel.instance import OperatorInstance
from cepheid.execution.parallel.messages import Finding
from cepheid.execution.parallel.strategies import STRATEGIES

PATIENCE_S = 0.5  # after which a process that waits looks whether the application is alive
MOST_BATCHES = 16  # that are taken in one go


@dataclass(frozen=True, slots=True)
class InstanceSetup:
    """What a process is started with; built: the operator and the checkpoint model, as a pickle."""

    strategy: str
    built: bytes
    includes_end: bool
    schema: bytes
    ring_bytes: int
    inbox: str
    outbox: str
    checkpoint: bytes | None


def run_instance(setup: InstanceSetup, arrived: Any, happened: Any) -> None:
    """arrived: a semaphore that says that there is something to read or room to write.  happened: the same for the
    application."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the application, which ends us
    inbox, outbox = SharedRing(setup.ring_bytes, setup.inbox), SharedRing(setup.ring_bytes, setup.outbox)
    try:
        _Process(setup, inbox, outbox, arrived, happened).run()
    finally:
        inbox.close()
        outbox.close()


class _Process:
    def __init__(
        self, setup: InstanceSetup, inbox: SharedRing, outbox: SharedRing, arrived: Any, happened: Any
    ) -> None:
        self._inbox, self._outbox, self._arrived, self._happened = inbox, outbox, arrived, happened
        self._is_over = False
        self._setup = setup

    def run(self) -> None:
        try:
            self._build(self._setup)
        except Exception as problem:  # noqa: BLE001 (as in _answer)
            self._write(encode_reply(Reply(-1, 0, 0, [], [], failure=_describe(problem))))
            return
        if not self._write(encode_reply(Reply(-1, 0, 0, [], []))):  # it is there
            return
        while not self._is_over:
            batches = self._read_batches()
            if not batches:
                return
            if not self._write(encode_reply(self._answer(batches))):
                return

    def _build(self, setup: InstanceSetup) -> None:
        self._schema = pa.ipc.read_schema(pa.py_buffer(setup.schema))
        operator, model = pickle.loads(setup.built)
        self._instance: OperatorInstance = STRATEGIES[setup.strategy].instance(
            operator, model, setup.includes_end, time.perf_counter
        )
        if setup.checkpoint is not None:
            self._instance.read_state(setup.checkpoint)

    def _answer(self, batches: list[MessageBatch]) -> Reply:
        instance, through = self._instance, batches[-1].number
        before, findings, began = instance.handled, list[Finding](), time.perf_counter()
        try:
            for batch in batches:
                for envelope in batch.envelopes:
                    instance.receive(envelope)
            _exhaust(instance.take, findings)
            _exhaust(instance.work, findings)
            asked = any(batch.asks_checkpoint for batch in batches)
            checkpoint = instance.write_state() if asked else None
        except Exception as problem:  # noqa: BLE001 (whatever the operator of a user raises is told in the application)
            return Reply(through, 0, 0, [], [], failure=_describe(problem))
        handled = instance.handled - before
        busy_s = time.perf_counter() - began
        answers = instance.take_replies()
        return Reply(through, handled, instance.recoveries, findings, answers, checkpoint, busy_s=busy_s)

    def _read_batches(self) -> list[MessageBatch]:
        """At least one; none: it is over."""
        batches: list[MessageBatch] = []
        while len(batches) < MOST_BATCHES:
            if self._inbox.take_in():
                self._happened.release()
            record = self._inbox.read_record()
            if record is None:
                if batches:
                    break
                if not self._wait():
                    return []
            elif not record:
                self._is_over = True
                return batches
            else:
                batches.append(decode_messages(record, self._schema))
                if batches[-1].is_boundary:
                    break
        return batches

    def _write(self, reply: bytes) -> bool:
        rest = memoryview(frame_record(reply))
        while True:
            rest = rest[self._outbox.write(rest) :]
            self._happened.release()
            if not rest:
                return True
            if not self._wait():
                return False

    def _wait(self) -> bool:
        """Until something may have happened; false: the application is gone."""
        if self._arrived.acquire(timeout=PATIENCE_S):
            return True
        parent = parent_process()
        return parent is not None and parent.is_alive()


def _exhaust(act: Callable[[], list[Finding] | None], findings: list[Finding]) -> None:
    while (found := act()) is not None:
        findings += found


def _describe(problem: Exception) -> Failure:
    hint = "its begin(), process(event, data), finish(data) and clone(data) must not raise"
    if isinstance(problem, CepheidError):
        hint = problem.hint or hint
        return Failure(f"{problem.code}: {problem.message}", traceback.format_exc(), hint)
    return Failure(f"{type(problem).__name__}: {problem}", traceback.format_exc(), hint)
