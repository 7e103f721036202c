"""The two situations that the demo looks for, as queries."""

from __future__ import annotations

CONTINUOUSLY_LATE = """
SELECT bus, ts, x, y
FROM buses MATCH_RECOGNIZE (
  PARTITION BY bus ORDER BY ts
  MEASURES LAST(late.ts) AS ts, LAST(late.x) AS x, LAST(late.y) AS y
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (late{15}) WITHIN INTERVAL '5' MINUTE
  DEFINE late AS late.delay > 300)"""
"""A bus that was late in every report of the last five minutes."""

GATHERING = """
SELECT since, ts, x, y, buses
FROM late MATCH_RECOGNIZE (
  PARTITION BY shift, cx, cy ORDER BY ts
  MEASURES FIRST(b.ts) AS since, LAST(b.ts) AS ts, avg(b.x) AS x, avg(b.y) AS y, count(b.*) AS buses
  ONE ROW PER MATCH
  PATTERN (b{11,}) WITHIN INTERVAL '19' SECOND)"""
"""More than ten such buses in one cell of the plan.

A bus reports every 20 seconds, so reports of one cell within 19 seconds are of different buses.
"""

CELL_M = 7.0
"""Two buses in a cell of 7 m are less than 10 m apart.  Four grids, each shifted by half a cell along x, y or
both, so that a gathering is not cut by the border of a cell."""

CELLS = (
    "bus", "ts", "x", "y", "shift",
    f"CAST(floor((x + {CELL_M / 2} * (shift % 2)) / {CELL_M}) AS INT) AS cx",
    f"CAST(floor((y + {CELL_M / 2} * (shift DIV 2)) / {CELL_M}) AS INT) AS cy",
)  # fmt: skip

BREAKDOWN = """
SELECT bus, ts, x, y, delay_before, delay_after
FROM buses MATCH_RECOGNIZE (
  PARTITION BY bus ORDER BY ts
  MEASURES LAST(up.delay) AS delay_before, jump.delay AS delay_after, jump.ts AS ts, jump.x AS x, jump.y AS y
  ONE ROW PER MATCH
  PATTERN (up{5} jump) WITHIN INTERVAL '3' MINUTE
  DEFINE up AS up.delay > PREV(up.delay),
         jump AS jump.delay - PREV(jump.delay) > 120)"""
"""Delay rising over five reports, then a jump."""
