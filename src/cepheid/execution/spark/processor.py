"""The stateful stage of a stream on Spark: one call per state partition and micro-batch.

    index     ValueState    what is needed of each segment (state_segments.py), a version, and to whom it belongs
    segments  MapState      number -> events
    late      MapState      batch -> events that came too late; kept in the checkpoint

A worker process keeps the engines it has served.  Spark gives no promise that the same worker serves a share
again, so an engine is trusted only if its version is the one in the store; otherwise it is read back, from files of
this machine where they are (segment_cache.py).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.event_time import BEGINNING
from cepheid.execution.blob import read_blob, write_table
from cepheid.execution.engine import Engine, name_events
from cepheid.execution.engine_identity import EngineIdentity
from cepheid.execution.spark.clock import Clock
from cepheid.execution.spark.engine_warm_up import ensure_engine
from cepheid.execution.spark.envelopes import open_envelopes
from cepheid.execution.spark.idle_inputs import follow_batch, follow_others
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.execution.spark.segment_cache import SegmentCache
from cepheid.execution.spark.stage_record import StageRecord, check_stages, read_stage
from cepheid.execution.state_segments import StoredState, load_state, plan_change
from cepheid.execution.user_functions import register_functions
from cepheid.graph.node import EngineNode
from cepheid.user_functions import Function

COUNTED = ("events", "rejected", "late", "rows", "dropped")
OUTPUT_SCHEMA = ", ".join([*(f"{name} long" for name in COUNTED), "lateness string", "payload binary"])
MOST_CACHED = 256

Envelopes = tuple[list[int], list[int], list[bytes | None], list[int]]  # ports, sequences, payloads, newest times

_engines: dict[tuple[str, int], tuple[str, Engine, StoredState]] = {}


@dataclass(frozen=True)
class EngineTask:
    """What the workers are told: the vertex, its inputs and their delays, under what its state is kept, what users call
    its columns, what the checkpoint keeps of it, how it knows the time, and by input after how many microseconds it is
    idle."""

    node: EngineNode
    schemas: list[pa.Schema]
    delays_us: list[int]
    identity: EngineIdentity
    names: dict[str, str]
    record: StageRecord
    clock: Clock
    idle_after_us: Mapping[int, int] = field(default_factory=dict)

    stamped: list[int] = field(default_factory=list)  # inputs that are ordered by processing time
    functions: Mapping[str, Function] = field(default_factory=dict)  # of the user, that its conditions call

    def make_engine(self) -> Engine:
        register_functions(self.functions)
        return Engine([self.node], self.schemas, identity=self.identity, delays_us=self.delays_us)


@dataclass(frozen=True)
class StageStates:
    """What Spark keeps for a share; blobs: by number, segments of a state or pieces of it."""

    handle: StatefulProcessorHandle
    index: Any
    blobs: Any
    late: Any

    @classmethod
    def of(cls, handle: StatefulProcessorHandle, blobs: str = "segments") -> StageStates:
        return cls(
            handle,
            handle.getValueState("index", "blob binary"),
            handle.getMapState(blobs, "number long", "blob binary"),
            handle.getMapState("late", "batch long", "blob binary"),
        )


class EngineProcessor(StatefulProcessor):
    """Runs one stateful vertex for the share of the keys that a partition has."""

    def __init__(self, task: EngineTask) -> None:
        self._task = task
        self._schemas = task.schemas

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.use(StageStates.of(handle))

    def use(self, states: StageStates, name: str = "") -> None:
        """name: of the stage, where several have the same digest."""
        self._handle, self._index, self._late = states.handle, states.index, states.late
        self._segments = states.blobs
        self._digest = " ".join([*self._task.identity.digests, *([name] if name else [])])

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        yield self.take(int(key[0]), read_envelopes(rows), timerValues)

    def take(self, share: int, envelopes: Envelopes, timer_values: Any) -> pd.DataFrame:
        ports, sequences, payloads, newest = envelopes
        with TellPlainly():
            tables = open_envelopes(ports, sequences, payloads, self._schemas, ["_time"] * len(self._schemas))
            told = find_newest(ports, newest, len(self._schemas)) if self._task.clock < Clock.WATERMARK else []
            return self._run(share, tables, timer_values, told)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        yield self.wake(int(key[0]), timerValues)

    def wake(self, share: int, timer_values: Any) -> pd.DataFrame:
        """Nothing came for this share, but time went on: what waited may be settled now."""
        empty = [schema.empty_table() for schema in self._schemas]
        with TellPlainly():
            return self._run(share, empty, timer_values, [])

    def close(self) -> None:
        pass

    def _run(self, share: int, tables: list[pa.Table], timer_values: Any, newest: list[int]) -> pd.DataFrame:
        ensure_engine(self._task.node, self._schemas)
        engine, stored, header = self._load(share)
        before = engine.counts.as_dict()
        for port, time in enumerate(newest):
            engine.gate.see(port, [time])
        task, watermark = self._task, read_horizon(timer_values.getCurrentWatermarkInMs())
        follow_batch(engine, task.stamped, newest)
        known: dict[str, Any] = {}  # of the time, beyond what the engine keeps
        if task.idle_after_us:
            given = engine, task.idle_after_us, task.delays_us
            known["clocks"] = follow_others(*given, header.get("clocks"), newest, watermark)
        (cells,) = engine.push(tables, watermark)
        self._keep_late(engine)
        self._save(share, engine, stored, {**known, "timer": header.get("timer")}, timer_values)
        after = engine.counts.as_dict()
        changes = {name: [after[name] - before[name]] for name in COUNTED}
        return make_answers([write_table(cells) if len(cells) else None], changes)

    def _load(self, share: int) -> tuple[Engine, StoredState, dict[str, Any]]:
        """The engine as the store tells it, from this process's memory if that is the same."""
        stored_index = self._index.get() if self._index.exists() else None
        if stored_index is None:
            return self._task.make_engine(), StoredState(), {}
        index = bytes(stored_index[0])
        header, _ = read_blob(index)
        check_stages([read_stage(header["stage"])], [self._task.record], "the checkpoint")
        cached = _engines.pop((self._digest, share), None)
        if cached is not None and cached[0] == header["version"]:
            return cached[1], cached[2], header
        engine = self._task.make_engine()
        near = SegmentCache(self._digest, share)
        stored, header = load_state(engine, index, lambda number, stamp: self._read_segment(near, number, stamp))
        return engine, stored, header

    def _read_segment(self, near: SegmentCache, number: int, stamp: str) -> bytes:
        found = near.read(number, stamp)
        if found is None:
            value = self._segments.getValue((number,))
            assert value is not None, f"segment {number} is in the store"
            found = bytes(value[0])
            near.write(number, stamp, found)
        return found

    def _save(self, share: int, engine: Engine, stored: StoredState, known: dict[str, Any], timer_values: Any) -> None:
        """known: what goes into the header; the timer that was set before is in it."""
        old_timer = known["timer"]
        timer = timer_of_waiting(self._task.clock, timer_values) if engine.is_waiting() else None
        version = uuid.uuid4().hex
        extra = {**known, "version": version, "timer": timer, "stage": self._task.record.as_dict()}
        change, stored = plan_change(engine, stored, extra)
        near = SegmentCache(self._digest, share)
        for number, blob in change.puts.items():
            self._segments.updateValue((number,), (blob,))
            near.write(number, change.stamp, blob)
        for segment in change.deletes:
            self._segments.removeKey((segment.number,))
        near.remove(change.deletes)
        self._index.update((change.index,))
        if old_timer is not None:
            self._handle.deleteTimer(old_timer)
        if timer is not None:
            self._handle.registerTimer(timer)
        if len(_engines) >= MOST_CACHED:
            _engines.pop(next(iter(_engines)))
        _engines[self._digest, share] = (version, engine, stored)

    def _keep_late(self, engine: Engine) -> None:
        if engine.late:
            batch = int(TaskContext.get().getLocalProperty("streaming.sql.batchId") or 0)  # type: ignore[union-attr]
            self._late.updateValue(
                (batch,), (write_table(name_events(pa.concat_tables(engine.late), self._task.names)),)
            )
            engine.late = []


