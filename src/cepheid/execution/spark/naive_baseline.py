"""Q5 as one would write it by hand in PySpark: the baseline that `cepheid bench spark` compares with.

transformWithStateInPandas over the stream as it is, grouped by id, row by row; the state of an id is the list of
times inside the window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

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


def run_naive_q5(events: DataFrame, threshold: float, within_us: int) -> DataFrame:
    return events.groupBy("id").transformWithStateInPandas(
        statefulProcessor=NaiveQ5(threshold, within_us),
        outputStructType=OUTPUT,
        outputMode="append",
        timeMode="none",
    )
