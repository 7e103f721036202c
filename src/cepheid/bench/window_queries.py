"""The window queries of the performance study: Q2 with every function and size, Q3, Q6, Q7."""

from __future__ import annotations

SIZES = (500, 5_000, 50_000, 500_000)
FUNCTIONS = ("avg", "max", "stddev", "median")


def q2_text(function: str, rows: int, slide: int) -> str:
    return f"SELECT id, {function}(a1) AS f FROM events [ROWS {rows} SLIDE {slide}] GROUP BY id"


def q3_text(rows: int) -> str:
    return f"SELECT x.id, x.a1, y.a1 AS other FROM s1 [ROWS {rows}] AS x, s2 [ROWS {rows}] AS y WHERE x.id = y.id"


Q6 = "SELECT avg(a1) AS f FROM events [RANGE {span}] OUTPUT EVERY 1 SECOND"
Q7 = (
    "SELECT sum(s1) / sum(c1) AS f FROM (SELECT sum(a1) AS s1, count(a1) AS c1 FROM events [RANGE 1 SECOND] "
    "OUTPUT EVERY 1 SECOND) [RANGE {span}]"
)


def list_queries() -> dict[str, str]:
    """Q2 by name; sliding and jumping."""
    found: dict[str, str] = {}
    for function in FUNCTIONS:
        for rows in SIZES:
            found[f"sliding {function} R={rows:,}"] = q2_text(function, rows, 1)
    for function in FUNCTIONS:
        found[f"jumping {function} R=50,000"] = q2_text(function, 50_000, 50_000)
    found["tumbling avg 1 s"] = "SELECT id, avg(a1) AS f FROM events [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY id"
    found["sliding avg 10 s"] = "SELECT id, avg(a1) AS f FROM events [RANGE 10 SECONDS] GROUP BY id"
    found["Q6, 1 hour every second"] = Q6.format(span="1 HOUR")
    found["Q7, 1 hour every second"] = Q7.format(span="1 HOUR")
    return found
