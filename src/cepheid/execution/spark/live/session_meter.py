"""What a session on Spark is measured by: counts of its stages, batch by batch."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from cepheid.disorder.lateness_report import LatenessReport
from cepheid.disorder.lateness_shares import LatenessOfShares
from cepheid.execution.spark.live.batch_pace import MeasuredBatch
from cepheid.execution.spark.live.session_rows import BatchAccount
from cepheid.measurement import Counts, MachineMeasurement, Observation, QueryMeasurement, VertexMeasurement

COUNTED = ("events", "rejected", "late", "rows", "dropped")
MOST_RECENT = 50


class SessionMeter:
    """Told by the thread that runs batches, asked by others.  clock: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stages_of: Mapping[str, Mapping[str, int]] = {}
        self._total: Counter[str] = Counter()
        self._new: dict[int, Counter[str]] = {}
        self._lateness = LatenessOfShares()
        self._busy_s, self._batches = 0.0, 0
        self._since_s = 0.0
        self.rows: Counter[str] = Counter()
        self.recent: deque[BatchAccount] = deque(maxlen=MOST_RECENT)
        self._last_seen: dict[int, int] = {}  # by stage, the last batch that it answered in

    def watch(self, stages_of: Mapping[str, Mapping[str, int]]) -> None:
        """By query and vertex, the numbers of stages, from now on."""
        self._stages_of = stages_of
        self._lateness.keep({number for stages in stages_of.values() for number in stages.values()})

    def note(self, account: BatchAccount) -> None:
        for stage, counted in account.counts.items():
            self._new.setdefault(stage, Counter()).update(counted)
            self._total.update(counted)
        for stage, told in account.lateness.items():
            self._lateness.hear(stage, told)
        self.rows.update(account.rows)
        self.recent.append(account)
        self._last_seen.update(dict.fromkeys(account.counts, account.number))
        self._busy_s += account.seconds
        self._batches += 1

    def list_answered(self, first: int, behind: int) -> set[int]:
        """The stages that have answered in one of these batches; of one that leaves, that is its end."""
        return {stage for stage, batch in self._last_seen.items() if first <= batch < behind}

    def count(self) -> Counts:
        return Counts(**{name: self._total[name] for name in COUNTED})

    def report_lateness(self) -> LatenessReport | None:
        """Of the stages that run; None: nobody looks, or nothing has come yet."""
        return self._lateness.report()

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


def measure_batches(
    accounts: list[BatchAccount], recent: list[Any], reads_files: bool
) -> tuple[list[MeasuredBatch], float]:
    """What batches took as Spark tells it, planning and writing included, and events per second.  The first one is left
    out: workers start in it."""
    progress = {each["batchId"]: each for each in recent}
    known = [account for account in accounts[1:] if account.number in progress]
    batches = [
        MeasuredBatch(
            sum(counted["events"] for counted in account.counts.values()),
            progress[account.number]["durationMs"].get("triggerExecution", 0) / 1000,
            progress[account.number]["numInputRows"] if reads_files else 0,
        )
        for account in known
    ]
    moments = [datetime.fromisoformat(progress[account.number]["timestamp"]).timestamp() for account in known]
    span_s = moments[-1] - moments[0] + batches[-1].seconds if batches else 0.0
    return batches, sum(batch.events for batch in batches) / span_s if span_s > 0 else 0.0
