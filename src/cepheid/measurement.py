"""What is measured while a query runs; every number has a name and a unit."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Counts:
    """Totals since the query began."""

    events: int = 0  # events taken in
    rejected: int = 0  # events without a place in the order (null or NaN there)
    late: int = 0  # events that came after the horizon had passed them
    rows: int = 0  # rows given out
    dropped: int = 0  # partial matches dropped because of LIMIT PARTIALS
    unanswered: int = 0  # events without an answer of a database, because it was away
    held: int = 0  # events that wait for the horizon, now
    kept: int = 0  # events kept because a match may still need them, now

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMeasurement:
    """One micro-batch of a continuous query."""

    batch: int
    events: int
    rows: int
    late: int
    rejected: int
    dropped: int
    duration_ms: float
    events_per_s: float
    horizon_ms: int | None
