"""Results that are right at every moment: after each push, inserts less retracts are the rows of the whole query."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import NotSupportedYet, RowsAtTheEndWarning, UnboundedState

BIDS = pa.schema({"ts": pa.timestamp("us"), "auction": "int64", "price": "int64", "bidder": "string"})
AUCTIONS = pa.schema({"ts": pa.timestamp("us"), "id": "int64", "category": "int64"})
START = datetime(2026, 1, 1)  # noqa: DTZ001 (event time without a zone)
BEST = "row_number() OVER (PARTITION BY auction ORDER BY price DESC, ts)"
LAST = "row_number() OVER (PARTITION BY bidder ORDER BY ts DESC)"
FIRST = "row_number() OVER (PARTITION BY bidder ORDER BY ts)"
COUNTED = (
    "(SELECT auction, count(*) AS n, window_end AS at FROM bids [RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY auction)"
)
UPDATING = [
    "SELECT auction, count(*) AS n, max(price) AS top, avg(price) AS mean FROM bids GROUP BY auction",
    "SELECT count(*) AS n FROM bids WHERE price > 3",
    "SELECT DISTINCT bidder FROM bids",
    f"SELECT * FROM (SELECT *, {BEST} AS r FROM bids) WHERE r <= 2",
    f"SELECT auction, bidder FROM (SELECT *, {LAST} AS r FROM bids) WHERE r = 1",
    "SELECT b.bidder, a.category FROM bids AS b JOIN auctions AS a ON b.auction = a.id",
    "SELECT a.id, b.price FROM auctions AS a LEFT JOIN bids AS b ON b.auction = a.id AND b.price > 5",
    "SELECT id FROM auctions WHERE id NOT IN (SELECT auction FROM bids)",
    "SELECT id FROM auctions AS a WHERE EXISTS (SELECT 1 FROM bids AS b WHERE b.auction = a.id AND b.price > 6)",
    "SELECT bidder, price FROM bids WHERE price > (SELECT avg(price) FROM bids)",
    "SELECT auction, bidder, sum(price) AS s FROM bids GROUP BY GROUPING SETS ((auction), (bidder), ())",
    (
        "SELECT category, avg(top) AS mean FROM (SELECT a.id, a.category, max(b.price) AS top FROM auctions AS a "
        "JOIN bids AS b ON a.id = b.auction GROUP BY a.id, a.category) GROUP BY category"
    ),
    "SELECT auction, price * 2 AS double FROM bids WHERE price > 2",
    "SELECT auction, price FROM bids UNION ALL SELECT id, category FROM auctions",
    "SELECT auction, price FROM bids ORDER BY price DESC, auction, ts LIMIT 3",
    f"SELECT auction, bidder FROM (SELECT *, {FIRST} AS r FROM bids) WHERE r = 1",
    f"WITH b AS (SELECT *, {LAST} AS r FROM bids) SELECT auction, x.price FROM b AS x WHERE x.r = 1 AND price > 2",
    "SELECT auction, lag(price) OVER (PARTITION BY auction ORDER BY ts) AS before FROM bids",
    "SELECT bidder, count(DISTINCT bidder) AS n, sum(DISTINCT auction) AS s FROM bids GROUP BY auction, bidder",
    # beside a table that is looked up
    "SELECT p.city, count(*) AS n FROM bids AS b JOIN people AS p ON b.bidder = p.name GROUP BY p.city",
    "SELECT city, max(price) AS top FROM bids LEFT JOIN people ON bidder = name GROUP BY city HAVING count(*) > 1",
    "SELECT p.city, sum(price) AS s FROM people AS p, bids AS b WHERE p.name = b.bidder AND price > 2 GROUP BY p.city",
    "SELECT DISTINCT p.* FROM bids AS b JOIN people AS p ON b.bidder = p.name",
    "SELECT DISTINCT bidder, city FROM (SELECT *, bidder AS name FROM bids) JOIN people USING (name)",
    f"SELECT * FROM (SELECT auction, city, {BEST} AS r FROM bids JOIN people AS p ON bidder = p.name) WHERE r <= 2",
    (
        "SELECT p.city, a.category, count(*) AS n FROM bids AS b JOIN auctions AS a ON b.auction = a.id "
        "JOIN people AS p ON p.name = b.bidder GROUP BY p.city, a.category"
    ),
    (
        "SELECT p.city, a.category FROM bids AS b JOIN people AS p ON p.name = b.bidder "
        "JOIN auctions AS a ON b.auction = a.id"
    ),
    (
        "SELECT p.city, price FROM bids AS b JOIN people AS p ON b.bidder = p.name "
        "WHERE price >= (SELECT max(price) FROM bids)"
    ),
    # aggregates of the user
    "SELECT auction, squares(price) + count(*) AS s FROM bids GROUP BY auction",
    "SELECT squares(price) FILTER (WHERE price > 4) AS s, squares(DISTINCT price) AS t FROM bids",
    "SELECT bidder FROM bids GROUP BY bidder HAVING squares(price) > 20",
    "SELECT bidder, squares(price) OVER (PARTITION BY bidder ORDER BY ts ROWS 1 PRECEDING) AS s FROM bids",
]
PEOPLE = pa.table({"name": ["x", "y"], "city": ["Ulm", "Bonn"]})
SQUARES = cep.Aggregate(init=lambda: 0, add=lambda all_, x: all_ + x * x, result=lambda all_: all_, type="bigint")


def given_beside(query: str) -> dict[str, Any]:
    """What queries read beside streams."""
    tables = {"people": cep.Table(PEOPLE)} if "people" in query else {}
    return {**tables, "aggregates": {"squares": SQUARES}}


# over rows that are settled: they come later than the events that they are about
OVER_EVENTS = [
    (
        "SELECT auction, max(n) AS most FROM (SELECT auction, count(*) AS n FROM bids "
        "[RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY auction) GROUP BY auction"
    ),
    (
        "SELECT count(*) AS n, max(up) AS top FROM bids MATCH_RECOGNIZE (PARTITION BY auction ORDER BY ts "
        "MEASURES b.price - a.price AS up PATTERN (a b) DEFINE b AS b.price > a.price)"
    ),
    (
        "SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY auction ORDER BY ts MEASURES a.price AS p PATTERN (a b) "
        "DEFINE b AS b.price > a.price)"
    ),
    "SELECT auction, count(*) AS n FROM bids [RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY auction",
    (
        f"SELECT w.auction, w.n FROM {COUNTED} AS w LEFT JOIN (SELECT at, max(n) AS n FROM {COUNTED} GROUP BY at) AS m "
        "ON w.at = m.at AND w.n = m.n"
    ),
    (
        f"SELECT w.auction, w.n FROM {COUNTED} AS w JOIN (SELECT at, max(n) AS n FROM {COUNTED} "
        "[ORDER BY at RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY at) AS m ON w.at = m.at AND w.n = m.n"
    ),
]


def make_events(random: Random, turn: int) -> dict[str, pa.Table]:
    def times(count: int) -> list[datetime]:
        return [START + timedelta(seconds=2 * turn, milliseconds=10 * number) for number in range(count)]

    count, others = random.randrange(6), random.randrange(3)
    bids = {
        "ts": times(count),
        "auction": [random.randrange(4) for _ in range(count)],
        "price": [random.randrange(9) for _ in range(count)],
        "bidder": [random.choice("xyz") for _ in range(count)],
    }
    auctions = {
        "ts": times(others),
        "id": [random.randrange(4) for _ in range(others)],
        "category": [random.randrange(3) for _ in range(others)],
    }
    return {"bids": pa.table(bids, schema=BIDS), "auctions": pa.table(auctions, schema=AUCTIONS)}


def count_rows(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


class Shown:
    """What a reader of the changes knows: rows by their names."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, Any]] = {}
        self.versions: dict[str, int] = {}

    def take(self, changes: pa.Table) -> None:
        for row in changes.to_pylist():
            change, name, version, *values = row.values()
            if change == "retract":
                assert self.rows.pop(name)[1] == tuple(values)
            else:
                assert name not in self.rows
                assert version > self.versions.get(name, -1)
                self.rows[name] = (version, tuple(values))
                self.versions[name] = version

    def count(self) -> Counter[Any]:
        return Counter(values for _, values in self.rows.values())


