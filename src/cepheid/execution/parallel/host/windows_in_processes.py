"""Windows in parallel processes: the splitter and the merger in the application, one process for each instance.

    with WindowsInProcesses(CountPredicate(100, 20), operator, schema, instances=4) as windows:
        for change in windows.push(arrivals): ...      what has become known since
        for change in windows.drain(): ...             all that follows from what was pushed

Messages travel in batches, as Arrow buffers in shared memory.  The rings are bounded: whoever pushes faster than
instances work waits in `push`.  Predicate and scheduler run in the application; operator and checkpoint model of
instances travel to their processes once, by their code: an operator may be defined anywhere.
"""

from __future__ import annotations

import pickle
import time
import weakref
from collections.abc import Iterable
from multiprocessing import get_context
from types import TracebackType
from typing import Self

import pyarrow as pa

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput, RunFailed
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.events import BEFORE_ALL, Arrival, Event
from cepheid.execution.parallel.host.instance_link import InstanceLink, LinkSetup, LoggedBatch
from cepheid.execution.parallel.host.instance_process import PATIENCE_S
from cepheid.execution.parallel.host.message_codec import MessageBatch, MessageWriter
from cepheid.execution.parallel.merger import MatchChange, Merger
from cepheid.execution.parallel.messages import Envelope, Sending
from cepheid.execution.parallel.operators.operator import Operator
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.schedulers.scheduler import Scheduler
from cepheid.execution.parallel.strategies import STRATEGIES
from cepheid.execution.processes.travelling_code import write_code

MOST_MESSAGES = 1_000  # of a batch
RING_BYTES = 1 << 20
FORGET_EVERY = 64  # pushes


