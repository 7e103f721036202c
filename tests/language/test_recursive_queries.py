"""WITH RECURSIVE, and queries over nothing: names of columns stay, and nothing is left out without a word."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import NotSupportedYet

EVENTS = pa.table({"ts": pa.array([1, 2], pa.timestamp("s")), "x": [1, 2]})


def run_continuously(query: str) -> list[dict[str, object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = cep.open(query, t=EVENTS.schema)
        return pa.concat_tables([opened.push(t=EVENTS), opened.finish()]).to_pylist()


@pytest.mark.parametrize(
    "query",
    [
        (
            "WITH RECURSIVE q AS (SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES a.x AS x PATTERN (a))) "
            "SELECT * FROM q"
        ),
        "WITH RECURSIVE a AS (SELECT * FROM t), b AS (SELECT x FROM a) SELECT * FROM b",
        "SELECT x FROM t WHERE x IN (SELECT 1 UNION ALL SELECT 2)",
    ],
)
def test_the_word_recursive_changes_no_names(query: str) -> None:
    assert cep.sql(query, t=EVENTS).to_pylist() == [{"x": 1}, {"x": 2}]
    assert run_continuously(query) == [{"x": 1}, {"x": 2}]


def test_a_query_that_reads_itself_names_its_columns() -> None:
    query = "WITH RECURSIVE q {} AS (SELECT {} FROM t UNION ALL SELECT x + 1 FROM q WHERE x < 2) SELECT * FROM q"
    assert cep.sql(query.format("(x)", "x"), t=EVENTS).column("x").to_pylist() == [1, 2, 2]
    with pytest.raises(NotSupportedYet, match="WITH RECURSIVE") as refused:
        cep.sql(query.format("", "*"), t=EVENTS)
    assert refused.value.span is not None


def test_a_continuous_query_reads_a_stream() -> None:
    with pytest.raises(NotSupportedYet, match="reads no stream"):
        cep.open("SELECT 1 AS x", t=EVENTS.schema)
