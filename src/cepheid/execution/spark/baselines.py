"""What one would write by hand in PySpark: the baselines that `cepheid bench spark` compares with.

NaiveQ5   Q5 with transformWithStateInPandas over the stream as it is, grouped by id, row by row; the state of an id is
          the list of times inside the window
NumpyQ5   the same by somebody who knows NumPy: one search in sorted times for all rows of an id
Nothing   a stateful operator that does nothing: what Spark itself takes for a batch
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

OUTPUT = "id int, first_us long, last_us long"


class NaiveQ5(StatefulProcessor):
    def __init__(self, threshold: float, within_us: int) -> None:
        self._threshold = threshold
        self._within_us = within_us

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._times = handle.getValueState("times", "times array<long>")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        stored = self._times.get() if self._times.exists() else None
        window = deque(stored[0] if stored is not None else ())
        found: list[tuple[int, int, int]] = []
        for frame in rows:
            for row in frame.sort_values("ts").itertuples():
                now = row.ts.value // 1000
                while window and window[0] < now - self._within_us:
                    window.popleft()
                if row.a1 > self._threshold:
                    found += [(key[0], first, now) for first in window]
                window.append(now)
        self._times.update((list(window),))
        yield pd.DataFrame(found, columns=["id", "first_us", "last_us"])

    def close(self) -> None:
        pass


class NumpyQ5(NaiveQ5):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._times = handle.getValueState("times", "times binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        stored = self._times.get() if self._times.exists() else None
        before = np.frombuffer(bytes(stored[0]) if stored is not None else b"", dtype=np.int64)
        frames = list(rows)
        now = np.concatenate([frame["ts"].to_numpy().astype("datetime64[us]").astype(np.int64) for frame in frames])
        order = np.argsort(now, kind="stable")
        now = now[order]
        ends = np.flatnonzero(np.concatenate([frame["a1"].to_numpy() for frame in frames])[order] > self._threshold)
        times = np.concatenate([before, now])
        places = len(before) + ends
        begins = np.searchsorted(times, times[places] - self._within_us)
        counts = places - begins
        firsts = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        self._times.update((times[times >= times[-1] - self._within_us].tobytes(),))
        lasts = np.repeat(times[places], counts)
        yield pd.DataFrame({"id": np.full(len(firsts), key[0]), "first_us": times[firsts], "last_us": lasts})


class Nothing(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"rows": [sum(map(len, rows))]})

    def close(self) -> None:
        pass


def run_naive_q5(events: DataFrame, threshold: float, within_us: int) -> DataFrame:
    return _run_by_id(events, NaiveQ5(threshold, within_us))


def run_numpy_q5(events: DataFrame, threshold: float, within_us: int) -> DataFrame:
    return _run_by_id(events, NumpyQ5(threshold, within_us))


def run_nothing(events: DataFrame) -> DataFrame:
    """Grouped into as many groups as there are cores, as somebody would who wants it quick."""
    grouped = events.select((F.col("id") % events.sparkSession.sparkContext.defaultParallelism).alias("part"))
    return grouped.groupBy("part").transformWithStateInPandas(
        statefulProcessor=Nothing(), outputStructType="rows long", outputMode="append", timeMode="none"
    )


def _run_by_id(events: DataFrame, processor: StatefulProcessor) -> DataFrame:
    return events.groupBy("id").transformWithStateInPandas(
        statefulProcessor=processor, outputStructType=OUTPUT, outputMode="append", timeMode="none"
    )
