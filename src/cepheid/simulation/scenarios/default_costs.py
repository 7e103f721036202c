"""Default costs of vertices without a profile: instructions per event by kind of work, from rates measured here.

ipe = MIPS * 1e6 / (events per second), at the nominal MIPS of a profile.  Good enough to see which vertex is
expensive; for reliable figures, calibrate.

benchmarks/results has rates of whole queries: what reading, projecting and handing out cost is taken off, so that the
vertices of such a query together cost what was measured.  Rates without a file were measured once, on a busy machine.
"""

from __future__ import annotations

from typing import Literal

from cepheid.cost.profile import NOMINAL_MIPS, HostName

Work = Literal[
    "read", "filter", "project", "relation", "union", "look_up", "sequence", "row_pattern",
    "sliding_window", "closing_window", "window_join", "changes", "hand_out",
]  # fmt: skip

# Events per second of one core, embedded.
EMBEDDED: dict[Work, float] = {
    "read": 100e6,  # batches are in memory: 60 to 200 M/s for sorting and taking, design.md
    "filter": 150e6,  # WHERE a1 > 50 over pushes of 100,000; no file
    "project": 190e6,  # a1 * 2 + 1 over a whole table; no file
    "relation": 15e6,  # DuckDB over windows, 6 to 19 M/s, design.md
    "union": 130e6,  # no file
    "look_up": 50e6,  # a table of 10,000 rows in memory; no file
    "sequence": 25.8e6,  # Q5, 18.3 M/s: patterns.json
    "row_pattern": 8.2e6,  # Kleene, rising, 7.1 M/s: patterns.json
    "sliding_window": 16.5e6,  # avg R=500, 11.0 M/s: windows.json
    "closing_window": 47e6,  # tumbling avg 1 s, 25.3 M/s: windows.json
    "window_join": 9.7e6,  # Q3 ROWS 5,000, 8.0 M/s: windows.json
    "changes": 1.26e6,  # rows of ISTREAM over a tumbling window, 2.8 M/s events; no file
    "hand_out": 100e6,  # no file
}

# The kernel is the same on Spark, and filters and projections are part of the scan; the road to the kernel is the cost.
# One of two cores.
SPARK: dict[Work, float] = {
    **EMBEDDED,
    "read": 1.03e6,  # Q5 on local[2], 1.97 M/s: patterns.json
    "relation": 3.3e6,  # native group-by, both cores: 6.7 M/s, design.md
    "look_up": 1.2e6,  # mapInArrow, 1.0 to 1.4 M/s, design.md
}

RATES: dict[HostName, dict[Work, float]] = {"embedded": EMBEDDED, "spark": SPARK}
# What a push or a micro-batch costs before its first event: latency.json, unpaced; design.md, 0.1 to 0.4 s.
OVERHEAD_S: dict[HostName, float] = {"embedded": 0.00025, "spark": 0.25}


def default_ipe(host: HostName, work: Work) -> float:
    return NOMINAL_MIPS * 1e6 / RATES[host][work]
