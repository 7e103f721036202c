"""An operator of a user's own over windows, in several processes: what `cep.ParallelWindows` is.

push(table) ─▶ consistency manager ─▶ splitter, instances, merger ─▶ changes of matches
                how long events are      (host/windows_in_processes.py)
                held: `disorder`
                      ▲ loads of all components, if the speculation factor is adaptive
"""

from __future__ import annotations

import time as clock
from collections.abc import Collection, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from cepheid.disorder.consistency_manager import ConsistencyManager, EventName, Released
from cepheid.disorder.speculation import LoadZone, Speculation, follow_load
from cepheid.disorder.waits.growing import GrowingWait
from cepheid.disorder.waits.kinds import make_wait
from cepheid.disorder.waits.wait import Wait
from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.event_time import in_microseconds
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel
from cepheid.execution.parallel.event_tables import EventColumns, EventTables
from cepheid.execution.parallel.events import Arrival, Event, read_release
from cepheid.execution.parallel.host.windows_in_processes import WindowsInProcesses
from cepheid.execution.parallel.load_meter import LoadMeter
from cepheid.execution.parallel.merger import MatchChange
from cepheid.execution.parallel.operators.operator import Operator
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.schedulers.scheduler import Scheduler
from cepheid.lateness import Disorder, check_disorder
from cepheid.settings import Waiting

AT_ONCE = 1_000  # events, after which changes are collected and the speculation factor follows the load
GROWING = Disorder(wait="growing", bound="1 minute", emit="changes")


class ParallelWindows:
    """predicate: where windows start and end.  operator: begin, process, finish and clone.  events: the schema of the
    tables that are pushed, or one of them.

    time, source, number: columns that tell an event.  clock_sources: sources whose events say how far time has come;
    None: all do.  instances: processes.  scheduler: who gets the next window; None: one after the other.  checkpoints:
    when the splitter saves its state, and the instances, unless they have a model of their own; None: every 50 events.
    strategy: "open box" or "black box".  disorder: how long events are held back, how late they may be, and how much
    is speculated; None: as long as the latest so far was late, up to a minute.  zone: which loads an adaptive
    speculation aims at.
    """

    def __init__(
        self,
        predicate: Predicate,
        operator: Operator,
        events: Any,
        *,
        time: str = "ts",
        source: str | None = None,
        number: str | None = None,
        clock_sources: Collection[int] | None = None,
        instances: int = 2,
        scheduler: Scheduler | None = None,
        checkpoints: CheckpointModel | None = None,
        instance_checkpoints: CheckpointModel | None = None,
        strategy: str = "open box",
        disorder: Disorder | None = None,
        zone: LoadZone | None = None,
    ) -> None:
        _check_parts(predicate, operator, scheduler, checkpoints, instance_checkpoints)
        self._tables = EventTables(events, EventColumns(time=time, source=source, number=number))
        waiting, self._bound_us = _read_disorder(disorder)
        self._manager = ConsistencyManager(clock_sources, _make_wait(waiting, clock_sources))
        self._follows_load = waiting.speculation is None
        self._speculation = Speculation(1.0 if waiting.speculation is None else waiting.speculation)
        self._manager.speculation = self._speculation.factor
        self._zone, self._meter = zone or LoadZone(), LoadMeter(clock.perf_counter)
        self._held: dict[EventName, Any] = {}
        self._windows = WindowsInProcesses(
            *(predicate, operator, self._tables.schema),
            instances=_check_instances(instances),
            scheduler=scheduler,
            checkpoints=checkpoints,
            instance_checkpoints=instance_checkpoints,
            strategy=strategy,
        )

    def push(self, table: Any) -> list[MatchChange]:
        """Events in the order of their arrival; changes of matches that are known by now."""
        self._windows.check_open()
        events = self._tables.read(table)
        changes: list[MatchChange] = []
        for begin in range(0, len(events), AT_ONCE):
            changes += self._windows.push(self._release(events[begin : begin + AT_ONCE]))
            self._follow_load()
        return changes

    def drain(self) -> list[MatchChange]:
        """Wait until all is done that follows from events that were let go."""
        return self._windows.drain()

    def finish(self) -> list[MatchChange]:
        """No more events: those that were held back go, and all processes end.  A window that is still open has the
        matches that it found, but does not end."""
        self._windows.check_open()
        changes = self._windows.push([self._read_release(each) for each in self._manager.finish()])
        changes += self._windows.drain()
        self.close()
        return changes

    def take_late(self) -> pa.Table:
        """Events that came too late to be put right, since somebody asked."""
        return self._tables.write(self._windows.take_late())

    @property
    def speculation(self) -> float:
        """The factor: the share of the wait that events are held back now."""
        return self._speculation.factor

    @property
    def wait_us(self) -> int:
        """K: how late events are expected to be, in microseconds."""
        return self._manager.k_us

    def close(self) -> None:
        """End all processes, whatever they do; may be called twice."""
        self._windows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- inside ------------------------------------------------------------------------------------------
    def _release(self, events: Sequence[Event]) -> Iterator[Arrival]:
        for event in events:
            self._held[event.name] = event.data
            for released in self._manager.take(event.name):
                yield self._read_release(released)

    def _read_release(self, released: Released) -> Arrival:
        arrival = read_release(released, self._held.pop(released.event))
        return Arrival(arrival.event, arrival.clock, max(arrival.slack, self._bound_us))

    def _follow_load(self) -> None:
        if self._follows_load and (loads := self._meter.take(self._windows.busy_s)) is not None:
            self._speculation = follow_load(self._speculation, loads, self._zone)
            self._manager.speculation = self._speculation.factor


