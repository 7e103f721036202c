"""Where one condition implies another, every row that passes the first passes the second; asked of DuckDB."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.language.relations.sql_values import read_condition
from cepheid.scalars.implication import implies
from cepheid.scalars.value import Scalar

VALUES = [None, float("nan"), float("inf"), float("-inf"), -2.0, -1.0, 0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0]
TABLE = pa.table({
    "x": pa.array([x for x in VALUES for _ in VALUES for _ in range(3)], pa.float64()),
    "y": pa.array([y for _ in VALUES for y in VALUES for _ in range(3)], pa.float64()),
    "f": pa.array([f for _ in VALUES for f in VALUES for _ in range(3)], pa.float32()),
    "n": pa.array([number % 5 - 2 if number % 7 else None for number in range(3 * len(VALUES) ** 2)], pa.int32()),
    "s": pa.array([s for _ in VALUES for _ in VALUES for s in ("a", "b", None)]),
})  # fmt: skip
NUMBERS = ("-2", "-1", "0", "0.1", "0.10000000001", "0.5", "1", "1.5", "2", "CAST(1 AS DOUBLE)", "1e0", "3")
CASES = 6000


def value_of(text: str) -> Scalar:
    value = read_condition(text)
    assert value is not None, text
    return value


def make_condition(random: Random, depth: int) -> str:
    if depth and random.random() < 0.45:
        joint = random.choice((" AND ", " OR "))
        return "(" + joint.join(make_condition(random, depth - 1) for _ in range(random.randint(2, 3))) + ")"
    if random.random() < 0.15:
        return random.choice(("s = 'a'", "s <> 'b'", "s IN ('a', 'b')", "'a' = s", "s IS NOT NULL", "s <> 'a'"))
    column = random.choice("xxyfn")
    match random.choice(("compare", "compare", "compare", "mirrored", "between", "in", "null", "not", "columns")):
        case "mirrored":
            return f"{random.choice(NUMBERS)} {random.choice(('=', '<>', '<', '<=', '>', '>='))} {column}"
        case "between":
            return f"{column} BETWEEN {random.choice(NUMBERS)} AND {random.choice(NUMBERS)}"
        case "in":
            return f"{column} IN ({', '.join(random.sample(NUMBERS, random.randint(1, 3)))})"
        case "null":
            return f"{column} IS {random.choice(('', 'NOT '))}NULL"
        case "not":
            return f"NOT ({column} > {random.choice(NUMBERS)})"
        case "columns":
            return f"x {random.choice(('=', '<', '>='))} y"
    return f"{column} {random.choice(('=', '<>', '<', '<=', '>', '>='))} {random.choice(NUMBERS)}"


def passing(condition: Scalar, known: dict[Scalar, frozenset[int]]) -> frozenset[int]:
    if condition not in known:
        sql = f"SELECT coalesce({write_duckdb(condition)}, FALSE) AS holds FROM _input"
        holds = run_duckdb(sql, {"_input": TABLE}).column(0).to_pylist()
        known[condition] = frozenset(number for number, found in enumerate(holds) if found)
    return known[condition]


def test_implied_conditions_hold_wherever_the_others_do() -> None:
    random = Random(11)
    known: dict[Scalar, frozenset[int]] = {}
    conditions = [value_of(make_condition(random, number % 3)) for number in range(400)]
    said = missed = 0
    for _ in range(CASES):
        premise, conclusion = random.choice(conditions), random.choice(conditions)
        if implies(premise, conclusion):
            said += premise != conclusion
            assert passing(premise, known) <= passing(conclusion, known), (premise, conclusion)
        elif passing(premise, known) and passing(premise, known) <= passing(conclusion, known):
            missed += 1
    assert said > 60, "many follow from one another"
    assert said > missed / 6, f"most of those that follow are seen: {said} are, {missed} are not"


def test_what_follows_is_said() -> None:
    follows = [
        ("x > 5 AND y = 2", "x > 3"), ("x = 4", "x IN (4, 5)"), ("x BETWEEN 2 AND 3", "x < 10 OR y = 1"),
        ("x < 5", "x IS NOT NULL"), ("5 > x", "x < 6"), ("x > 5 OR x > 7", "x >= 5"), ("x IN (1, 2)", "x < 3"),
        ("s = 'a'", "s <> 'b'"), ("x > 1 AND x < 5", "x < 5 AND x > 1"), ("x = y", "y IS NOT NULL"),
    ]  # fmt: skip
    for premise, conclusion in follows:
        assert implies(value_of(premise), value_of(conclusion)), (premise, conclusion)


def test_what_does_not_follow_is_not_said() -> None:
    others = [
        ("x > 3", "x > 5"), ("x >= 5", "x > 5"), ("x > 3 OR y = 1", "x > 3"), ("x <> 3", "x > 3"), ("x < 5", "y < 5"),
        ("s = '1'", "s <> '01'"), ("NOT (x > 3)", "x IS NOT NULL OR y > 0"), ("x IS NULL", "x < 5"),
        ("x >= 0.10000000001", "x > 0.1"),
    ]  # fmt: skip
    for premise, conclusion in others:
        assert not implies(value_of(premise), value_of(conclusion)), (premise, conclusion)