@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning")
@pytest.mark.parametrize("query", [*UPDATING, *OVER_EVENTS])
def test_changes_add_up_to_the_answer_after_every_push(query: str) -> None:
    random, shown = Random(query), Shown()
    streams = {name: schema for name, schema in (("bids", BIDS), ("auctions", AUCTIONS)) if name in query}
    pushed = {name: [schema.empty_table()] for name, schema in streams.items()}
    beside = given_beside(query)
    opened = cep.open(query, emit="changes", **streams, **beside)
    for turn in range(8):
        events = {name: table for name, table in make_events(random, turn).items() if name in streams}
        for name, table in events.items():
            pushed[name].append(table)
        shown.take(opened.push(**events))
        if turn in (2, 5):
            opened = cep.open(query, emit="changes", snapshot=opened.snapshot(), **streams, **beside)
        whole = {name: pa.concat_tables(tables) for name, tables in pushed.items()}
        if query in UPDATING:
            assert shown.count() == count_rows(cep.sql(query, **whole, **beside))
    shown.take(opened.finish())
    assert shown.count() == count_rows(cep.sql(query, **whole, **beside))


@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning", "ignore::cepheid.errors.RowsAtTheEndWarning")
@pytest.mark.parametrize("query", [*UPDATING, *OVER_EVENTS])
def test_final_rows_are_those_of_the_answer(query: str) -> None:
    random = Random(query)
    streams = {name: schema for name, schema in (("bids", BIDS), ("auctions", AUCTIONS)) if name in query}
    pushed = {name: [schema.empty_table()] for name, schema in streams.items()}
    beside = given_beside(query)
    opened, found = cep.open(query, **streams, **beside), []
    for turn in range(6):
        events = {name: table for name, table in make_events(random, turn).items() if name in streams}
        for name, table in events.items():
            pushed[name].append(table)
        found.append(opened.push(**events))
        if turn == 3:
            opened = cep.open(query, snapshot=opened.snapshot(), **streams, **beside)
    found.append(opened.finish())
    whole = cep.sql(query, **{name: pa.concat_tables(tables) for name, tables in pushed.items()}, **beside)
    assert pa.concat_tables(found).schema == whole.schema
    assert count_rows(pa.concat_tables(found)) == count_rows(whole)


