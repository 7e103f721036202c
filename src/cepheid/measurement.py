"""What is measured while a query runs; every number has a name and a unit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTime:
    """How far time has come on a stream of a query, and what waits for it."""

    clock: datetime | None  # no event older than this is expected, in UTC; None: the stream has said nothing
    idle: bool  # others do not wait for it (idle_after)
    waiting: int  # events of the query that wait because this stream is behind, now


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
    again: int = 0  # times that an event was looked at once more, because others came late or went
    kept: int = 0  # events kept because a match may still need them, now
    streams: dict[str, StreamTime] = field(
        default_factory=dict, init=False
    )  # of a whole query: how far time has come on each

    def as_dict(self) -> dict[str, int]:
        """The numbers."""
        numbers = asdict(self)
        del numbers["streams"]
        return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedVertices:
    """Vertices that share an engine, by their digests: what they are called, and what was counted of them together."""

    labels: tuple[str, ...]
    digests: tuple[str, ...]
    counts: Counts


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


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexMeasurement:
    """A vertex of a deployed query since it was last looked at."""

    query: str
    vertex: str
    machine: str  # empty: it does not run
    processed_per_s: float
    waiting: float  # events in its queues, now
    dropped: float  # events, since then


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineMeasurement:
    name: str
    is_there: bool
    cores: int
    utilisation: float  # 0 to 1, since it was last looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMeasurement:
    """latency_ms: None if nothing came out since it was last looked at."""

    query: str
    throughput_per_s: float  # events of its sources that led to what came out
    latency_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A deployment at a time, and since the observation before."""

    at_s: float
    since_s: float
    queries: tuple[QueryMeasurement, ...]
    vertices: tuple[VertexMeasurement, ...]
    machines: tuple[MachineMeasurement, ...]
