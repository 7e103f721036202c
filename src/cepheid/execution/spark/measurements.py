"""What a running stream measured, batch by batch, read from Spark's own account of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cepheid.measurement import BatchMeasurement


def read_measurements(query: Any) -> list[BatchMeasurement]:
    """The recent batches of a StreamingQuery whose DataFrame came from `cep.sql`."""
    return [read_progress(progress) for progress in query.recentProgress]


def read_progress(progress: Any) -> BatchMeasurement:
    counted = [told for name, told in progress["observedMetrics"].items() if name.startswith("cepheid")]
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
