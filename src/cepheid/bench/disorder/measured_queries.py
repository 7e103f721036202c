"""The queries of the benchmark, over events with a key, a value and a number; none drops events before its engine.

Values are such that one event in twenty begins a match: most events of real streams are part of none.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.bench.disorder.delays.delay import Int64s
from cepheid.bench.disorder.played_events import BEGIN_US

KEYS = 100
STREAMS = ("events", "others")
SCHEMA = pa.schema({"ts": pa.timestamp("us"), "k": pa.int32(), "v": pa.float64(), "n": pa.int64()})
SEQUENCE = (
    "SELECT a.k AS k, a.n AS first_n, b.n AS last_n FROM PATTERN SEQ(events a, events b) "
    "WHERE a.k = b.k AND a.v > 0.95 AND b.v < a.v WITHIN INTERVAL '10' SECOND"
)
KLEENE = (
    "SELECT a.k AS k, a.n AS first_n, c.n AS last_n, count(b[]) AS many "
    "FROM PATTERN SEQ(events a, events+ b[], events c) "
    "WHERE a.k = b[i].k AND a.k = c.k AND a.v > 0.95 AND b[i].v > 0.5 AND c.v <= 0.5 WITHIN INTERVAL '10' SECOND"
)
ROW_PATTERN = (
    "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.n AS first_n, last(b.n) AS last_n "
    "PATTERN (a b+) WITHIN INTERVAL '10' SECOND DEFINE a AS a.v > 0.95, b AS b.v < PREV(b.v))"
)
TUMBLING = (
    "SELECT k, count(*) AS many, sum(v) AS total, window_end AS until FROM events [RANGE 1 SECOND SLIDE 1 SECOND] "
    "GROUP BY k"
)
SLIDING = "SELECT k, count(*) AS many, avg(v) AS mean, max(ts) AS until FROM events [RANGE 1 SECOND] GROUP BY k"
LAST_ROWS = "SELECT k, sum(v) AS total, max(ts) AS until FROM events [PARTITION BY k ORDER BY ts ROWS 10] GROUP BY k"
SESSION = (
    "SELECT k, count(*) AS many, window_end AS until FROM events [PARTITION BY k ORDER BY ts SESSION 200 MILLISECONDS] "
    "GROUP BY k"
)
LAG = "SELECT k, n, v - lag(v) OVER (PARTITION BY k ORDER BY ts) AS more FROM events"
JOIN = (
    "SELECT x.n AS n, y.n AS m FROM events [ORDER BY ts RANGE 1 SECOND] AS x, others [ORDER BY ts RANGE 1 SECOND] AS y "
    "WHERE x.k = y.k AND x.v + y.v > 1.9"
)


def make_table(times_us: Int64s, seed: int, least: float = 0.0) -> pa.Table:
    """times_us: since the beginning, in the order of arrival, in which the events are numbered.  least: value."""
    random = np.random.default_rng(seed)
    count = len(times_us)
    columns = [
        pa.array(BEGIN_US + times_us).cast(pa.timestamp("us")),
        pa.array(random.integers(0, KEYS, count, dtype=np.int32)),
        pa.array(random.uniform(least, 1.0, count)),
        pa.array(np.arange(count)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
