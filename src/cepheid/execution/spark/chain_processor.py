"""The stateful stage of a chain: one continuous query for each share of the keys, whose snapshot is the state.

    index    ValueState    version, timer, to whom it belongs, and where the pieces of the snapshot are (chain_state.py)
    pieces   MapState      number -> a piece
    late     MapState      batch -> events that came too late; kept in the checkpoint

As in processor.py, a worker keeps the query it has served, and trusts it if its version is the one in the store.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.disorder.lateness_shares import write_share
from cepheid.event_time import BEGINNING
from cepheid.execution.blob import read_blob, write_table
from cepheid.execution.embedded.continuous import ContinuousQuery
from cepheid.execution.spark.chain_state import load_chain, plan_chain
from cepheid.execution.spark.clock import Clock
from cepheid.execution.spark.envelopes import open_envelopes
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.execution.spark.processor import (
    Envelopes,
    StageStates,
    find_newest,
    make_answers,
    read_envelopes,
    read_horizon,
    timer_of_waiting,
)
from cepheid.execution.spark.stage_record import StageRecord, check_stages, read_stage
from cepheid.execution.user_functions import register_functions
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import base_name
from cepheid.settings import Settings
from cepheid.user_functions import Function

MOST_CACHED = 128

_queries: dict[str, ContinuousQuery] = {}  # by version


@dataclass(frozen=True)
class ChainTask:
    """What the worker is told: the placed graph, the schemas of its streams by name and what orders each, how late
    events may come, what the checkpoint keeps of it, how it knows the time, by stream after how many microseconds
    it is idle, what else was chosen, and the functions of the user that it calls."""

    placed: PlacedGraph
    schemas: Mapping[str, pa.Schema]
    lateness_us: int
    record: StageRecord
    times: list[str]
    clock: Clock
    idle_after_us: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    functions: Mapping[str, Function] = field(default_factory=dict)

    def open_query(self, snapshot: bytes | None = None, share: int = 0) -> ContinuousQuery:
        """share: of the keys; each numbers its events by itself."""
        register_functions(self.functions)
        idle_after = {name: timedelta(microseconds=span) for name, span in self.idle_after_us.items()}
        lateness = timedelta(microseconds=self.lateness_us)
        settings = replace(self.settings, lateness=lateness, idle_after=idle_after or None)
        return ContinuousQuery(self.placed, self.schemas, settings, snapshot, origin=f"@{share}")

    def hear(self, newest: list[int], watermark_ms: int) -> dict[str, int]:
        """By stream: no event older than this will come; newest: of each, in this batch."""
        if self.clock is Clock.WATERMARK:
            newest = [BEGINNING] * len(newest)
        watermark = read_horizon(watermark_ms)
        named = list(zip(self.schemas, newest, strict=True))
        batch = max((time for name, time in named if base_name(name)), default=BEGINNING)
        # of stamped streams, how far one has come, all have
        told = [(name, max(batch, time) if base_name(name) else time) for name, time in named]
        return {name: max(watermark, time - self.lateness_us if time > BEGINNING else time) for name, time in told}


class ChainProcessor(StatefulProcessor):
    def __init__(self, task: ChainTask) -> None:
        self._task = task

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.use(StageStates.of(handle, "pieces"))

    def use(self, states: StageStates, name: str = "") -> None:
        self._handle, self._index, self._late = states.handle, states.index, states.late
        self._pieces = states.blobs

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        yield self.take(int(key[0]), read_envelopes(rows), timerValues)

    def take(self, share: int, envelopes: Envelopes, timer_values: Any) -> pd.DataFrame:
        ports, sequences, payloads, newest = envelopes
        with TellPlainly():
            tables = open_envelopes(ports, sequences, payloads, list(self._task.schemas.values()), self._task.times)
            return self._run(share, tables, timer_values, find_newest(ports, newest, len(tables)))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        yield self.wake(int(key[0]), timerValues)

    def wake(self, share: int, timer_values: Any) -> pd.DataFrame:
        """Nothing came for this share, but time went on: what waited may be settled now."""
        empty = [schema.empty_table() for schema in self._task.schemas.values()]
        with TellPlainly():
            return self._run(share, empty, timer_values, [BEGINNING] * len(empty))

    def close(self) -> None:
        pass

    def _run(self, share: int, tables: list[pa.Table], timer_values: Any, newest: list[int]) -> pd.DataFrame:
        query, stored = self._load(share)
        before = query.counts.as_dict()
        heard = self._task.hear(newest, timer_values.getCurrentWatermarkInMs())
        spoken = dict(zip(self._task.schemas, newest, strict=True))
        cells = query.push_heard(dict(zip(self._task.schemas, tables, strict=True)), heard, spoken)
        self._keep_late(query)
        self._save(query, stored, timer_values)
        after = query.counts.as_dict()
        counted = {name: [after[name] - before[name]] for name in ("rejected", "late", "dropped")}
        counted |= {"events": [sum(map(len, tables))], "rows": [len(cells)]}
        lateness = write_share(share, [watch.tally for watch in query.list_watches()])
        return make_answers([write_table(cells) if len(cells) else None], counted, lateness)

    def _load(self, share: int) -> tuple[ContinuousQuery, dict[str, Any]]:
        """The query as the store tells it, and what is stored."""
        stored = self._index.get() if self._index.exists() else None
        if stored is None:
            return self._task.open_query(share=share), {}
        header, small = read_blob(bytes(stored[0]))
        check_stages([read_stage(header["stage"])], [self._task.record], "the checkpoint")
        cached = _queries.pop(header["version"], None)
        if cached is None:
            cached = self._task.open_query(load_chain(header, small, self._read_piece), share)
        return cached, header

    def _read_piece(self, number: int) -> bytes:
        value = self._pieces.getValue((number,))
        assert value is not None, f"piece {number} is in the store"
        return bytes(value[0])

    def _save(self, query: ContinuousQuery, stored: dict[str, Any], timer_values: Any) -> None:
        timer = timer_of_waiting(self._task.clock, timer_values) if query.is_waiting() else None
        version = uuid.uuid4().hex
        extra = {"version": version, "timer": timer, "stage": self._task.record.as_dict()}
        change = plan_chain(*query.write_state(), stored, extra)
        for number, piece in change.puts.items():
            self._pieces.updateValue((number,), (piece,))
        for number in change.deletes:
            self._pieces.removeKey((number,))
        self._index.update((change.index,))
        if stored.get("timer") is not None:
            self._handle.deleteTimer(stored["timer"])
        if timer is not None:
            self._handle.registerTimer(timer)
        if len(_queries) >= MOST_CACHED:
            _queries.pop(next(iter(_queries)))
        _queries[version] = query

    def _keep_late(self, query: ContinuousQuery) -> None:
        late = query.late_events()
        if len(late):
            batch = int(TaskContext.get().getLocalProperty("streaming.sql.batchId") or 0)  # type: ignore[union-attr]
            self._late.updateValue((batch,), (write_table(late),))