def make_answers(
    payloads: list[bytes | None], counted: Mapping[str, list[int]], lateness: str | None = None
) -> pd.DataFrame:
    """What a processor gives.  counted: for each payload; 0 of what is left out.  lateness: what its share knows."""
    none = [0] * len(payloads)
    texts: dict[str, list[Any]] = {"lateness": [lateness] * len(payloads), "payload": payloads}
    numbers = {name: counted.get(name, none) for name in COUNTED}
    return pd.DataFrame({**numbers, **{name: pd.Series(each, dtype="object") for name, each in texts.items()}})


def read_envelopes(rows: Iterator[pd.DataFrame]) -> Envelopes:
    """All envelopes of a share."""
    frames = list(rows)
    ports, sequences, payloads, newest = (
        [value for frame in frames for value in frame[name].tolist()]
        for name in ("port", "sequence", "payload", "newest")
    )
    return ports, sequences, payloads, newest


def timer_of_waiting(clock: Clock, timer_values: Any) -> int | None:
    """When a share that waits for time is to be called: as soon as the watermark has moved, if that tells anything new.
    A timer at the watermark would be called in the same batch, and what is set anew meanwhile would be lost."""
    if clock is Clock.ENVELOPES:
        return None
    return max(int(timer_values.getCurrentWatermarkInMs()), 0) + 1


def read_horizon(watermark_ms: int) -> int:
    """Spark's watermark as a horizon; before the first one there is none."""
    return watermark_ms * 1000 if watermark_ms > 0 else BEGINNING


def find_newest(ports: list[int], newest: list[int], count: int) -> list[int]:
    """The newest time of each of `count` inputs in this batch, BEGINNING where nothing came.

    With it the gate is as far as Spark's watermark will be after the batch; so rows are settled in the batch that
    settles them, not one later.
    """
    return [
        max((time for port, time in zip(ports, newest, strict=True) if port == number), default=BEGINNING)
        for number in range(count)
    ]
