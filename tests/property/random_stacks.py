"""Random stacks of windows, patterns, OVER and joins over one another, as text: each has the columns k, v and at.

Rows of joins and unions have no order of their own: where two of a key may have one time, only what does not depend on
their order stands over them.
"""

from __future__ import annotations

from random import Random

LATEST = "row_number() OVER (PARTITION BY k ORDER BY at DESC)"
WINDOWS = [
    ("RANGE 4 SECONDS SLIDE 4 SECONDS", "window_end"),
    ("RANGE 4 SECONDS SLIDE 2 SECONDS", "window_start"),
    ("SESSION 2 SECONDS", "window_end"),
    ("RANGE 3 SECONDS", "max(at)"),  # looked at with each event: in order
    ("ROWS 3", "max(at)"),
]


def make_stack(random: Random, depth: int) -> str:
    """depth: how many stand over one another."""
    return _make(random, depth)[0]


def _make(random: Random, depth: int) -> tuple[str, bool]:
    """The text, and may two rows of a key have one time?"""
    if depth == 0:
        return f"SELECT k, v, ts AS at FROM {random.choice('sr')}{random.choice(['', ' WHERE v > 1'])}", False
    below, tied = _make(random, depth - 1)
    keeps = [_choose] if tied else [_pattern, _over, _as_of, _choose]
    make = random.choice([_window, _window, *keeps, _join, _unite, *([] if tied else [_sequence])])
    if make is _window:
        return _window(random, below, tied), False
    return make(random, below, depth), tied or make in (_join, _unite, _sequence)


def make_top(random: Random, stack: str) -> str:
    """A result that changes over a stack."""
    return random.choice(
        [
            f"SELECT k, count(*) AS v, max(at) AS at FROM ({stack}) AS a GROUP BY k",
            f"SELECT DISTINCT k, v FROM ({stack}) AS a",
            f"SELECT k, at FROM (SELECT *, {LATEST} AS n FROM ({stack}) AS a) AS b WHERE n = 1",
            f"SELECT k, v FROM r WHERE v NOT IN (SELECT a.v FROM ({stack}) AS a WHERE a.v IS NOT NULL)",
            f"SELECT a.k AS k, b.v AS v, a.at AS at FROM ({stack}) AS a LEFT JOIN r AS b ON a.k = b.k",
        ]
    )


def _other(random: Random, depth: int, tied: bool = True) -> str:
    while True:
        text, is_tied = _make(random, random.randrange(depth))
        if tied or not is_tied:
            return text


def _window(random: Random, below: str, tied: bool) -> str:
    extent, at = random.choice(WINDOWS[:3] if tied else WINDOWS)
    value = random.choice(["count(*)", "sum(v)", "max(v)"])
    return f"SELECT k, {value} AS v, {at} AS at FROM ({below}) [PARTITION BY k ORDER BY at {extent}] GROUP BY k"


def _pattern(random: Random, below: str, depth: int) -> str:  # noqa: ARG001
    pattern, define = random.choice(
        [("(a b)", "b AS b.v >= a.v"), ("(a+ b) WITHIN INTERVAL '5' SECOND", "a AS a.v > 1, b AS b.v <= 1")]
    )
    return (
        f"SELECT k, v, at FROM ({below}) MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES FIRST(a.v) + b.v AS v, "
        f"b.at AS at PATTERN {pattern} DEFINE {define})"
    )


def _sequence(random: Random, below: str, depth: int) -> str:
    name = f"q{depth}"
    steps = random.choice([f"{name} a, {name} b", f"{name} a, r b"])
    other = "SELECT k, v, ts AS at FROM r" if " r " in steps else ""
    with_other = f", r{depth} AS ({other})" if other else ""
    steps = steps.replace("r b", f"r{depth} b")
    return (
        f"WITH {name} AS ({below}){with_other} SELECT a.k AS k, a.v + b.v AS v, b.at AS at FROM PATTERN SEQ({steps}) "
        "ORDER BY at WHERE a.k = b.k WITHIN INTERVAL '4' SECOND"
    )


def _over(random: Random, below: str, depth: int) -> str:  # noqa: ARG001
    call = random.choice(["lag(v)", "row_number()", "sum(v)", "first_value(v)"])
    frame = " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW" if call == "sum(v)" else ""
    return f"SELECT k, {call} OVER (PARTITION BY k ORDER BY at{frame}) AS v, at FROM ({below}) AS a"


def _join(random: Random, below: str, depth: int) -> str:
    kind = random.choice(["", "LEFT "])
    return (
        f"SELECT a.k AS k, b.v AS v, a.at AS at FROM ({below}) AS a {kind}JOIN ({_other(random, depth)}) AS b "
        "ON a.k = b.k AND b.at BETWEEN a.at - INTERVAL '2' SECOND AND a.at"
    )


def _as_of(random: Random, below: str, depth: int) -> str:
    other = _other(random, depth, tied=False)
    return (
        f"SELECT a.k AS k, b.v AS v, a.at AS at FROM ({below}) AS a ASOF LEFT JOIN ({other}) AS b "
        "ON a.k = b.k AND a.at >= b.at"
    )


def _unite(random: Random, below: str, depth: int) -> str:
    return f"SELECT k, v, at FROM ({below}) AS a UNION ALL SELECT k, v + 1 AS v, at FROM ({_other(random, depth)}) AS b"


def _choose(random: Random, below: str, depth: int) -> str:  # noqa: ARG001
    return f"SELECT k, v * 2 AS v, at FROM ({below}) AS a WHERE v > {random.randrange(3)}"
