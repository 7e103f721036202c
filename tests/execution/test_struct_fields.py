"""Fields of structs are columns: a query over them gives the rows that it gives over columns taken out before."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, InvalidQuery, NotSupportedYet, UnknownColumn

READING = pa.struct([("value", pa.int64()), ("at", pa.struct([("room", pa.string())]))])


def make_events(seed: int, count: int = 120) -> pa.Table:
    chance = random.Random(seed)

    def some(value: Any) -> Any:
        return value if chance.random() < 0.8 else None

    rows = [
        {
            "ts": number,
            "device": some({"id": some(chance.choice("xy"))}),
            "reading": some({"value": some(chance.randrange(5)), "at": some({"room": some(chance.choice("pqr"))})}),
            "tags": some([some(chance.choice("st")) for _ in range(chance.randrange(1, 3))]),
        }
        for number in range(count)
    ]
    schema = pa.schema(
        [
            ("ts", pa.timestamp("us")),
            ("device", pa.struct([("id", pa.string())])),
            ("reading", READING),
            ("tags", pa.list_(pa.string())),
        ]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def take_out(events: pa.Table) -> pa.Table:
    """The fields as columns of their own, by DuckDB."""
    text = 'SELECT *, device.id AS id, reading."value" AS v, reading."at".room AS room, tags[1] AS tag FROM ev'
    return cep.sql(text, ev=events)


PAIRS = [
    (
        """SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY device.id ORDER BY ts MEASURES a.ts AS t,
        LAST(b.reading.value) AS w, SUM(b.reading.value) AS s, LAST(reading.at.room) AS r PATTERN (a b+)
        DEFINE b AS b.reading.value >= PREV(b.reading.value) AND (b.reading.at.room = a.reading.at.room OR
        Reading.VALUE + 1 > 3))""",
        """SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES a.ts AS t, LAST(b.v) AS w,
        SUM(b.v) AS s, LAST(room) AS r PATTERN (a b+) DEFINE b AS b.v >= PREV(b.v) AND (b.room = a.room OR v
        + 1 > 3))""",
    ),
    (
        """SELECT a.ts AS t, b.ts AS u, b.reading.value, a.reading.at.room || 'x' AS r FROM PATTERN SEQ(ev a,
        ev b) WHERE a.device.id = b.device.id AND a.reading.value < b.reading.value WITHIN INTERVAL '1'
        SECOND STRATEGY partition_contiguity""",
        """SELECT a.ts AS t, b.ts AS u, b.v AS value, a.room || 'x' AS r FROM PATTERN SEQ(ev a, ev b) WHERE
        a.id = b.id AND a.v < b.v WITHIN INTERVAL '1' SECOND STRATEGY partition_contiguity""",
    ),
    (
        """SELECT a.ts AS t, count(b[]) AS n, sum(b[].reading.value) AS s FROM PATTERN SEQ(ev a, ev+ b[], ev c)
        WHERE b[i].reading.value > b[i-1].reading.value AND b[1].reading.value > a.reading.value AND
        c.reading.value = 0 AND a.device.id = b.device.id AND b.device.id = c.device.id WITHIN INTERVAL '1'
        SECOND STRATEGY skip_till_next""",
        """SELECT a.ts AS t, count(b[]) AS n, sum(b[].v) AS s FROM PATTERN SEQ(ev a, ev+ b[], ev c) WHERE
        b[i].v > b[i-1].v AND b[1].v > a.v AND c.v = 0 AND a.id = b.id AND b.id = c.id WITHIN INTERVAL '1'
        SECOND STRATEGY skip_till_next""",
    ),
    (
        """SELECT device.id, sum(e.reading.value) AS s, max(reading.at.room) AS r, count_if(tags[1] = 's') AS n
        FROM ev [PARTITION BY device.id ROWS 7 SLIDE 7] AS e WHERE reading.value > 0 GROUP BY device.id
        HAVING count(*) > 1 ORDER BY device.id""",
        """SELECT id, sum(e.v) AS s, max(room) AS r, count_if(tag = 's') AS n FROM ev [PARTITION BY id ROWS 7
        SLIDE 7] AS e WHERE v > 0 GROUP BY id HAVING count(*) > 1 ORDER BY id""",
    ),
    (
        """SELECT x.ts AS t, y.ts AS u, x.reading.value AS w FROM ev [ROWS 9] AS x, ev [ROWS 5] AS y WHERE
        x.device.id = y.device.id AND x.reading.value < y.reading.value AND y.reading.at.room IS NOT NULL""",
        """SELECT x.ts AS t, y.ts AS u, x.v AS w FROM ev [ROWS 9] AS x, ev [ROWS 5] AS y WHERE x.id = y.id AND
        x.v < y.v AND y.room IS NOT NULL""",
    ),
    (
        """SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY tags[1] ORDER BY ts MEASURES a.ts AS t, b.ts AS u
        PATTERN (a b) DEFINE b AS b.tags[1] = a.tags[1] AND b.reading.value > 1)""",
        """SELECT tag AS "tags[1]", t, u FROM ev MATCH_RECOGNIZE (PARTITION BY tag ORDER BY ts MEASURES a.ts AS
        t, b.ts AS u PATTERN (a b) DEFINE b AS b.tag = a.tag AND b.v > 1)""",
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fields_are_as_columns_taken_out_before(pair: tuple[str, str], seed: int) -> None:
    over_fields, over_columns = pair
    events = make_events(seed)
    found = cep.sql(over_fields, ev=events)
    assert found.equals(cep.sql(over_columns, ev=take_out(events)))
    assert len(found) > 2


def test_whole_structs_arrays_and_maps_come_out_as_they_went_in() -> None:
    events = make_events(4).append_column("m", pa.array([[("k", 1)]] * 120, pa.map_(pa.string(), pa.int32())))
    text = """SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(b.reading) AS r, LAST(b.tags) AS g,
      LAST(b.m) AS m, ARRAY_AGG(reading) AS l PATTERN (a b))"""
    rows = cep.sql(text, ev=events).to_pylist()
    given = events.to_pylist()
    for number, row in enumerate(rows):
        first, last = given[2 * number], given[2 * number + 1]
        wanted = {"r": last["reading"], "g": last["tags"], "m": last["m"], "l": [first["reading"], last["reading"]]}
        assert row == wanted
    assert len(rows) == 60


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("map()", []),
        ("map(ARRAY[], ARRAY[])", []),
        ("ARRAY[map()]", [[]]),
        ("map(ARRAY[1], ARRAY[map()])", [(1, [])]),
        ("map(ARRAY[1], ARRAY[ARRAY[2]])", [(1, [2])]),
    ],
)
def test_maps_without_keys_have_a_type(written: str, value: object) -> None:
    """Keys of no type at all made Arrow end the process."""
    events = make_events(1, 2)
    query = f"SELECT m FROM ev MATCH_RECOGNIZE (ORDER BY ts MEASURES {written} AS m PATTERN (a))"
    opened = cep.open(query, ev=events.schema)
    for rows in (cep.sql(query, ev=events), pa.concat_tables([opened.push(ev=events), opened.finish()])):
        assert rows.column("m").to_pylist() == [value, value]


def test_a_stream_is_partitioned_by_a_field_also_after_a_restart() -> None:
    events = make_events(5)
    text, _ = PAIRS[0]
    query = cep.open(text, ev=events.schema)
    found = [query.push(ev=events.slice(0, 50))]
    restored = cep.open(text, ev=events.schema, snapshot=query.snapshot())
    found += [restored.push(ev=events.slice(50)), restored.finish()]
    order = [("t", "ascending")]
    assert pa.concat_tables(found).sort_by(order).equals(cep.sql(text, ev=events).sort_by(order))


@pytest.mark.parametrize(
    ("clause", "error", "told"),
    [
        ("DEFINE b AS b.reading.valu > 1", UnknownColumn, 'column "valu" does not exist in "reading"'),
        ("DEFINE b AS b.ts.value > 1", InvalidQuery, '"ts" of type timestamp'),
        ("DEFINE b AS b.reading.at > 1", InvalidQuery, "Cannot compare values of type STRUCT"),
    ],
)
def test_mistakes_in_fields_are_told(clause: str, error: type[CepheidError], told: str) -> None:
    text = f"SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY ts MEASURES a.ts AS t PATTERN (a b) {clause})"
    with pytest.raises(error, match=told) as caught:
        cep.sql(text, ev=make_events(1))
    assert caught.value.hint
    assert caught.value.span


def test_a_struct_is_no_key() -> None:
    text = "SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY device ORDER BY ts MEASURES a.ts AS t PATTERN (a b))"
    with pytest.raises(NotSupportedYet, match="PARTITION BY a column of type struct"):
        cep.sql(text, ev=make_events(1))


@pytest.mark.parametrize("column", ["b.list[1]", "b.array[1]", 'b."array"[1]', "LAST(b.list[1])", "list[1]"])
def test_columns_called_list_and_array_are_no_constructors(column: str) -> None:
    """The parser took b.array[1] for ARRAY[1]."""
    values = [[5], [6]]
    events = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "list": values, "array": values})
    text = (
        f"SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY ts MEASURES {column} AS x PATTERN (a b) DEFINE b AS b.list[1] > 5)"
    )
    assert cep.sql(text, ev=events).to_pylist() == [{"x": 6}]


def test_array_makes_arrays_where_nothing_stands_in_front() -> None:
    assert cep.sql("SELECT ARRAY[7, 8][2] AS x", ev=make_events(1, 2)).to_pylist() == [{"x": 8}]


@pytest.mark.parametrize("opens", ["[", "ARRAY["])
def test_arrays_in_arrays_are_read_once(opens: str) -> None:
    """Each level took twice as long as the one around it: thirty of them did not end."""
    rows = cep.sql(f"SELECT {opens * 30} 7 {']' * 30} AS deep FROM ev", ev=make_events(1, 1)).to_pylist()
    assert str(rows[0]["deep"]) == "[" * 30 + "7" + "]" * 30
