"""What a query cost when it really ran: per vertex, and per micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NOMINAL_MIPS = 2500.0  # of the machine that a profile was measured on, so that ipe can be carried to others
HostName = Literal["embedded", "spark"]
Method = Literal["regression", "latency", "throughput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexProfile:
    """ipe: instructions per event that comes in.  selectivity: events out for each one in.  digest: of the vertex that
    was measured; empty: written by hand, for the vertex of this label."""

    ipe: float
    selectivity: float = 1.0
    digest: str = ""
    method: str = "regression"  # or latency, throughput: how the ipe was estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryProfile:
    """How a query was measured.  The three estimates are seconds per event, on all processors of the host together.

    latency_s: the smallest mean time per event (the paper's Equation 11).  throughput_s: one by the greatest throughput
    (Equation 12).  regression_s, overhead_s: duration of a batch = overhead_s + events * regression_s.  r2: how much of
    the differences between batches of different size that line tells.  spread: how far the slowest and the quickest
    part of the measurement lie apart, as a share of its time.  selectivity: rows out for each event in.  reach: the
    share of events that come to what remembers (patterns, windows); the others are filtered out before.
    """

    latency_s: float
    throughput_s: float
    regression_s: float
    overhead_s: float
    r2: float
    spread: float
    selectivity: float
    largest_batch: int
    batches: int
    events: int
    reach: float = 1.0

    def seconds(self, method: Method) -> float:
        """Per event.  The first two know no overhead: it is in what an event takes."""
        return {"latency": self.latency_s, "throughput": self.throughput_s, "regression": self.regression_s}[method]

    def overhead(self, method: Method) -> float:
        return self.overhead_s if method == "regression" else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """vertices: by their labels, for people; what a vertex costs is found by its digest.  overhead_s: what a
    micro-batch (or a push) costs before its first event.  pes: the processors of the host; an ipe counts the
    instructions of all of them."""

    host: HostName
    mips: float = NOMINAL_MIPS
    pes: int = 1
    overhead_s: float = 0.0
    vertices: Mapping[str, VertexProfile] = field(default_factory=dict)
    queries: Mapping[str, QueryProfile] = field(default_factory=dict)

    def of(self, digest: str, label: str) -> VertexProfile | None:
        """What a vertex cost, in whatever plan that was measured; label: what it is called in this one."""
        measured = next((each for each in self.vertices.values() if each.digest == digest), None)
        if measured is not None:
            return measured
        by_hand = self.vertices.get(label)
        return by_hand if by_hand is not None and not by_hand.digest else None
