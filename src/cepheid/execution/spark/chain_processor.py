"""The stateful stage of a chain: one continuous query, whose snapshot is the state.

    index    ValueState    version and number of pieces
    pieces   MapState      number -> bytes of the snapshot
    late     MapState      batch -> events that came too late; kept in the checkpoint

As in processor.py, a worker keeps the query it has served, and trusts it if its version is the one in the store.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.execution.blob import read_blob, write_blob, write_table
from cepheid.execution.embedded.continuous import ContinuousQuery
from cepheid.execution.spark.envelopes import open_envelopes
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.settings import Settings

PIECE = 1 << 20  # bytes: Spark hands over values of about this size quickest
MOST_CACHED = 4

_queries: dict[str, ContinuousQuery] = {}  # by version


@dataclass(frozen=True)
class ChainTask:
    """What the worker is told: the placed graph, the schemas of its streams by name, and how late events may come."""

    placed: PlacedGraph
    schemas: Mapping[str, pa.Schema]
    lateness: timedelta

    def open_query(self, snapshot: bytes | None = None) -> ContinuousQuery:
        return ContinuousQuery(self.placed, self.schemas, Settings(lateness=self.lateness), snapshot)


class ChainProcessor(StatefulProcessor):
    def __init__(self, task: ChainTask) -> None:
        self._task = task

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._index = handle.getValueState("index", "blob binary")
        self._pieces = handle.getMapState("pieces", "number long", "blob binary")
        self._late = handle.getMapState("late", "batch long", "blob binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        frames = list(rows)
        ports, sequences, payloads = (
            [value for frame in frames for value in frame[name].tolist()] for name in ("port", "sequence", "payload")
        )
        tables = open_envelopes(ports, sequences, payloads, list(self._task.schemas.values()))
        query, stored = self._load()
        before = query.counts.as_dict()
        cells = query.push(**dict(zip(self._task.schemas, tables, strict=True)))
        self._keep_late(query)
        self._save(query, stored)
        after = query.counts.as_dict()
        counted = {name: after[name] - before[name] for name in ("rejected", "late", "dropped")}
        counted |= {"events": sum(map(len, tables)), "rows": len(cells)}
        payload = write_table(cells) if len(cells) else None
        told = {name: [count] for name, count in counted.items()}
        yield pd.DataFrame({**told, "payload": pd.Series([payload], dtype="object")})

    def close(self) -> None:
        pass

    def _load(self) -> tuple[ContinuousQuery, int]:
        """The query as the store tells it, and how many pieces are stored."""
        stored = self._index.get() if self._index.exists() else None
        if stored is None:
            return self._task.open_query(), 0
        header, _ = read_blob(bytes(stored[0]))
        cached = _queries.pop(header["version"], None)
        if cached is None:
            values = [self._pieces.getValue((number,)) for number in range(header["pieces"])]
            cached = self._task.open_query(b"".join(bytes(value[0]) for value in values if value is not None))
        return cached, header["pieces"]

    def _save(self, query: ContinuousQuery, stored: int) -> None:
        snapshot = query.snapshot()
        count = -(-len(snapshot) // PIECE)
        for number in range(count):
            self._pieces.updateValue((number,), (snapshot[number * PIECE : (number + 1) * PIECE],))
        for number in range(count, stored):
            self._pieces.removeKey((number,))
        version = uuid.uuid4().hex
        self._index.update((write_blob({"version": version, "pieces": count}, []),))
        if len(_queries) >= MOST_CACHED:
            _queries.pop(next(iter(_queries)))
        _queries[version] = query

    def _keep_late(self, query: ContinuousQuery) -> None:
        late = query.late_events()
        if len(late):
            batch = int(TaskContext.get().getLocalProperty("streaming.sql.batchId") or 0)  # type: ignore[union-attr]
            self._late.updateValue((batch,), (write_table(late),))
