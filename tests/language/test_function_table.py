"""One function means one thing wherever it stands, in this process: the kernel, DuckDB, one event and several."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput
from cepheid.language.expressions.function_table import FUNCTIONS, list_names, names_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "functions.md"

# of a.x, b.x (doubles), a.n, b.n (whole numbers): over two events the kernel, in SELECT over the pair DuckDB
EXPRESSIONS = [
    "coalesce(a.x, b.x)", "nullif(a.n, b.n)", "if(a.x > b.x, a.x, b.x)", "greatest(a.x, b.x)", "least(a.n, b.n)",
    "abs(a.n - b.n)", "mod(a.n, b.n)", "sign(a.x - b.x)", "floor(a.x - b.x)", "ceil(a.x - b.x)", "ceiling(a.x - b.x)",
    "truncate(a.x - b.x)", "round(a.x - b.x)", "round(a.x - b.x, 1)", "sqrt(abs(a.x + b.x))", "cbrt(a.x + b.x)",
    "exp(a.n - b.n)", "ln(abs(a.x + b.x) + 1)", "log(2, abs(a.x + b.x) + 1)", "log2(abs(a.x + b.x) + 1)",
    "log10(abs(a.x + b.x) + 1)", "power(a.x, 2 + b.n - b.n)", "pow(a.x, 2 + b.n - b.n)", "sin(a.x + b.n)",
    "cos(a.x + b.n)", "tan(a.x + b.n)", "asin((a.n - b.n) / 10.0)", "acos((a.n - b.n) / 10.0)", "atan(a.x + b.x)",
    "atan2(a.x, b.x)", "radians(a.x + b.x)", "degrees(a.x + b.x)", "to_unixtime(greatest(a.at, b.at))",
    "date_diff('second', a.at, b.at)",
    "a.n + b.n", "a.n - b.n", "a.n * b.n", "a.n / b.n", "a.x / b.x", "a.n % b.n", "-(a.n - b.n)",
]  # fmt: skip
VALUES: list[tuple[float | None, int | None]] = [
    (None, None), (0.0, 0), (1.0, 1), (-1.0, -1), (2.5, 3), (-2.5, -4), (0.1, 2), (7.75, 7),
]  # fmt: skip


def make_pairs() -> pa.Table:
    """Two events of each pair: key, place, values."""
    rows = [
        {"k": 100 * first + second, "at": datetime(2026, 1, 1, 0, 0, 10 * step, tzinfo=UTC), "x": pair[0], "n": pair[1]}
        for first, one in enumerate(VALUES)
        for second, other in enumerate(VALUES)
        for step, pair in enumerate((one, other))
    ]
    types = [("k", pa.int64()), ("at", pa.timestamp("us", tz="UTC")), ("x", pa.float64()), ("n", pa.int64())]
    return pa.Table.from_pylist(rows, schema=pa.schema(types))


def test_a_function_in_define_is_the_same_as_in_measures() -> None:
    """The kernel gives the value that DuckDB computed for the pair, in a query before."""
    events = make_pairs()
    outputs = ", ".join(f"{text} AS e{place}" for place, text in enumerate(EXPRESSIONS))
    pattern = "PARTITION BY k ORDER BY at MEASURES {} PATTERN (a b) DEFINE b AS {}"
    asked = cep.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({pattern.format(outputs, 'true')})", t=events)
    answers = asked.to_pylist()
    by_key = {row["k"]: row for row in answers}
    columns = [pa.array([by_key[k][name] for k in events["k"].to_pylist()]) for name in asked.column_names[1:]]
    given = pa.table([*events.columns, *columns], names=[*events.column_names, *asked.column_names[1:]])
    queries = {}
    for place, text in enumerate(EXPRESSIONS):
        same = f"({text} IS NOT DISTINCT FROM b.e{place} OR abs({text} - b.e{place}) <= 1e-12 * abs(b.e{place}))"
        queries[f"q{place}"] = f"SELECT k FROM t MATCH_RECOGNIZE ({pattern.format('1 AS one', same)})"
    found = cep.sql(queries, t=given)
    wrong = {
        text: sorted(set(by_key) - set(found[f"q{place}"]["k"].to_pylist())) for place, text in enumerate(EXPRESSIONS)
    }
    assert {text: missed for text, missed in wrong.items() if missed} == {}


def test_every_function_of_the_table_is_tried() -> None:
    told = " ".join(EXPRESSIONS)
    assert [name for name in list_names("trino") if f"{name}(" not in told] == []


def test_names_are_of_one_line_each() -> None:
    for dialect in ("trino", "spark"):
        names = [name for function in FUNCTIONS for name in names_of(function, dialect)]  # type: ignore[arg-type]
        assert len(names) == len(set(names)), dialect


def write_page_table() -> str:
    lines = ["| Trino's dialect | Spark's dialect | takes | gives | computed by | |", "|---|---|---|---|---|---|"]
    for function in FUNCTIONS:
        names = (", ".join(f"`{name}`" for name in names_of(function, dialect)) for dialect in ("trino", "spark"))  # type: ignore[arg-type]
        notes = [function.note, "the last digit may differ"] if function.rounded else [function.note]
        told = "; ".join(note for note in notes if note)
        lines.append(f"| {' | '.join([*names, function.takes, function.gives, function.evaluator, told])} |")
    return "\n".join(lines)


def test_the_page_shows_the_table() -> None:
    assert write_page_table() in PAGE.read_text(), "put what write_page_table gives into the page"


def test_a_dialect_must_fit_its_host() -> None:
    table = make_pairs()
    assert cep.sql("SELECT k FROM t", t=table, dialect="trino").num_rows == len(table)
    assert cep.sql("SELECT `k` FROM t", t=table, dialect="spark").num_rows == len(table)
    with pytest.raises(InvalidInput, match='no dialect "mysql"'):
        cep.open("SELECT k FROM t", t=table.schema, dialect="mysql")  # type: ignore[arg-type]


def test_values_of_edges_are_finite() -> None:
    assert all(x is None or math.isfinite(x) for x, _ in VALUES), "DuckDB refuses some functions of others: loudly"
