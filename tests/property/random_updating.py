"""Random queries whose rows always change, as text: each makes the columns k and v of one or two others."""

from __future__ import annotations

from random import Random

AGGREGATES = [
    "count(*)", "count(v)", "sum(v)", "min(v)", "max(v)", "count(DISTINCT v)", "sum(v) FILTER (WHERE v > 2)",
    "count(DISTINCT k)",
]  # fmt: skip
RANKS = ["row_number()", "rank()", "dense_rank()"]
ORDERS = ["v NULLS LAST", "v DESC NULLS LAST", "v DESC NULLS FIRST"]


def make_updating(random: Random, depth: int) -> str:
    """depth: how many stand over one another."""
    if depth == 0:
        where = random.choice(["", "", " WHERE v > 1", " WHERE k IS NOT NULL"])
        return f"SELECT k, v FROM {random.choice('sr')}{where}"
    make = random.choice([_group, _group, _rank, _top, _distinct, _join, _ask, _scalar, _unite, _over])
    return make(random, depth - 1)


def _below(random: Random, depth: int) -> str:
    return make_updating(random, random.randrange(depth + 1))


def _group(random: Random, depth: int) -> str:
    keys = random.choice(["k", "k", "ROLLUP (k)", "CUBE (k)", "GROUPING SETS ((k), ())"])
    having = random.choice(["", "", " HAVING count(*) > 1"])
    return f"SELECT k, {random.choice(AGGREGATES)} AS v FROM ({_below(random, depth)}) AS a GROUP BY {keys}{having}"


def _rank(random: Random, depth: int) -> str:
    over = f"{random.choice(RANKS)} OVER ({random.choice(['PARTITION BY k ', ''])}ORDER BY {random.choice(ORDERS)}, k)"
    test = random.choice(["n = 1", "n <= 2", "n < 4 AND v > 1", "n > 1", "n BETWEEN 2 AND 3"])
    return f"SELECT k, v FROM (SELECT k, v, {over} AS n FROM ({_below(random, depth)}) AS a) AS b WHERE {test}"


def _top(random: Random, depth: int) -> str:
    few = random.choice(["LIMIT 2", "LIMIT 3 OFFSET 1"])
    return f"SELECT k, v FROM ({_below(random, depth)}) AS a ORDER BY {random.choice(ORDERS)}, k NULLS LAST {few}"


def _distinct(random: Random, depth: int) -> str:
    return f"SELECT DISTINCT k, v FROM ({_below(random, depth)}) AS a"


def _join(random: Random, depth: int) -> str:
    kind = random.choice(["", "LEFT ", "RIGHT ", "FULL "])
    more = random.choice(["", "", " AND a.v < b.v", " AND b.v > 2"])
    left, right = _below(random, depth), _below(random, depth)
    return f"SELECT a.k AS k, b.v AS v FROM ({left}) AS a {kind}JOIN ({right}) AS b ON a.k = b.k{more}"


def _ask(random: Random, depth: int) -> str:
    left, right = _below(random, depth), _below(random, depth)
    test = random.choice(
        [
            f"v IN (SELECT b.v FROM ({right}) AS b)",
            f"v NOT IN (SELECT b.v FROM ({right}) AS b)",
            f"v NOT IN (SELECT b.v FROM ({right}) AS b WHERE b.v IS NOT NULL)",
            f"EXISTS (SELECT 1 FROM ({right}) AS b WHERE b.k = a.k AND b.v > 1)",
            f"NOT EXISTS (SELECT 1 FROM ({right}) AS b WHERE b.k = a.k)",
            f"v >= ALL (SELECT b.v FROM ({right}) AS b)",
        ]
    )
    return (
        f"SELECT a.k AS k, a.v AS v FROM ({left}) AS a WHERE a.{test}"
        if test[0] == "v"
        else (f"SELECT a.k AS k, a.v AS v FROM ({left}) AS a WHERE {test}")
    )


def _scalar(random: Random, depth: int) -> str:
    left, right = _below(random, depth), _below(random, depth)
    if random.random() < 0.5:
        return f"SELECT a.k AS k, a.v AS v FROM ({left}) AS a WHERE a.v > (SELECT avg(b.v) FROM ({right}) AS b)"
    return f"SELECT a.k AS k, (SELECT max(b.v) FROM ({right}) AS b WHERE b.k = a.k) AS v FROM ({left}) AS a"


def _unite(random: Random, depth: int) -> str:
    words = random.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
    left, right = _below(random, depth), _below(random, depth)
    return f"SELECT k, v FROM ({left}) AS a {words} SELECT k, v FROM ({right}) AS b"


def _over(random: Random, depth: int) -> str:
    call = random.choice(["sum(v)", "count(*)", "max(v)", "first_value(v)"])
    order = (
        random.choice(["", f" ORDER BY {random.choice(ORDERS)}"])
        if call != "first_value(v)"
        else f" ORDER BY {ORDERS[0]}"
    )
    return f"SELECT k, {call} OVER (PARTITION BY k{order}) AS v FROM ({_below(random, depth)}) AS a"
