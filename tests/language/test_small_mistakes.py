"""What was said about a query named the wrong thing, or a query was refused that needs nothing special."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidQuery

START = datetime(2026, 1, 1)  # noqa: DTZ001 (times without a zone, as in the schema)
TIMES = [START + timedelta(seconds=number) for number in range(4)]
EVENTS = pa.table({"ts": TIMES, "n": [0, 1, 2, 3], "v": [1, None, 3, 0], "w": list("abab")})
TWO_TIMES = pa.table({"at": TIMES, "seen": [moment + timedelta(days=1) for moment in TIMES], "w": list("abab")})


def run(text: str, **tables: pa.Table) -> list[dict[str, object]]:
    """The rows of a table; those of a stream are the same."""
    found = cep.sql(text, **tables)
    query = cep.open(text, **{name: table.schema for name, table in tables.items()})
    streamed = pa.concat_tables([query.push(**tables), query.finish()])
    assert sorted(map(str, streamed.to_pylist())) == sorted(map(str, found.to_pylist()))
    assert streamed.schema == found.schema
    return found.to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "call", ["LAST(DISTINCT a.v)", "FIRST(DISTINCT a.v, 1)", "PREV(DISTINCT v)", "NEXT(DISTINCT v)"]
)
@pytest.mark.parametrize("place", ["measures", "define"])
def test_distinct_in_navigation(call: str, place: str) -> None:
    measure, condition = (call, "b.v > 0") if place == "measures" else ("a.v", f"{call} > 0")
    text = (
        f"SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES {measure} AS x PATTERN (a b) DEFINE b AS {condition})"
    )
    for run_it in (lambda: cep.sql(text, s=EVENTS), lambda: cep.open(text, s=EVENTS.schema)):
        with pytest.raises(InvalidQuery, match=f"DISTINCT has no meaning in {call.partition('(')[0]}"):
            run_it()


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("(TRUE) IS NOT TRUE", []),
        ("(v > 1) IS TRUE", [2]),
        ("(v > 1) IS NOT TRUE", [0, 1, 3]),
        ("(v > 1) IS FALSE", [0, 3]),
        ("(v > 1) IS NOT FALSE", [1, 2]),
        ("(a.v > LAST(a.v, 1)) IS NOT FALSE", [0, 1, 2, 3]),
    ],
)
def test_is_true_in_define(condition: str, rows: list[int]) -> None:
    text = f"SELECT n FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES a.n AS n PATTERN (a) DEFINE a AS {condition})"
    assert [row["n"] for row in run(text, s=EVENTS)] == rows


def test_interval_join_is_ordered_by_the_times_that_it_compares() -> None:
    text = "SELECT x.n FROM s x JOIN t y ON x.w = y.w AND y.at BETWEEN x.ts AND x.ts + INTERVAL '1' SECOND"
    assert len(run(text, s=EVENTS, t=TWO_TIMES)) == 4


@pytest.mark.parametrize(
    "outputs", ["*, 's1' AS k", "'s1' AS k, *", "e.*, 's1' AS k", "* EXCEPT (v), 's1' AS k", "*, n + 1 AS m, w AS k"]
)
def test_star_beside_other_columns_under_a_pattern(outputs: str) -> None:
    text = f"""WITH u AS (SELECT {outputs} FROM s e UNION ALL SELECT {outputs.replace("s1", "s2")} FROM s e WHERE n > 1)
        SELECT * FROM u MATCH_RECOGNIZE (ORDER BY ts MEASURES a.k AS k, b.n AS n PATTERN (a b) DEFINE b AS b.n > 0)"""
    assert run(text, s=EVENTS)


FOUND_AT_RANDOM = {
    "SELECT * cast FROM buses": "cast",
    "SELECT * FROM buses MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS b PATTERN (a) DEFINE a AS bus | LAG(bus))": "LAG",
    "SELECT max_by(bus) AS m FROM buses": None,
}


@pytest.mark.parametrize("query", FOUND_AT_RANDOM)
def test_what_random_mutations_found_is_an_error_of_ours(query: str) -> None:
    buses = pa.table({"ts": pa.array([1], pa.timestamp("us")), "bus": [1], "delay": [1.0]})
    with pytest.raises(cep.CepheidError) as told:
        cep.sql(query, buses=buses)
    assert told.value.hint
    place = FOUND_AT_RANDOM[query]
    if place is not None:
        assert told.value.span is not None
        assert place in query[told.value.span.start : told.value.span.end]


def test_an_offset_beyond_all_numbers_reaches_no_row() -> None:
    buses = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "bus": [1, 2]})
    query = cep.open("SELECT lag(bus, 9223372036854775808) OVER (ORDER BY ts) AS b FROM buses", buses=buses.schema)
    assert query.push(buses=buses).column("b").to_pylist() + query.finish().column("b").to_pylist() == [None, None]
