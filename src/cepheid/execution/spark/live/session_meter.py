"""What a session on Spark is measured by: counts of its stages, batch by batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

from cepheid.execution.spark.live.session_rows import BatchAccount
from cepheid.measurement import Counts, MachineMeasurement, Observation, QueryMeasurement, VertexMeasurement

COUNTED = ("events", "rejected", "late", "rows", "dropped")


class SessionMeter:
    """Told by the thread that runs batches, asked by others.  clock: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stages_of: Mapping[str, Mapping[str, int]] = {}
        self._total: Counter[str] = Counter()
        self._new: dict[int, Counter[str]] = {}
        self._busy_s, self._batches = 0.0, 0
        self._since_s = 0.0
        self.rows: Counter[str] = Counter()

    def watch(self, stages_of: Mapping[str, Mapping[str, int]]) -> None:
        """By query and vertex, the numbers of stages, from now on."""
        self._stages_of = stages_of

    def note(self, account: BatchAccount) -> None:
        for stage, counted in account.counts.items():
            self._new.setdefault(stage, Counter()).update(counted)
            self._total.update(counted)
        self.rows.update(account.rows)
        self._busy_s += account.seconds
        self._batches += 1

    def count(self) -> Counts:
        return Counts(**{name: self._total[name] for name in COUNTED})

    def observe(self, now_s: float, machine: str, cores: int) -> Observation:
        """Since the last time."""
        span_s = max(now_s - self._since_s, 1e-9)
        latency_ms = 1000 * self._busy_s / self._batches if self._batches else None
        new, since_s = self._new, self._since_s
        busy = min(1.0, self._busy_s / span_s)
        self._new, self._busy_s, self._batches, self._since_s = {}, 0.0, 0, now_s
        queries, vertices = [], []
        for query, stages in self._stages_of.items():
            events = sum(new.get(number, Counter())["events"] for number in stages.values())
            queries.append(QueryMeasurement(query=query, throughput_per_s=events / span_s, latency_ms=latency_ms))
            for vertex, number in stages.items():
                counted = new.get(number, Counter())
                vertices.append(
                    VertexMeasurement(
                        query=query,
                        vertex=vertex,
                        machine=machine,
                        processed_per_s=counted["events"] / span_s,
                        waiting=0.0,
                        dropped=counted["late"] + counted["dropped"],
                    )
                )
        return Observation(
            at_s=now_s,
            since_s=since_s,
            queries=tuple(queries),
            vertices=tuple(vertices),
            machines=(MachineMeasurement(name=machine, is_there=True, cores=cores, utilisation=busy),),
        )
