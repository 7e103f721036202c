"""Changes in the words of Flink, Spark and Debezium: the same rows, other names; and back again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import InvalidInput
from cepheid.execution.changelogs.changelog import Commit
from cepheid.execution.changelogs.kinds import CHANGELOGS, find_changelog, read_changelog, read_changelog_schema
from cepheid.settings import ChangelogName

SCHEMA = pa.schema(
    [
        ("_change", pa.string()),
        ("_match", pa.string()),
        ("_version", pa.int64()),
        ("bus", pa.int32()),
        ("d", pa.int64()),
    ]
)
COMMIT = Commit(12, 1_767_225_600_123_456)
NOON = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=123_456)
PLAIN = {"ts": "timestamp", "bus": "bigint", "delay": "bigint"}
START = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
TEXT = "SELECT bus, sum(delay) AS d FROM s GROUP BY bus"


def make_changes(*rows: tuple[str, str, int, int, int | None]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 5, schema=SCHEMA)


FIVE = make_changes(
    ("retract", "m7", 2, 7, 10),
    ("retract", "m9", 2, 9, 20),
    ("insert", "m8", 3, 8, None),
    ("insert", "m7", 3, 7, 15),
    ("insert", "m1", 1, 1, 30),
)


def write(name: ChangelogName, changes: pa.Table) -> list[tuple[Any, ...]]:
    form = find_changelog(name)
    table = form.write(changes, COMMIT)
    table.validate(full=True)
    assert table.schema == form.make_schema(changes.schema)
    return [tuple(row.values()) for row in table.to_pylist()]


# --- each form ---------------------------------------------------------------------------------------------


def test_our_own_form_is_what_it_was() -> None:
    assert find_changelog("cepheid").write(FIVE, COMMIT) is FIVE


def test_flink_has_row_kinds_and_an_update_stands_together() -> None:
    assert find_changelog("flink").make_schema(SCHEMA).names == ["op", "_match", "_version", "bus", "d"]
    assert write("flink", FIVE) == [
        ("UPDATE_BEFORE", "m7", 2, 7, 10),
        ("UPDATE_AFTER", "m7", 3, 7, 15),
        ("DELETE", "m9", 2, 9, 20),
        ("INSERT", "m8", 3, 8, None),
        ("INSERT", "m1", 1, 1, 30),
    ]


def test_spark_has_the_columns_of_its_changelogs_and_versions_that_can_be_sequenced() -> None:
    names = ["_change_type", "_match", "_version", "_commit_version", "_commit_timestamp", "bus", "d"]
    assert find_changelog("spark").make_schema(SCHEMA).names == names
    assert write("spark", FIVE) == [
        ("update_preimage", "m7", 5, 12, NOON, 7, 10),
        ("update_postimage", "m7", 6, 12, NOON, 7, 15),
        ("delete", "m9", 5, 12, NOON, 9, 20),
        ("insert", "m8", 6, 12, NOON, 8, None),
        ("insert", "m1", 2, 12, NOON, 1, 30),
    ]


def test_debezium_has_an_envelope_for_each_change() -> None:
    def row(match: str, bus: int, d: int | None) -> dict[str, Any]:
        return {"_match": match, "bus": bus, "d": d}

    def source(version: int) -> dict[str, Any]:
        return {"connector": "cepheid", "commit": 12, "version": version}

    names = ["_match", "before", "after", "source", "op", "ts_ms"]
    assert find_changelog("debezium").make_schema(SCHEMA).names == names
    moment = 1_767_225_600_123
    assert write("debezium", FIVE) == [
        ("m7", row("m7", 7, 10), row("m7", 7, 15), source(3), "u", moment),
        ("m9", row("m9", 9, 20), None, source(2), "d", moment),
        ("m8", None, row("m8", 8, None), source(3), "c", moment),
        ("m1", None, row("m1", 1, 30), source(1), "c", moment),
    ]


@pytest.mark.parametrize("form", CHANGELOGS, ids=lambda form: form.name)
def test_a_push_without_rows_has_the_schema(form: Any) -> None:
    nothing = SCHEMA.empty_table()
    assert form.write(nothing, COMMIT).schema == form.make_schema(SCHEMA)
    assert not len(form.write(nothing, COMMIT))


@pytest.mark.parametrize("form", CHANGELOGS, ids=lambda form: form.name)
def test_matches_may_be_numbers_and_rows_may_come_in_chunks(form: Any) -> None:
    chunks = [FIVE.slice(0, 2), FIVE.slice(2, 0), FIVE.slice(2)]
    numbered = pa.concat_tables(chunks).set_column(1, "_match", pa.array([7, 9, 8, 7, 1], pa.int32()))
    written = form.write(numbered, COMMIT)
    written.validate(full=True)
    assert written.schema.field("_match").type == pa.int32()


def test_several_rows_of_one_match_are_updates_in_their_order() -> None:
    rows = make_changes(
        ("retract", "m", 2, 1, 1), ("retract", "m", 2, 2, 2), ("insert", "m", 3, 1, 3), ("insert", "n", 3, 1, 4)
    )
    assert [row[0] for row in write("flink", rows)] == ["UPDATE_BEFORE", "UPDATE_AFTER", "DELETE", "INSERT"]


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told", "hint"),
    [
        ({"changelog": "flnk", "emit": "changes"}, "changelog is 'flnk'", 'did you mean "flink"'),
        ({"changelog": 3, "emit": "changes"}, "changelog is 3", "give one of cepheid, flink"),
        ({"changelog": "spark"}, 'changelog is "spark", and emit is "final"', 'emit="changes"'),
        ({"changelog": "cepheid", "disorder": cep.Disorder()}, 'emit is "final"', "cep.Disorder"),
    ],
)
def test_a_form_that_cannot_be_is_refused(given: dict[str, Any], told: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as problem:
        cep.open(TEXT, s=PLAIN, **given)
    assert told in problem.value.message
    assert hint in (problem.value.hint or "")


@pytest.mark.parametrize(("form", "column"), [("flink", "op"), ("spark", "_commit_version")])
def test_a_column_that_is_in_the_way_is_refused_when_the_query_is_opened(form: ChangelogName, column: str) -> None:
    with pytest.raises(InvalidInput, match=f'a column "{column}", which changelog="{form}" needs'):
        cep.open(
            f"SELECT bus AS {column}, sum(delay) AS d FROM s GROUP BY bus", s=PLAIN, emit="changes", changelog=form
        )
    cep.open(
        f"SELECT bus AS {column}, sum(delay) AS d FROM s GROUP BY bus", s=PLAIN, emit="changes", changelog="debezium"
    )


@pytest.mark.parametrize(("form", "word"), [("flink", "op"), ("spark", "_change_type")])
def test_a_word_that_a_form_has_not_is_refused(form: ChangelogName, word: str) -> None:
    table = find_changelog(form).write(FIVE, COMMIT)
    wrong = table.set_column(0, word, pa.array(["insert", "INSERT", "x", None, "delete"]))
    with pytest.raises(InvalidInput, match=f'"s" has .* for {word}'):
        read_changelog("s", wrong)


# --- queries -----------------------------------------------------------------------------------------------


def events(*rows: tuple[int, int, int]) -> pa.Table:
    return pa.table({"ts": [START + timedelta(seconds=s) for s, _, _ in rows], "bus": [b for _, b, _ in rows],
                     "delay": [d for _, _, d in rows]})  # fmt: skip


@pytest.mark.parametrize("form", CHANGELOGS, ids=lambda form: form.name)
@pytest.mark.parametrize("knob", [{"emit": "changes"}, {"disorder": cep.Disorder(bound="1 minute", emit="changes")}])
def test_a_query_gives_its_rows_in_the_form_that_it_was_opened_with(form: Any, knob: dict[str, Any]) -> None:
    clock = cep.ManualClock(START)
    own, other = (cep.open(TEXT, s=PLAIN, changelog=name, clock=clock, **knob) for name in ("cepheid", form.name))
    assert other.schema == form.make_schema(own.schema)
    for number, batch in enumerate((events((0, 1, 5), (0, 2, 7)), events((1, 1, 4)), events()), 1):
        clock.move(seconds=1)
        expected = form.write(own.push(s=batch), Commit(number, (1_767_225_600 + number) * 1_000_000))
        found = other.push(s=batch)
        assert found.schema == expected.schema
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist())), "groups have no order"
    assert other.finish().schema == other.schema


def test_pushes_are_numbered_on_after_a_restart() -> None:
    opened: dict[str, Any] = {"s": PLAIN, "emit": "changes", "changelog": "spark", "clock": cep.ManualClock(START)}
    query = cep.open(TEXT, **opened)
    first = query.push(s=events((0, 1, 5)))
    again = cep.open(TEXT, snapshot=query.snapshot(), **opened)
    second = again.push(s=events((1, 1, 5)))
    assert [first.column("_commit_version")[0].as_py(), second.column("_commit_version")[0].as_py()] == [1, 2]


def test_several_queries_have_one_form() -> None:
    query = cep.open({"a": TEXT, "b": "SELECT bus FROM s"}, s=PLAIN, emit="changes", changelog="flink")
    rows = query.push(s=events((0, 1, 5)))
    assert [table.column("op").to_pylist() for table in rows.values()] == [["INSERT"], ["INSERT"]]
    assert {name: table.schema for name, table in rows.items()} == query.schema


@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning")
@pytest.mark.parametrize("form", ["flink", "spark"])
def test_a_stream_in_the_form_of_others_is_read_as_our_own(form: ChangelogName) -> None:
    above = "SELECT sum(d) AS total, count(*) AS n FROM t"
    made = cep.open(TEXT, s=PLAIN, emit="changes", changelog=form)
    own = cep.open(TEXT, s=PLAIN, emit="changes")
    read = cep.open("SELECT bus, d + 1 AS e FROM t", t=made.schema)
    expected = cep.open("SELECT bus, d + 1 AS e FROM t", t=own.schema)
    assert read.schema.names == ["_change", "_match", "_version", "bus", "e"]
    told: list[pa.Table] = []
    for batch in (events((0, 1, 5), (0, 2, 7)), events((1, 1, 4)), events((2, 2, 1), (2, 3, 1))):
        told.append(made.push(s=batch))
        rows, wanted = (
            table.drop_columns("_version") for table in (read.push(t=told[-1]), expected.push(t=own.push(s=batch)))
        )
        assert sorted(map(str, rows.to_pylist())) == sorted(map(str, wanted.to_pylist()))
    assert cep.sql(above, t=pa.concat_tables(told)).to_pylist() == [{"total": 18, "n": 3}]
    assert "total" in cep.explain(above, t=made.schema)


def test_a_stream_with_a_column_op_is_a_plain_stream() -> None:
    schema = pa.schema([("ts", pa.timestamp("us")), ("op", pa.string())])
    assert read_changelog_schema(schema) is schema


# --- any changes -------------------------------------------------------------------------------------------

ROWS = st.lists(
    st.tuples(st.booleans(), st.sampled_from("abcd"), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 5))),
    max_size=30,
)


def make_push(rows: list[tuple[bool, str, int, int | None]]) -> pa.Table:
    """As queries give them: retracts first."""
    told = [("retract" if gone else "insert", match, 2, bus, d) for gone, match, bus, d in rows]
    return make_changes(*sorted(told, key=lambda row: row[0] == "insert"))


def sort_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@given(ROWS)
def test_what_is_read_back_is_what_was_written(rows: list[tuple[bool, str, int, int | None]]) -> None:
    push = make_push(rows)
    own = sort_rows([(r["_change"], r["_match"], r["bus"], r["d"]) for r in push.to_pylist()])
    for name in ("flink", "spark"):
        written = find_changelog(name).write(push, COMMIT)
        assert read_changelog_schema(written.schema) == SCHEMA
        back = read_changelog("s", written)
        assert back.schema == SCHEMA
        assert sort_rows([(r["_change"], r["_match"], r["bus"], r["d"]) for r in back.to_pylist()]) == own
    envelopes = find_changelog("debezium").write(push, COMMIT).to_pylist()
    sides = [("retract", e["before"]) for e in envelopes] + [("insert", e["after"]) for e in envelopes]
    assert sort_rows([(word, *row.values()) for word, row in sides if row is not None]) == own


@given(ROWS)
def test_an_update_is_two_rows_of_one_match_and_no_more_of_them_can_be_made(
    rows: list[tuple[bool, str, int, int | None]],
) -> None:
    written = find_changelog("flink").write(make_push(rows), COMMIT).to_pylist()
    for number, row in enumerate(written):
        if row["op"] == "UPDATE_BEFORE":
            after = written[number + 1]
            assert (after["op"], after["_match"]) == ("UPDATE_AFTER", row["_match"])
    left = {op: {row["_match"] for row in written if row["op"] == op} for op in ("DELETE", "INSERT")}
    assert not left["DELETE"] & left["INSERT"]
    assert sum(row["op"] == "UPDATE_BEFORE" for row in written) == sum(row["op"] == "UPDATE_AFTER" for row in written)