class WindowsInProcesses:
    """schema: of the data of events, which are mappings from its columns.  checkpoints: of the splitter, and of the
    instances unless they have a model of their own."""

    def __init__(
        self,
        predicate: Predicate,
        operator: Operator,
        schema: pa.Schema,
        *,
        instances: int = 2,
        scheduler: Scheduler | None = None,
        checkpoints: CheckpointModel | None = None,
        instance_checkpoints: CheckpointModel | None = None,
        strategy: str = "open box",
        ring_bytes: int = RING_BYTES,
    ) -> None:
        if strategy not in STRATEGIES:
            raise InvalidInput(f'there is no strategy "{strategy}"', hint=f"known: {', '.join(STRATEGIES)}")
        model = checkpoints or EveryEvents()
        built = _pickle(operator, instance_checkpoints or model)
        self.splitter = STRATEGIES[strategy].splitter(
            predicate, instances, scheduler or RoundRobin(), model, time.perf_counter
        )
        context = get_context("spawn")
        self._happened = context.Semaphore(0)
        self._writer = MessageWriter(schema)
        setup = LinkSetup(
            *(context, self._happened, strategy, built, predicate.includes_end, schema, ring_bytes),
        )
        self._merger = Merger()
        self._waiting: list[list[Envelope]] = [[] for _ in range(instances)]
        self._pushes = 0
        self._busy_s = 0.0
        self.links: list[InstanceLink] = []
        self._end = weakref.finalize(self, _stop_all, self.links)  # whoever forgets to close leaves nothing behind
        try:
            for number in range(instances):
                self.links.append(InstanceLink(number, setup))
        except BaseException:
            self.close()
            raise

    # --- events in, matches out --------------------------------------------------------------------------
    def push(self, arrivals: Iterable[Arrival]) -> list[MatchChange]:
        """Events as a consistency manager let them go; changes of matches that are known by now, in order."""
        self.check_open()
        began = time.perf_counter()
        for arrival in arrivals:
            self._collect(self.splitter.receive(arrival))
        self._step()
        self._pump()
        self._pushes += 1
        if self._pushes % FORGET_EVERY == 0:
            self._forget()
        changes = self._merger.release(self._find_settled())
        self._busy_s += time.perf_counter() - began
        return changes

    def drain(self) -> list[MatchChange]:
        """Wait until instances have done all that they were sent; every change that is known then."""
        self.check_open()
        began = time.perf_counter()
        self._step()
        while not all(link.is_idle for link in self.links):
            self._wait()
        changes = self._merger.release()
        self._busy_s += time.perf_counter() - began
        return changes

    def await_processes(self) -> None:
        """Wait until all are there, so that the first events need not."""
        self.check_open()
        while not all(link.is_ready for link in self.links):
            self._wait()

    def take_late(self) -> list[Event]:
        """Events that came too late to be put right, since somebody asked."""
        return self.splitter.take_late()

    @property
    def bytes_sent(self) -> int:
        """To instances, so far."""
        return sum(link.bytes_sent for link in self.links)

    @property
    def busy_s(self) -> list[float]:
        """For how long the application and each instance have worked so far."""
        return [self._busy_s, *(link.busy_s for link in self.links)]

    def tell_sent(self) -> tuple[int, ...]:
        """How far each instance has been sent messages: once `is_handled`, all that was pushed is acknowledged."""
        return tuple(link.queued for link in self.links)

    def is_handled(self, sent: tuple[int, ...]) -> bool:
        return all(link.heard >= number for link, number in zip(self.links, sent, strict=True))

    def close(self) -> None:
        """End all processes and free their memory; may be called twice."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- inside ------------------------------------------------------------------------------------------
    def _step(self) -> None:
        """All that the splitter can do."""
        while True:
            sendings = self.splitter.step()
            if sendings is not None:
                self._collect(sendings)
                continue
            was_blocked = self.splitter.is_blocked  # answers may come in while we send
            self._flush()
            if not was_blocked:
                return
            while self.splitter.is_blocked:
                self._wait()

    def _collect(self, sendings: list[Sending]) -> None:
        for instance, envelope in sendings:
            self._waiting[instance].append(envelope)
            if len(self._waiting[instance]) >= MOST_MESSAGES:
                self._send(instance)
                self._pump()

    def _flush(self) -> None:
        for instance, envelopes in enumerate(self._waiting):
            if envelopes:
                self._send(instance)
        self._writer.forget()

    def _send(self, instance: int) -> None:
        link, envelopes = self.links[instance], self._waiting[instance]
        self._waiting[instance] = []
        number = link.queued + 1
        encoded = self._writer.write(MessageBatch(number, False, False, envelopes))
        link.send(LoggedBatch(number, encoded, self.splitter.position, self.splitter.first_open))
        while link.has_unsent:  # back-pressure
            self._wait()

    def _wait(self) -> None:
        began = time.perf_counter()
        self._happened.acquire(timeout=PATIENCE_S)
        self._busy_s -= time.perf_counter() - began
        while self._happened.acquire(block=False):
            pass
        self._pump()
        for link in self.links:
            link.check()

    def _pump(self) -> None:
        try:
            for number, link in enumerate(self.links):
                for reply in link.pump():
                    self.splitter.hear(number, reply.handled, reply.answers)
                    self._merger.take(reply.findings)
        except RunFailed:
            self.close()
            raise

    def _find_settled(self) -> EventName:
        """Up to here all instances have done all that there was."""
        heard = [link.find_heard() for link in self.links if not link.is_idle]
        places = [batch.position for batch in heard if batch is not None]
        if len(places) < len(heard):
            return BEFORE_ALL
        return min([*places, self.splitter.position])

    def _forget(self) -> None:
        heard = [link.find_heard() for link in self.links if not link.is_idle]
        places = [batch.settled for batch in heard if batch is not None]
        if len(places) == len(heard):
            self._merger.forget(min([*places, self.splitter.first_open]))

    def check_open(self) -> None:
        if not self._end.alive:
            raise InvalidInput("these windows are closed", hint="open new ones")


def _stop_all(links: list[InstanceLink]) -> None:
    for link in links:
        link.stop()


def _pickle(operator: Operator, model: CheckpointModel) -> bytes:
    try:
        return write_code(operator, model)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        hint = "it must not hold files, locks or connections: open them when they are first used"
        raise InvalidInput(f"the operator cannot be sent to a process: {problem}", hint=hint) from problem