def test_rows_that_never_go_are_final_at_once() -> None:
    with pytest.warns(cep.UnboundedStateWarning, match="keeps all rows of both sides"):
        query = cep.open(UPDATING[5], bids=BIDS, auctions=AUCTIONS)
    bids = pa.table({"ts": [START], "auction": [1], "price": [5], "bidder": ["x"]}, schema=BIDS)
    auctions = pa.table({"ts": [START], "id": [1], "category": [7]}, schema=AUCTIONS)
    assert len(query.push(bids=bids)) == 0
    assert query.push(auctions=auctions).to_pylist() == [{"bidder": "x", "category": 7}]


def test_rows_that_may_always_change_come_at_the_end_and_in_order() -> None:
    text = "SELECT auction, count(*) AS n FROM bids GROUP BY auction ORDER BY n DESC, auction"
    with pytest.warns(RowsAtTheEndWarning, match='emit="changes"'):
        query = cep.open(text, bids=BIDS)
    bids = {"ts": [START] * 5, "auction": [3, 1, 2, 1, 3], "price": [1] * 5, "bidder": ["x"] * 5}
    assert len(query.push(bids=pa.table(bids, schema=BIDS))) == 0
    assert query.finish().column("auction").to_pylist() == [1, 3, 2]


def test_what_keeps_all_rows_is_refused_if_strict() -> None:
    with pytest.raises(UnboundedState, match="keeps all rows of both sides") as caught:
        cep.open(UPDATING[5], bids=BIDS, auctions=AUCTIONS, strict=True)
    assert "BETWEEN" in (caught.value.hint or "")
    cep.open(UPDATING[0], bids=BIDS, emit="changes", strict=True)


