"""What a running stream measured, batch by batch, read from Spark's own account of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cepheid.disorder.lateness_report import LatenessReport
from cepheid.disorder.lateness_shares import LatenessOfShares
from cepheid.errors import InvalidInput
from cepheid.measurement import BatchMeasurement


def read_measurements(query: Any) -> list[BatchMeasurement]:
    """The recent batches of a StreamingQuery whose DataFrame came from `cep.sql`."""
    return [read_progress(progress) for progress in query.recentProgress]


def report_lateness(query: Any) -> LatenessReport | None:
    """How late its events are; None: nobody looks, or nothing has come yet."""
    if not hasattr(query, "recentProgress"):
        hint = "cep.report_lateness(cep.sql(..., disorder=...).writeStream.start())"
        raise InvalidInput(f"this is no StreamingQuery: {query!r}", hint=hint)
    known = LatenessOfShares()
    for progress in query.recentProgress:
        hear_lateness(known, progress)
    return known.report()


def hear_lateness(known: LatenessOfShares, progress: Any) -> None:
    """What the shares of all stages told in a batch."""
    for stage, told in find_counted(progress).items():
        known.hear(stage, told["lateness"])


def find_counted(progress: Any) -> dict[str, Any]:
    """By stage, what engines counted in a batch; Spark may count other things there."""
    return {name: told for name, told in progress["observedMetrics"].items() if name.startswith("cepheid")}


def read_progress(progress: Any) -> BatchMeasurement:
    counted = find_counted(progress).values()
    counts = {
        name: sum(int(told[name] or 0) for told in counted)
        for name in ("events", "rows", "late", "rejected", "dropped")
    }
    duration_ms = float(progress["durationMs"].get("triggerExecution", 0))
    watermark = progress["eventTime"].get("watermark")
    return BatchMeasurement(
        batch=progress["batchId"],
        **counts,
        duration_ms=duration_ms,
        events_per_s=counts["events"] / (duration_ms / 1000) if duration_ms else 0.0,
        horizon_ms=None if watermark is None else int(datetime.fromisoformat(watermark).timestamp() * 1000),
    )
