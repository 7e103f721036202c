"""What each micro-batch of a running application did, from Spark's own account of it.

StreamingQuery.recentProgress ─ProgressReader.read_new─▶ BatchProgress, each once ─Tally.add─▶ sums
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cepheid.disorder.lateness_report import LatenessReport
from cepheid.disorder.lateness_shares import LatenessOfShares
from cepheid.execution.spark.measurements import find_counted, hear_lateness, read_progress

READ = "records read from "  # what a source that Spark sees no records of is counted under, with its name
ROWS = "rows given"  # what a query's output is counted under in Spark's observedMetrics


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """rows: that came out; of a source's dead letters (is_dead): so many records.  horizon_ms: the watermark.  waiting:
    files that are there and not yet read; None: the source does not say.  lateness: of events by then; None: nobody
    looks."""

    name: str
    batch: int
    events: int
    rows: int
    late: int
    rejected: int
    duration_ms: float
    horizon_ms: int | None
    waiting: int | None = None
    is_dead: bool = False
    lateness: LatenessReport | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class ProgressReader:
    """is_dead: do the rows of this query not fit their source?"""

    def __init__(self, name: str, is_dead: bool = False) -> None:
        self._name, self._is_dead = name, is_dead
        self._last = -1
        self._lateness = LatenessOfShares()

    def read_new(self, recent: list[Any]) -> list[BatchProgress]:
        """recent: as Spark keeps it, the oldest first; each batch that ran is given once."""
        found = []
        for progress in recent:
            if progress["batchId"] > self._last and "addBatch" in progress["durationMs"]:
                self._last = progress["batchId"]
                found.append(self._read(progress))
        return found

    def _read(self, progress: Any) -> BatchProgress:
        observed: Mapping[str, Any] = progress["observedMetrics"]
        measured = read_progress(progress)
        hear_lateness(self._lateness, progress)
        rows = observed[ROWS]["count"] if ROWS in observed else 0
        return BatchProgress(
            self._name,
            progress["batchId"],
            measured.events if find_counted(progress) else _count_read(progress),
            int(rows or 0),
            measured.late,
            measured.rejected,
            measured.duration_ms,
            measured.horizon_ms,
            _count_waiting(progress["sources"]),
            self._is_dead,
            self._lateness.report(),
        )


def _count_read(progress: Any) -> int:
    counts = [told["count"] for name, told in progress["observedMetrics"].items() if name.startswith(READ)]
    return sum(int(count or 0) for count in counts) if counts else int(progress["numInputRows"])


def _count_waiting(sources: list[Any]) -> int | None:
    counts = [source["metrics"].get("numFilesOutstanding") for source in sources if source["metrics"]]
    known = [int(count) for count in counts if count is not None]
    return sum(known) if known else None


@dataclass
class Tally:
    """What was counted since the application was started."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, batch: BatchProgress) -> None:
        if batch.is_dead:
            self.counts[f"dead letters of {batch.name}"] += batch.rows
            return
        self.counts[f"events of {batch.name}"] += batch.events
        self.counts[f"rows of {batch.name}"] += batch.rows
        self.counts["late"] += batch.late
        self.counts["rejected"] += batch.rejected
