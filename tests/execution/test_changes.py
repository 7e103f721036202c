"""Rows that come and go, vertex by vertex; what of them is refused, and when."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet, SnapshotMismatch, UnboundedState
from cepheid.execution.changing.given_rows import find_places
from cepheid.execution.embedded.carried_vertex import with_carried_columns
from cepheid.execution.embedded.relations import run_relational
from cepheid.graph.changing import UNSTABLE
from cepheid.graph.operators import Relation
from cepheid.language.relations.sql_values import read_condition

BEGIN = datetime.fromisoformat("2026-01-01")
PLAIN = {"ts": "timestamp", "bus": "int", "delay": "bigint"}
SCHEMA = {"_change": "string", "_match": "bigint", "_version": "bigint", **PLAIN}
LATENESS = timedelta(seconds=5)

Change = tuple[str, int, int, int, int | None, int | None]  # change, match, version, second, bus, delay
Row = tuple[Any, ...]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Tests end: that all rows are kept does not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.errors.UnboundedStateWarning)
        yield


def changes(*rows: Change) -> pa.Table:
    names = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "timestamp": pa.timestamp("us")}
    told = [(change, match, version, at(second), bus, delay) for change, match, version, second, bus, delay in rows]
    kinds = [names[kind] for kind in SCHEMA.values()]
    columns = list(zip(*told, strict=True)) or [()] * len(kinds)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], names=list(SCHEMA))


def at(second: int) -> datetime:
    return BEGIN + timedelta(seconds=second)


def told(table: pa.Table) -> list[Row]:
    """Change and values, without ids and versions."""
    return [(row["_change"], *list(row.values())[3:]) for row in table.to_pylist()]


def ins(match: int, second: int, bus: int | None, delay: int | None, version: int = 1) -> Change:
    return ("insert", match, version, second, bus, delay)


def ret(match: int, second: int, bus: int | None, delay: int | None, version: int = 1) -> Change:
    return ("retract", match, version, second, bus, delay)


# --- vertices that look at single rows -------------------------------------------------------------------
def test_filter_and_projection_pass_the_input_s_match_and_version() -> None:
    query = cep.open("SELECT bus, delay * 2 AS twice FROM s WHERE delay > 5", s=SCHEMA)
    assert query.schema.names == ["_change", "_match", "_version", "bus", "twice"]
    rows = query.push(s=changes(ins(7, 0, 1, 10, version=3), ins(8, 0, 1, 2)))
    assert rows.to_pylist() == [{"_change": "insert", "_match": 7, "_version": 3, "bus": 1, "twice": 20}]
    rows = query.push(s=changes(ret(7, 0, 1, 10, version=4), ret(8, 0, 1, 2)))
    assert rows.to_pylist() == [{"_change": "retract", "_match": 7, "_version": 4, "bus": 1, "twice": 20}]


def test_higher_version_takes_the_place_of_a_row() -> None:
    query = cep.open("SELECT delay FROM s WHERE delay > 5", s=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 10), ins(2, 0, 1, 20)))
    rows = query.push(s=changes(ins(1, 0, 1, 3, version=2), ins(2, 0, 1, 30, version=2)))
    assert told(rows) == [("retract", 10), ("retract", 20), ("insert", 30)], "the first no longer passes the filter"


def test_retract_is_told_by_its_match_alone() -> None:
    query = cep.open("SELECT delay FROM s", s=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 10)))
    assert told(query.push(s=changes(ret(1, 99, None, None)))) == [("retract", 10)], "the whole old row"


def test_what_a_push_says_of_one_row_is_one_change() -> None:
    query = cep.open("SELECT delay FROM s", s=SCHEMA)
    rows = query.push(
        s=changes(ins(1, 0, 1, 1), ret(1, 0, 1, 1), ins(1, 0, 1, 2, version=2), ins(2, 0, 1, 5), ret(2, 0, 1, 5))
    )
    assert told(rows) == [("insert", 2)]


def test_union_tells_matches_of_two_streams_apart() -> None:
    query = cep.open("SELECT delay FROM s UNION ALL SELECT delay FROM t", s=SCHEMA, t=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 10)), t=changes(ins(1, 0, 1, 20)))
    (row,) = query.push(t=changes(ret(1, 0, 1, 20))).to_pylist()
    assert row == {"_change": "retract", "_match": "t:1", "_version": 1, "delay": 20}


def test_table_join_takes_back_every_row_that_an_event_found() -> None:
    stops = cep.Table({"bus": [1, 1, 2], "stop": ["a", "b", "c"]})
    query = cep.open("SELECT s.delay, c.stop FROM s JOIN c ON s.bus = c.bus", s=SCHEMA, c=stops)
    query.push(s=changes(ins(1, 0, 1, 10)))
    rows = query.push(s=changes(ret(1, 0, 1, 10), ins(2, 1, 2, 20)))
    assert told(rows) == [("retract", 10, "a"), ("retract", 10, "b"), ("insert", 20, "c")]


def test_refreshed_table_is_refused() -> None:
    stops = cep.Table({"bus": [1], "stop": ["a"]})
    query = cep.open("SELECT s.delay, c.stop FROM s JOIN c ON s.bus = c.bus", s=SCHEMA, c=stops)
    query.push(s=changes(ins(1, 0, 1, 10)))
    stops.refresh({"bus": [1], "stop": ["b"]})
    with pytest.raises(NotSupportedYet, match='a refresh of the table "c"'):
        query.push(s=changes(ret(1, 0, 1, 10)))


def test_row_wise_relation_carries_what_is_known_of_its_rows() -> None:
    text = "SELECT a + 1 AS b FROM t UNION ALL SELECT * FROM u WHERE a > 1"
    query = read_condition(text)
    assert query is not None
    node = with_carried_columns(Relation(query=query, inputs=("t", "u")))
    carried = {"_change.gone": [False], "_change.row": ["s:1"], "_change.version": [1], "_change.place": [0]}
    rows = run_relational(node, [pa.table({"a": [1], **carried}), pa.table({**carried, "a": [2]})])
    assert rows.column_names == ["b", *carried]
    assert rows.column("b").to_pylist() == [2, 2]


# --- engines ---------------------------------------------------------------------------------------------
def test_window_puts_its_rows_right() -> None:
    query = cep.open("SELECT bus, sum(delay) AS total FROM s [ORDER BY ts ROWS 2] GROUP BY bus", s=SCHEMA)
    first = query.push(s=changes(ins(1, 0, 1, 10), ins(2, 1, 1, 20), ins(3, 2, 1, 30)))
    assert told(first) == [("insert", 1, 10), ("insert", 1, 30)], "the last moment may still get events"
    second = query.push(s=changes(ret(1, 0, 1, 10)))
    assert told(second) == [("retract", 1, 10), ("retract", 1, 30), ("insert", 1, 20)]
    matches = [row["_match"] for row in (first.to_pylist() + second.to_pylist())]
    assert matches[1] == matches[3] == matches[4], "the row of the second event is the same row"
    assert second.column("_version").to_pylist() == [2, 2, 3]
    assert told(query.finish()) == [("insert", 1, 50)]


def test_event_older_than_what_was_given_out_is_a_correction() -> None:
    query = cep.open("SELECT count(*) AS n FROM s [ORDER BY ts RANGE 10 SECONDS]", s=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 1), ins(2, 5, 1, 1), ins(3, 9, 1, 1)))
    rows = query.push(s=changes(ins(4, 3, 1, 1)))
    assert sorted(told(rows)) == [("insert", 2), ("insert", 3), ("retract", 2)]
    assert query.counts.late == 0


def test_pattern_keeps_the_id_of_a_match_whose_values_change() -> None:
    text = "SELECT a.delay AS x, b.delay AS y FROM PATTERN SEQ(s a, s b) WHERE a.bus = b.bus WITHIN INTERVAL '9' SECOND"
    query = cep.open(text, s=SCHEMA)
    first = query.push(s=changes(ins(1, 0, 1, 10), ins(2, 1, 1, 20), ins(3, 5, 2, 0)))
    again = query.push(s=changes(ins(2, 1, 1, 21, version=2)))
    assert told(again) == [("retract", 10, 20), ("insert", 10, 21)]
    assert set(again.column("_match").to_pylist()) == set(first.column("_match").to_pylist())
    gone = query.push(s=changes(ret(1, 0, 1, 10)))
    assert told(gone) == [("retract", 10, 21)]


def test_retraction_can_make_an_absence_true() -> None:
    text = (
        "SELECT a.delay AS x FROM PATTERN SEQ(s a, ~t c) WHERE a.bus = c.bus WITHIN INTERVAL '3' SECOND "
        "STRATEGY skip_till_next"
    )
    query = cep.open(text, s=SCHEMA, t=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 10), ins(2, 20, 2, 0)), t=changes(ins(1, 1, 1, 0), ins(2, 20, 3, 0)))
    assert told(query.push(t=changes(ret(1, 1, 1, 0)))) == [("insert", 10)]
    assert told(query.push(t=changes(ins(1, 2, 1, 0, version=2)))) == [("retract", 10)]


def test_window_join_takes_back_the_pairs_of_an_event() -> None:
    text = (
        "SELECT x.delay AS a, y.delay AS b FROM s [ORDER BY ts RANGE 9 SECONDS] AS x, "
        "t [ORDER BY ts RANGE 9 SECONDS] AS y WHERE x.bus = y.bus"
    )
    query = cep.open(text, s=SCHEMA, t=PLAIN)
    plain = changes(ins(1, 1, 1, 5), ins(2, 2, 1, 6), ins(3, 8, 2, 0)).select(list(PLAIN))
    rows = query.push(s=changes(ins(1, 0, 1, 10), ins(2, 8, 2, 0)), t=plain)
    assert told(rows) == [("insert", 10, 5), ("insert", 10, 6)]
    assert told(query.push(s=changes(ret(1, 0, 1, 10)))) == [("retract", 10, 5), ("retract", 10, 6)]


def test_istream_follows_what_changes() -> None:
    text = "SELECT ISTREAM bus, count(*) AS n FROM s [ORDER BY ts ROWS 5] GROUP BY bus"
    query = cep.open(text, s=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 0), ins(2, 1, 1, 0), ins(3, 2, 1, 0), ins(4, 8, 2, 0), ins(5, 9, 2, 0)))
    rows = query.push(s=changes(ret(2, 1, 1, 0)))
    assert told(rows) == [("retract", 1, 2), ("retract", 1, 3), ("insert", 1, 2)], "later evaluations stay as they are"


def test_chain_passes_corrections_on() -> None:
    lower = "SELECT bus, sum(delay) AS d FROM s [ORDER BY ts RANGE 2 SECONDS SLIDE 2 SECONDS] GROUP BY bus"
    query = cep.open(f"SELECT max(d) AS most FROM ({lower}) [RANGE 1 HOUR]", s=SCHEMA)
    rows = query.push(s=changes(ins(1, 0, 1, 10), ins(2, 2, 1, 7), ins(3, 4, 1, 1), ins(4, 9, 1, 1), ins(5, 20, 1, 1)))
    assert told(rows)[:3] == [("insert", 10)] * 3
    rows = query.push(s=changes(ret(1, 0, 1, 10)))
    assert told(rows)[-2:] == [("insert", 7), ("insert", 7)]
    assert {change for change, _ in told(rows)[:3]} == {"retract"}


def test_corrected_row_keeps_its_place_among_rows_of_one_time() -> None:
    lower = "SELECT bus, sum(delay) AS d FROM s [PARTITION BY bus ORDER BY ts ROWS 5] GROUP BY bus"
    query = cep.open(f"SELECT array_agg(d) AS all_d FROM ({lower}) [ROWS 9]", s=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 100), ins(2, 5, 1, 10), ins(3, 5, 2, 20), ins(4, 9, 3, 1), ins(5, 10, 3, 1)))
    rows = query.push(s=changes(ret(1, 0, 1, 100)))
    assert ("insert", [10, 20]) in told(rows), "the first of the two changed, and is still the first"
    rows = query.push(s=changes(ins(6, 5, 2, 5)))
    assert ("insert", [10, 20, 25]) in told(rows)


def test_several_queries_only_those_over_changing_streams_show_it() -> None:
    windows = "SELECT count(*) AS n FROM {} [ORDER BY ts ROWS 2]"
    join = "SELECT x.delay FROM s [ORDER BY ts ROWS 9] AS x, t [ORDER BY ts ROWS 9] AS y WHERE x.bus = y.bus"
    queries = {
        "changing": windows.format("s"),
        "plain": windows.format("t"),
        "both": join,
        "filter": "SELECT bus FROM t",
    }
    query = cep.open(queries, s=SCHEMA, t=PLAIN)
    shown = {name: schema.names[:3] == ["_change", "_match", "_version"] for name, schema in query.schema.items()}
    assert shown == {"changing": True, "plain": False, "both": True, "filter": False}
    rows = query.push(s=changes(ins(1, 0, 1, 10)), t=changes(ins(1, 0, 1, 10)).select(list(PLAIN)))
    assert rows["filter"].to_pylist() == [{"bus": 1}]
    assert rows["plain"].to_pylist() == [{"n": 1}]
    assert told(query.finish()["both"]) == [("insert", 10)]


def test_plain_query_shares_a_window_with_one_that_changes() -> None:
    window = "SELECT count(*) AS n, last(bus) AS bus FROM t [ORDER BY ts ROWS 2]"
    queries = {
        "alone": window,
        "plain": f"SELECT sum(n) AS m, last(bus) AS bus FROM ({window}) [RANGE 9 SECONDS]",
        "both": f"SELECT x.n, y.delay FROM ({window}) [RANGE 9 SECONDS] AS x, s [ORDER BY ts ROWS 9] AS y "
        "WHERE x.bus = y.bus",
    }
    query = cep.open(queries, s=SCHEMA, t=PLAIN)
    given = changes(ins(1, 0, 1, 10), ins(2, 1, 1, 20), ins(3, 2, 1, 30), ins(4, 1, 1, 0))
    rows = [query.push(s=changes(ins(1, 3, 1, 7)), t=given.slice(0, 3).select(list(PLAIN)))]
    rows.append(query.push(s=changes(ret(1, 3, 1, 7), ins(2, 4, 1, 8)), t=given.slice(3).select(list(PLAIN))))
    assert query.counts.late == 2, "a stream that only grows is late as ever, for each engine"
    rows.append(query.finish())
    assert [row for each in rows for row in each["alone"].column("n").to_pylist()] == [1, 2, 2]
    assert [row for each in rows for row in each["plain"].column("m").to_pylist()] == [1, 3, 5]
    netted = sorted(row for each in rows for row in told(each["both"]))
    assert netted == [("insert", 1, 8), ("insert", 2, 8), ("insert", 2, 8)]


# --- lateness --------------------------------------------------------------------------------------------
def test_with_a_bound_retractions_cancel_what_waits_and_older_ones_are_late() -> None:
    query = cep.open("SELECT sum(delay) AS d FROM s [ORDER BY ts ROWS 2]", s=SCHEMA, lateness=LATENESS)
    assert not len(query.push(s=changes(ins(1, 0, 1, 1), ins(2, 4, 1, 2))))
    assert not len(query.push(s=changes(ret(2, 4, 1, 2), ins(3, 5, 1, 4))))
    assert told(query.push(s=changes(ins(4, 11, 1, 8)))) == [("insert", 1), ("insert", 5)]
    assert not len(query.push(s=changes(ret(1, 0, 1, 1), ins(5, 2, 1, 9))))
    assert query.counts.late == 2
    assert sorted(query.late_events().column("delay").to_pylist()) == [1, 9]
    assert told(query.finish()) == [("insert", 12)]


def test_rows_that_are_late_for_everybody_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.execution.changing.ledger.SPARE_ROWS", 10)
    query = cep.open("SELECT count(*) AS n FROM s [ORDER BY ts ROWS 2]", s=SCHEMA, lateness=LATENESS)
    for number in range(200):
        query.push(s=changes(ins(number, number, 1, 1)))
    assert len(query._host._ledgers._ledgers["s"]) < 60
    query.push(s=changes(ret(3, 3, 1, 1)))
    assert query.counts.late == 1, "it may have been there"
    with pytest.raises(InvalidInput, match="which was never inserted"):
        query.push(s=changes(ret(1000, 199, 1, 1)))


def test_without_a_bound_a_warning_says_that_all_rows_are_kept() -> None:
    text = "SELECT count(*) AS n FROM s [ORDER BY ts ROWS 2]"
    with pytest.warns(cep.errors.UnboundedStateWarning, match='any row of "s" may be taken back.*lateness'):
        cep.open(text, s=SCHEMA)
    with pytest.raises(UnboundedState):
        cep.open(text, s=SCHEMA, strict=True)
    cep.open(text, s=SCHEMA, lateness=LATENESS, strict=True)


# --- snapshots -------------------------------------------------------------------------------------------
def test_snapshot_goes_on_with_corrections_ids_and_versions() -> None:
    text = "SELECT bus, sum(delay) AS d FROM s [ORDER BY ts ROWS 2] GROUP BY bus"
    pushes = [
        changes(ins(1, 0, 1, 10), ins(2, 1, 1, 20), ins(3, 9, 1, 30)),
        changes(ret(1, 0, 1, 10)),
        changes(ins(1, 0, 1, 11, version=2), ins(2, 1, 1, 22, version=2)),
    ]
    whole, parted = cep.open(text, s=SCHEMA), cep.open(text, s=SCHEMA)
    for push in pushes:
        expected = whole.push(s=push)
        assert parted.push(s=push).equals(expected)
        parted = cep.open(text.replace("AS d", "AS total"), s=SCHEMA, snapshot=parted.snapshot())
        assert parted.schema.names[-1] == "total"
        parted = cep.open(text, s=SCHEMA, snapshot=parted.snapshot())
    assert parted.finish().equals(whole.finish())


def test_snapshot_of_events_that_only_come_is_refused_for_those_that_go_as_well() -> None:
    text = "SELECT sum(delay) AS d FROM s [ORDER BY ts ROWS 2]"
    plain, changing = cep.open(text, s=PLAIN), cep.open(text, s=SCHEMA)
    with pytest.raises(SnapshotMismatch, match="only come"):
        cep.open(text, s=SCHEMA, snapshot=plain.snapshot())
    with pytest.raises(SnapshotMismatch, match="come and go"):
        cep.open(text, s=PLAIN, snapshot=changing.snapshot())


# --- whole tables ----------------------------------------------------------------------------------------
def test_whole_table_is_netted_out() -> None:
    table = changes(ins(1, 0, 1, 10), ins(2, 1, 1, 20), ret(1, 0, 1, 10), ins(2, 1, 1, 25, version=2), ins(3, 2, 1, 1))
    assert cep.sql("SELECT * FROM s", s=table).to_pylist() == [
        {"ts": at(1), "bus": 1, "delay": 25},
        {"ts": at(2), "bus": 1, "delay": 1},
    ]


# --- what is refused -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ((ret(9, 0, 1, 1),), "a retract of _match 9, which was never inserted"),
        ((ret(1, 0, 1, 1), ret(1, 0, 1, 1)), "a retract of _match 1, which was retracted before"),
        ((ins(1, 0, 1, 1, version=2),), "an insert of _match 1 with _version 2, which is there already"),
        ((ins(1, 0, 1, 1, version=1),), "an insert of _match 1 with _version 1, after 2"),
        ((ret(1, 0, 1, 1, version=1),), "a retract of _match 1 with _version 1, after 2"),
        ((("update", 1, 3, 0, 1, 1),), "'update' for _change"),
    ],
)
def test_impossible_change_is_refused_with_its_whole_push(bad: tuple[Change, ...], said: str) -> None:
    query = cep.open("SELECT delay FROM s", s=SCHEMA)
    query.push(s=changes(ins(1, 0, 1, 10, version=2)))
    bad = tuple((*row[:2], 2, *row[3:]) if row[0] == "retract" and said.endswith("before") else row for row in bad)
    with pytest.raises(InvalidInput, match=said) as problem:
        query.push(s=changes(ins(5, 0, 1, 50), *bad))
    assert problem.value.hint
    assert told(query.push(s=changes(ins(5, 0, 1, 50)))) == [("insert", 50)], "nothing of the push was taken"


@pytest.mark.parametrize("column", ["_change", "_match", "_version"])
def test_change_without_one_of_its_columns_is_refused(column: str) -> None:
    query = cep.open("SELECT delay FROM s", s=SCHEMA)
    table = changes(ins(1, 0, 1, 1))
    place = table.column_names.index(column)
    empty = table.set_column(place, table.schema.field(place), pa.nulls(1, table.schema.field(place).type))
    with pytest.raises(InvalidInput, match=column):
        query.push(s=empty)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"_change": "string", **PLAIN}, '"s" has "_change" but not "_match"'),
        ({**SCHEMA, "_version": "string"}, '"s._version" is of type string'),
        ({**SCHEMA, "_match": "double"}, '"s._match" is of type double'),
        ({"_change": "string", "_match": "bigint", "_version": "bigint"}, "no columns besides"),
    ],
)
def test_schema_that_says_changes_wrongly_is_refused(schema: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as problem:
        cep.open("SELECT * FROM s", s=schema)
    assert problem.value.hint


@pytest.mark.parametrize("text", ["SELECT _match FROM s", "SELECT delay FROM s WHERE _change = 'insert'"])
def test_queries_do_not_see_the_columns(text: str) -> None:
    with pytest.raises(CepheidError) as problem:
        cep.open(text, s=SCHEMA)
    assert "queries do not see _change" in (problem.value.hint or "")


def test_column_of_that_name_in_the_answer_is_refused() -> None:
    with pytest.raises(CepheidError, match='has a column "_match"') as problem:
        cep.open("SELECT delay AS _match FROM s", s=SCHEMA)
    assert problem.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT delay, random() AS r FROM s",
        "SELECT delay FROM s WHERE ts < now()",
        "SELECT delay, uuid() AS u FROM s",
        "SELECT sum(r) AS r FROM (SELECT ts, delay * random() AS r FROM s) [ORDER BY ts ROWS 2]",
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES a.delay + random() AS d PATTERN (a))",
    ],
)
def test_what_answers_differently_each_time_is_refused_before_anything_runs(text: str) -> None:
    cep.open(text, s=PLAIN)
    with pytest.raises(NotSupportedYet, match="over a stream that takes rows back") as problem:
        cep.open(text, s=SCHEMA)
    assert problem.value.hint


def test_every_function_that_duckdb_calls_unstable_is_known() -> None:
    asked = "SELECT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT' AND function_type = 'scalar'"
    found = {name for (name,) in duckdb.sql(asked).fetchall()}
    about_the_session = {
        "current_database",
        "current_schema",
        "current_schemas",
        "in_search_path",
        "stats",
        "vector_type",
    }
    assert found - UNSTABLE - about_the_session - {"error"} == set()


def test_database_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "stops.db")) as database:
        database.execute("CREATE TABLE stops AS SELECT 1 AS bus, 'a' AS stop")
    stops = cep.Database(f"duckdb:///{tmp_path}/stops.db", "stops")
    text = "SELECT s.delay, c.stop FROM s JOIN c ON s.bus = c.bus"
    cep.open(text, s=PLAIN, c=stops)
    with pytest.raises(NotSupportedYet, match='a look-up in the database "c"') as problem:
        cep.open(text, s=SCHEMA, c=stops)
    assert problem.value.hint


# --- places ----------------------------------------------------------------------------------------------
def test_rows_between_others_get_places_between_theirs() -> None:
    import numpy as np

    nowhere = np.iinfo(np.int64).min
    known = np.array([nowhere, 100, nowhere, nowhere, 200, nowhere, 150, nowhere])
    places = find_places(known, 200)
    assert (np.diff(places) > 0).all()
    assert places[1] == 100
    assert places[4] == 200
    assert places[6] > 200, "150 is not above 200"
    crowded = find_places(np.array([1, nowhere, 2]), 2)
    assert (np.diff(crowded) > 0).all()
    assert crowded[0] > 2, "where there is no room, all places are new"
