"""Q5 as one would write it by hand in PySpark: the baseline that `cepheid bench spark` compares with.

transformWithStateInPandas over the stream as it is, grouped by id; the state of an id is the list of times inside
the window, and what can be done at once for a group is done in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

OUTPUT = "id int, first_us long, last_us long"


class NaiveQ5(StatefulProcessor):
    def __init__(self, threshold: float, within_us: int) -> None:
        self._threshold = threshold
        self._within_us = within_us

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._times = handle.getValueState("times", "times array<long>")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        frame = pd.concat(list(rows)).sort_values("ts", kind="stable")
        stored = self._times.get() if self._times.exists() else None
        before = np.array(stored[0], dtype=np.int64) if stored is not None else np.empty(0, dtype=np.int64)
        new = frame["ts"].to_numpy().astype("datetime64[us]").astype(np.int64)
        times = np.concatenate([before, new])
        firsts: list[np.ndarray[Any, Any]] = []
        lasts: list[np.ndarray[Any, Any]] = []
        for place in np.flatnonzero(frame["a1"].to_numpy() > self._threshold):
            at = len(before) + place
            begin = np.searchsorted(times, times[at] - self._within_us)
            firsts.append(times[begin:at])
            lasts.append(np.full(at - begin, times[at]))
        keep = times[times >= times[-1] - self._within_us]
        self._times.update((keep.tolist(),))
        if firsts:
            found = {"id": np.int32(key[0]), "first_us": np.concatenate(firsts), "last_us": np.concatenate(lasts)}
            yield pd.DataFrame(found)

    def close(self) -> None:
        pass


def run_naive_q5(events: DataFrame, threshold: float, within_us: int) -> DataFrame:
    return events.groupBy("id").transformWithStateInPandas(
        statefulProcessor=NaiveQ5(threshold, within_us),
        outputStructType=OUTPUT,
        outputMode="append",
        timeMode="none",
    )
