"""The patterns that are measured, over the data set of the study."""

from __future__ import annotations

from cepheid.bench.study_data import threshold_for

RARE = threshold_for(0.001)
WITHIN = "WITHIN INTERVAL '10' SECOND"


def _sequence(terms: str, conditions: str, strategy: str, ids: str = "a.id = b.id") -> str:
    return f"""
        SELECT a.id, a.ts AS first_ts, b.ts AS last_ts
        FROM PATTERN SEQ({terms}) WHERE {ids} AND {conditions} {WITHIN} STRATEGY {strategy}"""


def _rows(pattern: str, definitions: str) -> str:
    return f"""
        SELECT * FROM events MATCH_RECOGNIZE (
          PARTITION BY id ORDER BY ts MEASURES FIRST(ts) AS first_ts, LAST(ts) AS last_ts
          PATTERN ({pattern}) {WITHIN} DEFINE {definitions})"""


PATTERNS: dict[str, str] = {
    "skip till any (Q5)": _sequence("events a, events b", f"b.a1 > {RARE}", "skip_till_any"),
    "skip till next": _sequence("events a, events b", f"b.a1 > {RARE}", "skip_till_next"),
    "strict": _sequence("events a, events b", f"b.a1 > {RARE}", "strict", "b.a2 > a.a2"),  # neighbours of any id
    "partition contiguity": _sequence("events a, events b", f"b.a1 > {RARE}", "partition_contiguity"),
    "absence at the end": _sequence(
        "events a, events b, ~events c", f"b.a1 > {RARE} AND c.a2 > 95", "skip_till_next", "a.id = b.id AND b.id = c.id"
    ),
    "Kleene, rising": _rows("a b+ c", "b AS b.a1 > PREV(b.a1), c AS c.a1 < PREV(c.a1)"),
    "Kleene, rising, by LAST": _rows("a b+ c", "b AS b.a1 > COALESCE(LAST(b.a1, 1), a.a1), c AS c.a1 < b.a1"),
    "alternation": _rows(
        "(low | high) middle+ (low | high)", "low AS a1 < 20, high AS a1 > 80, middle AS a1 BETWEEN 20 AND 80"
    ),
    "PERMUTE of 4": _rows(
        "PERMUTE(a, b, c, d)",
        "a AS a1 < 25, b AS a1 >= 25 AND a1 < 50, c AS a1 >= 50 AND a1 < 75, d AS a1 >= 75",
    ),
}