def _read_disorder(given: Disorder | None) -> tuple[Waiting, int]:
    """How long events wait, and how late they may be at least, in microseconds."""
    disorder = GROWING if given is None else check_disorder(given)
    if disorder.emit != "changes":
        hint = 'emit="changes"; inserts minus retracts are the answer, and speculation=1 makes retracts rare'
        raise InvalidInput("matches of ParallelWindows may be taken back", hint=hint)
    waiting, bound = disorder.read_waiting(), disorder.read_bound()
    if waiting.rule == "recall":
        hint = 'write wait="quantile", which follows the events and not what their matches needed'
        raise NotSupportedYet("recall with ParallelWindows", hint=hint)
    return waiting, 0 if bound is None else in_microseconds(bound)


def _make_wait(waiting: Waiting, clock_sources: Collection[int] | None) -> Wait:
    if waiting.rule != "growing":
        return make_wait(waiting)
    return GrowingWait(clock_sources, None if waiting.max_wait is None else in_microseconds(waiting.max_wait))


def _check_instances(given: object) -> int:
    if type(given) is not int or given < 1:
        raise InvalidInput(f"instances is {given!r}", hint="the number of processes, 1 or more: instances=4")
    return given


def _check_parts(predicate: object, operator: object, scheduler: object, *models: object) -> None:
    _check_methods("predicate", predicate, ("begin", "opens", "closes", "includes_end"))
    _check_methods("operator", operator, ("begin", "process", "finish", "clone"))
    if scheduler is not None:
        _check_methods("scheduler", scheduler, ("choose", "clone"))
    for model in models:
        if model is not None:
            _check_methods("checkpoint model", model, ("is_due",))


def _check_methods(what: str, given: object, names: Sequence[str]) -> None:
    missing = [name for name in names if not hasattr(given, name)]
    if missing or isinstance(given, type):
        told = f"{given.__name__} is a class" if isinstance(given, type) else f'"{type(given).__name__}" has no '
        told += "" if isinstance(given, type) else ", ".join(missing)
        hint = f"give an object that has {', '.join(names)}: see cepheid.parallel"
        raise InvalidInput(f"the {what} does not fit: {told}", hint=hint)