@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning")
def test_what_takes_the_place_of_a_row_has_a_higher_version_than_its_retract() -> None:
    """Whoever sorts changes by their versions finds them in order; a query over them takes them as they are."""
    opened = cep.open(UPDATING[0], bids=BIDS, emit="changes")
    above = cep.open("SELECT * FROM t", t=opened.schema)
    random = Random(3)
    known: dict[str, int] = {}
    for turn in range(10):
        rows = opened.push(bids=make_events(random, turn)["bids"])
        for change, match, version in zip(*(rows.column(number).to_pylist() for number in range(3)), strict=True):
            assert version > known.get(match, 0), change
            known[match] = version
        assert len(above.push(t=rows)) == len(rows)


def test_mistakes_are_named() -> None:
    with pytest.raises(cep.CepheidError, match="emit is 'all'"):
        cep.open(UPDATING[0], bids=BIDS, emit="all")  # type: ignore[arg-type]
    with pytest.raises(NotSupportedYet, match="no column of the SELECT"):
        cep.open("SELECT auction FROM bids ORDER BY price", bids=BIDS)
    with pytest.raises(cep.CepheidError, match='has a column "_match"'):
        cep.open('SELECT auction AS "_match", count(*) FROM bids GROUP BY auction', bids=BIDS, emit="changes")
    with pytest.raises(NotSupportedYet, match="over a stream that takes rows back"):
        cep.open("SELECT auction, count(*) FROM bids WHERE ts < now() GROUP BY auction", bids=BIDS, emit="changes")


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT bidder, price * 2 AS p FROM (SELECT *, {BEST} AS r FROM bids) AS x WHERE x.r <= 2 AND price > 1",
        f"SELECT * FROM (SELECT *, {LAST} AS r FROM bids WHERE price > 2) WHERE r = 1",
        f"WITH b AS (SELECT *, {LAST} AS r FROM bids) SELECT auction FROM b WHERE r < 2",
        f"SELECT auction, count(*) AS n FROM (SELECT *, {LAST} AS r FROM bids) WHERE r = 1 GROUP BY auction",
        (
            "SELECT id, n FROM (SELECT id, n, rank() OVER (PARTITION BY id ORDER BY n DESC) AS r FROM "
            "(SELECT id, count(*) AS n FROM auctions [RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY id)) WHERE r = 1"
        ),
    ],
)
def test_of_the_first_rows_of_each_partition_no_others_are_kept(query: str) -> None:
    """A filter that stood apart from the ranks kept all rows."""
    streams = {name: schema for name, schema in (("bids", BIDS), ("auctions", AUCTIONS)) if name in query}
    opened, random, size = cep.open(query, emit="changes", strict=True, **streams), Random(7), 0
    for turn in range(40):
        opened.push(**{name: table for name, table in make_events(random, turn).items() if name in streams})
        if turn == 19:
            size = len(opened.snapshot())
    assert len(opened.snapshot()) < 1.1 * size


@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning")
def test_a_timestamp_that_two_streams_are_joined_on_is_not_the_time_of_their_events() -> None:
    """Of several timestamps, those compared were taken for it: rows without one were rejected, and others were late."""
    schema = pa.schema({"ts": pa.timestamp("us"), "day": pa.timestamp("us"), "n": pa.int64()})
    day = 86_400_000_000
    days = {"s": (None, 5 * day, 2 * day, 9 * day), "r": (None, 5 * day, 2 * day)}
    tables = {
        name: pa.table([[1_000_000 * n for n in range(len(each))], each, list(range(len(each)))], schema=schema)
        for name, each in days.items()
    }
    text = "SELECT a.n AS n, b.n AS m FROM s AS a LEFT JOIN r AS b ON a.day = b.day"
    query = cep.open(text, emit="changes", s=schema, r=schema)
    changes = [query.push(**{name: table.slice(turn, 1) for name, table in tables.items()}) for turn in range(4)]
    net: Counter[tuple[int, int | None]] = Counter()
    for row in pa.concat_tables([*changes, query.finish()]).to_pylist():
        net[row["n"], row["m"]] += 1 if row["_change"] == "insert" else -1
    assert sorted(net.elements(), key=str) == [(0, None), (1, 1), (2, 2), (3, None)]
    assert query.counts.rejected == query.counts.late == 0
