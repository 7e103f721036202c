"""cep.Disorder: how long events wait, how late they may be, and what comes out."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli import app
from cepheid.errors import InvalidInput, NotSupportedYet, SnapshotMismatch

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": "int32", "v": "int64"})
PAIRS = """SELECT a.v AS first, b.v AS last FROM PATTERN SEQ(s a, s b) ORDER BY ts
    WHERE a.k = b.k AND a.v % 2 = 0 AND b.v % 3 = 0 WITHIN INTERVAL '3' SECOND"""
SUMS = "SELECT k, sum(v) AS s, window_end FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS] GROUP BY k"
LAST = "SELECT k, max(v) AS m FROM s [RANGE 2 SECONDS] GROUP BY k"
OVER_PAIRS = f"""SELECT count(*) AS n, window_end
    FROM ({PAIRS.replace("a.v AS first", "b.ts AS ts, a.v AS first")}) AS p [RANGE 2 SECONDS SLIDE 2 SECONDS]"""
QUERIES = {"pairs": PAIRS, "sums": SUMS, "last": LAST}


def events(*rows: tuple[float, int, int]) -> pa.Table:
    times = [START + timedelta(seconds=second) for second, _, _ in rows]
    return pa.table([times, [k for _, k, _ in rows], [v for _, _, v in rows]], schema=SCHEMA)


def make_arrivals(seed: int, count: int, late_s: float) -> pa.Table:
    random = np.random.default_rng(seed)
    times = np.sort(random.choice(20_000_000, count, replace=False))
    order = np.argsort(times + random.integers(0, int(late_s * 1e6), count), kind="stable")
    keys, values = random.integers(0, 4, count), random.integers(0, 12, count)
    moments = pa.array(times + int(START.timestamp() * 1e6), pa.timestamp("us", "UTC"))
    return pa.table([moments, pa.array(keys, pa.int32()), values], schema=SCHEMA).take(pa.array(order))


def run(query: Any, arrivals: pa.Table, size: int) -> pa.Table:
    parts = [query.push(s=arrivals.slice(begin, size)) for begin in range(0, len(arrivals), size)]
    return pa.concat_tables([*parts, query.finish()])


def count_rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*table.to_pydict().values(), strict=True))


def without(table: pa.Table, late: pa.Table) -> pa.Table:
    """The events that were taken, in order."""
    left = count_rows(table)
    left.subtract(count_rows(late.select(SCHEMA.names)))
    columns = list(zip(*left.elements(), strict=True))
    return pa.table(list(map(pa.array, columns)), names=SCHEMA.names).cast(SCHEMA).sort_by("ts")


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("size", [7, 60])
@pytest.mark.parametrize("wait", ["0 s", "500 ms", "growing"])
def test_final_rows_are_those_of_all_events_that_were_not_late(name: str, size: int, wait: str) -> None:
    arrivals = make_arrivals(len(name), 240, 2.0)
    query = cep.open(QUERIES[name], s=SCHEMA, disorder=cep.Disorder(wait=wait, bound="2 s"))
    rows = run(query, arrivals, size)
    late = query.late_events()
    assert query.counts.late == len(late)
    assert count_rows(rows) == count_rows(cep.sql(QUERIES[name], s=without(arrivals, late)))


def test_event_behind_the_horizon_counts_where_its_window_is_open() -> None:
    query = cep.open(SUMS, s=SCHEMA, disorder=cep.Disorder(wait="0 s", bound="10 s"))
    assert len(query.push(s=events((0.5, 1, 1), (1.9, 1, 2)))) == 0
    assert len(query.push(s=events((0.1, 1, 4)))) == 0  # behind the horizon, and its window is open
    assert query.push(s=events((2.1, 1, 8))).column("s").to_pylist() == [7]
    query.push(s=events((1.0, 1, 16)))  # its window was given out
    assert query.late_events().column("v").to_pylist() == [16]
    assert query.finish().column("s").to_pylist() == [8]


def test_the_same_event_is_late_by_default() -> None:
    query = cep.open(SUMS, s=SCHEMA)
    query.push(s=events((0.5, 1, 1), (1.9, 1, 2)))
    query.push(s=events((0.1, 1, 4)))
    assert query.counts.late == 1


def test_events_beyond_the_bound_are_late_whatever_they_would_change() -> None:
    query = cep.open(PAIRS, s=SCHEMA, disorder=cep.Disorder(wait="0 s", bound="2 s", emit="changes"))
    query.push(s=events((10.0, 1, 1)))
    query.push(s=events((7.9, 1, 2), (8.0, 1, 2)))
    assert query.late_events().column("ts").to_pylist() == [START + timedelta(seconds=7.9)]


@pytest.mark.parametrize("emit", ["final", "changes"])
def test_growing_wait_is_as_long_as_the_latest_event_was_late_and_never_above_bound(emit: Any) -> None:
    query = cep.open(SUMS, s=SCHEMA, disorder=cep.Disorder(wait="growing", bound="5 s", emit=emit))
    query.push(s=events((1.0, 1, 1), (0.2, 1, 1)))
    query.push(s=events((2.5, 1, 1)))
    assert query.counts.streams["s"].clock == START + timedelta(seconds=1.7)
    query.push(s=events((90.0, 1, 1), (2.6, 1, 1)))
    query.push(s=events((100.0, 1, 1)))
    assert query.counts.streams["s"].clock == START + timedelta(seconds=95)


def test_session_corrects_over_deploy_alter_retire_and_snapshots() -> None:
    arrivals = make_arrivals(5, 300, 2.0)
    disorder = cep.Disorder(wait="100 ms", bound="2 s", emit="changes")
    found: dict[str, list[pa.Table]] = {"pairs": [], "sums": [], "over": []}

    def take(rows: dict[str, pa.Table]) -> None:
        for name, table in rows.items():
            found[name].append(table)

    def begin(snapshot: bytes | None = None) -> cep.Session:
        session = cep.Session(disorder=disorder, snapshot=snapshot)
        session.source("s", SCHEMA)
        session.deploy("pairs", PAIRS)
        session.deploy("sums", SUMS)
        return session

    session = begin()
    session.deploy("over", OVER_PAIRS)
    session.retire("over")
    for start in range(0, 300, 25):
        take(session.push(s=arrivals.slice(start, 25)))
        if start == 100:
            session = begin(session.snapshot())
            session.deploy("over", OVER_PAIRS)
        if start == 150:
            session.alter("sums", SUMS)
    take(session.finish())
    for name in ("pairs", "sums"):
        assert count_net(pa.concat_tables(found[name])) == count_rows(cep.sql(QUERIES[name], s=arrivals.sort_by("ts")))
    assert sum(map(len, found["over"])) > 0


def count_net(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    """Inserts minus retracts, with no _match twice, and versions that grow."""
    there: dict[str, tuple[Any, ...]] = {}
    versions: dict[str, int] = {}
    for change, match, version, *row in zip(*rows.to_pydict().values(), strict=True):
        assert versions.get(match, -1) < version
        versions[match] = version
        if change == "insert":
            assert match not in there
            there[match] = tuple(row)
        else:
            assert there.pop(match) == tuple(row)
    return Counter(there.values())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"wait": "soon"}, "no rule and no span of time"),
        ({"wait": "growin"}, "no rule"),
        ({"wait": "-2 s"}, "wait"),
        ({"wait": "2 s", "bound": "1 s"}, "longer than bound"),
        ({"wait": "2 s", "recall": 0.9}, "recall is given"),
        ({"wait": "growing", "recall": 0.9}, "whatever recall is"),
        ({"recall": 1.5}, "recall is 1.5"),
        ({"recall": True}, "recall is True"),
        ({"emit": "all"}, "emit is 'all'"),
        ({"bound": "ten"}, "bound"),
        ({"wait": "growing", "emit": "changes"}, "needs a bound"),
        ({"speculation": 0.5}, "speculation needs"),
        ({"speculation": 2, "emit": "changes", "bound": "1 s"}, "speculation is 2"),
        ({"speculation": "much", "emit": "changes", "bound": "1 s"}, "speculation is 'much'"),
        ({"max_wait": "never"}, "max_wait"),
    ],
)
def test_what_cannot_be_is_told_where_it_is_written(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        cep.Disorder(**given)
    assert told in str(raised.value)
    assert raised.value.hint


def test_disorder_beside_lateness_or_emit_is_refused() -> None:
    disorder: Any = cep.Disorder(bound="2 s")
    with pytest.raises(InvalidInput, match="disorder and lateness"):
        cep.open(SUMS, s=SCHEMA, disorder=disorder, lateness=timedelta(seconds=2))
    with pytest.raises(InvalidInput, match="disorder and emit"):
        cep.open(SUMS, s=SCHEMA, disorder=disorder, emit="changes")
    with pytest.raises(InvalidInput, match="disorder is a str"):
        cep.open(SUMS, s=SCHEMA, disorder="2 s")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no meaning for whole tables"):
        cep.sql(SUMS, s=events((0, 1, 1)), disorder=disorder)


@pytest.mark.filterwarnings(
    "ignore::cepheid.errors.RowsAtTheEndWarning", "ignore::cepheid.errors.UnboundedStateWarning"
)
def test_results_that_are_never_final_come_at_the_end_as_without_disorder() -> None:
    arrivals = make_arrivals(4, 200, 2.0)
    for text in (
        "SELECT k, count(*) AS n FROM s GROUP BY k",
        f"SELECT k, max(s) AS m FROM ({SUMS}) GROUP BY k",
    ):
        rows = run(cep.open(text, s=SCHEMA, disorder=cep.Disorder(wait="1 s", bound="2 s")), arrivals, 9)
        query = cep.open(text, s=SCHEMA, disorder=cep.Disorder(wait="0 s", bound="2 s"))
        assert run(query, arrivals, 9).schema == rows.schema == cep.sql(text, s=arrivals).schema
        assert count_rows(rows) if "max" in text else count_rows(rows) == count_rows(cep.sql(text, s=arrivals))


def test_an_event_that_is_read_twice_is_taken_or_late_as_one() -> None:
    text = "SELECT x.v AS a, y.v AS b FROM s [ROWS 5] AS x, s [RANGE 2 SECONDS] AS y WHERE x.k = y.k AND x.v < y.v"
    arrivals = make_arrivals(21, 300, 2.0)
    query = cep.open(text, s=SCHEMA, disorder=cep.Disorder(wait="0 s", bound="2 s"))
    rows = run(query, arrivals, 1)
    late = query.late_events()
    assert len(late) > 0
    assert count_rows(rows) == count_rows(cep.sql(text, s=without(arrivals, late)))


@pytest.mark.parametrize("wait", ["0 s", "500 ms", "quantile"])
def test_an_event_is_late_for_all_windows_of_a_query_or_for_none(wait: str) -> None:
    text = """SELECT 1 AS w, count(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND] UNION ALL
        SELECT 10 AS w, sum(v) AS n FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS]"""
    arrivals = make_arrivals(22, 300, 2.0)
    disorder = cep.Disorder(wait=wait, bound="2 s")
    query = cep.open(text, s=SCHEMA, disorder=disorder)
    rows = run(query, arrivals, 7)
    moments = set(query.late_events().column("ts").to_pylist())
    taken = arrivals.filter(pa.array([moment not in moments for moment in arrivals.column("ts").to_pylist()]))
    assert len(moments) > 0
    assert count_rows(rows) == count_rows(cep.sql(text, s=taken.sort_by("ts")))
    assert "as for the others that read the stream" in cep.explain(text, s=SCHEMA, disorder=disorder)


def test_who_learns_from_its_own_rows_does_not_wait_as_long_as_others() -> None:
    windows = (
        "SELECT sum(v) AS v FROM s [RANGE 1 S SLIDE 1 S] UNION ALL SELECT max(k) AS v FROM s [RANGE 5 S SLIDE 5 S]"
    )
    text = f"SELECT first AS v FROM ({PAIRS}) AS p UNION ALL {windows}"
    recall = cep.Disorder(recall=0.9, bound="2 s")
    with pytest.raises(NotSupportedYet, match='recall with emit="final" where several read one stream'):
        cep.open(text, s=SCHEMA, disorder=recall)
    cep.open(windows, s=SCHEMA, disorder=recall)
    for others in (cep.Disorder(recall=0.9, bound="2 s", emit="changes"), cep.Disorder(wait="quantile", bound="2 s")):
        cep.open(text, s=SCHEMA, disorder=others)


def test_both_zeros_are_one_group_and_stay_it() -> None:
    """What came first named the group, and another one once that was forgotten: the row was taken back for good."""
    text = "SELECT f, count(*) AS n FROM s [RANGE 3 SECONDS SLIDE 3 SECONDS] GROUP BY f"
    schema = pa.schema({"ts": pa.timestamp("us"), "f": pa.float64()})
    rows = [(12, -0.0), (17, 0.0), (19, 7.0), (18, -0.0), (25, 7.0), (24, 7.0), (26, float("nan"))]
    query = cep.open(text, s=schema, disorder=cep.Disorder(wait="0 s", bound="2 s", emit="changes"))
    pushes = [pa.table([[1_000_000 * second], [value]], schema=schema) for second, value in rows]
    changes = pa.concat_tables([*(query.push(s=push) for push in pushes), query.finish()])
    expected = cep.sql(text, s=pa.concat_tables(pushes).sort_by("ts"))
    assert Counter(map(str, count_net(changes).elements())) == Counter(
        map(str, ((value + 0.0, count) for value, count in count_rows(expected).elements()))
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(v) AS s FROM s [ROWS 3 SLIDE 3]",
        "SELECT sum(v) AS s FROM s [ROWS UNBOUNDED]",
        "SELECT a.v AS a, b.v AS b FROM PATTERN SEQ(s a, s b) WHERE b.v = 2 * a.v",
        "SELECT a.v AS a, b.v AS b FROM PATTERN SEQ(s a, s b) WHERE b.v = 2 * a.v WITHIN INTERVAL '9' SECOND",
    ],
)
@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning")
@pytest.mark.parametrize("waits", [("0 s", "10 s"), ("10 s", "0 s"), ("1 s", "5 s")])
def test_a_snapshot_goes_on_with_another_wait(text: str, waits: tuple[str, str]) -> None:
    first, second = (cep.Disorder(wait=wait, bound="10 s", emit="changes") for wait in waits)
    pushes = [events(*((float(v), 1, v) for v in some)) for some in ((1, 2, 3, 4, 5), (6, 7, 8), (100,))]
    query = cep.open(text, s=SCHEMA, disorder=first)
    given = [query.push(s=pushes[0])]
    query = cep.open(text, s=SCHEMA, disorder=second, snapshot=query.snapshot())
    given += [query.push(s=push) for push in pushes[1:]] + [query.finish()]
    assert count_net(pa.concat_tables(given)) == count_rows(cep.sql(text, s=pa.concat_tables(pushes)))


@pytest.mark.parametrize("text", [PAIRS, SUMS, "SELECT v % 2 AS p, count(*) AS n FROM s GROUP BY v % 2"])
def test_a_snapshot_is_of_one_emit(text: str) -> None:
    """Rows were given out twice, or never."""
    query = cep.open(text, s=SCHEMA, emit="changes")
    query.push(s=events((1.0, 1, 2)))
    with pytest.raises(SnapshotMismatch, match='taken with emit="changes", and is opened with emit="final"'):
        cep.open(text, s=SCHEMA, snapshot=query.snapshot())


def test_versions_of_what_is_new_in_a_window_grow() -> None:
    query = cep.open(
        "SELECT ISTREAM k, count(*) AS n FROM s [RANGE 2 SECONDS] GROUP BY k",
        disorder=cep.Disorder(wait="0 s", bound="1 minute", emit="changes"),
        s=SCHEMA,
    )
    rows = [(10, 1), (20, 2), (7, 1), (9, 3), (3, 1), (8.5, 2)]
    changes = [query.push(s=events((float(second), key, 0))) for second, key in rows]
    last: dict[str, int] = {}
    for row in pa.concat_tables(changes).to_pylist():
        assert row["_version"] > last.get(row["_match"], 0)
        last[row["_match"]] = row["_version"]
    assert max(last.values()) > 2


def test_views_are_refused_in_sessions_that_correct() -> None:
    session = cep.Session(disorder=cep.Disorder(wait="0 s", bound="2 s"))
    session.source("s", SCHEMA)
    with pytest.raises(NotSupportedYet, match="in a session"):
        session.deploy("groups", "SELECT k, count(*) AS n FROM s GROUP BY k")
    assert session.queries == {}


APPLICATION = """
[source.s]
path = "s.parquet"
[query.sums]
sql = "{query}"
[disorder]
wait = "100 ms"
bound = "2 s"
emit = "changes"
"""


def test_application_corrects(tmp_path: Path) -> None:
    arrivals = make_arrivals(1, 200, 2.0)
    pq.write_table(arrivals, tmp_path / "s.parquet")
    (tmp_path / "app.toml").write_text(APPLICATION.format(query=SUMS))
    told = CliRunner().invoke(app, ["run", str(tmp_path / "app.toml"), "--json", "--rows", "20"])
    assert told.exit_code == 0, told.output
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    changes = [line for line in lines if "_change" in line]
    net = sum(line["s"] if line["_change"] == "insert" else -line["s"] for line in changes)
    assert net == sum(arrivals.column("v").to_pylist())
    assert any(line["_change"] == "retract" for line in changes)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('wait = "100 ms"', 'wait = "5 s"', "longer than bound"),
        ('wait = "100 ms"', 'await = "5 s"', 'has no key "await"'),
        ('wait = "100 ms"', "recall = 2.0", "recall is 2.0"),
        ('path = "s.parquet"', 'path = "s.parquet"\nlateness = "1 s"', 'beside the lateness of source "s"'),
    ],
)
def test_mistakes_of_applications_are_told_with_their_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    pq.write_table(events((0, 1, 1)), tmp_path / "s.parquet")
    text = APPLICATION.format(query=SUMS)
    assert old in text
    (tmp_path / "app.toml").write_text(text.replace(old, new))
    output = CliRunner().invoke(app, ["run", str(tmp_path / "app.toml")])
    assert output.exit_code != 0
    assert told in output.stderr
    assert "app.toml:" in output.stderr


def test_snapshots_know_how_late_events_were_and_other_choices_go_on_from_them() -> None:
    arrivals = make_arrivals(9, 400, 1.5)
    first = cep.Disorder(recall=0.9, bound="2 s", emit="changes")
    for second in (first, cep.Disorder(wait="500 ms", bound="2 s", emit="changes")):
        query = cep.open(PAIRS, s=SCHEMA, disorder=first)
        rows = [query.push(s=arrivals.slice(begin, 20)) for begin in range(0, 200, 20)]
        known = query.lateness
        query = cep.open(PAIRS, s=SCHEMA, disorder=second, snapshot=query.snapshot())
        assert query.lateness is not None
        assert known is not None
        assert query.lateness.lateness_p50_s == known.lateness_p50_s
        rows += [query.push(s=arrivals.slice(begin, 20)) for begin in range(200, 400, 20)]
        rows.append(query.finish())
        assert count_net(pa.concat_tables(rows)) == count_rows(cep.sql(PAIRS, s=arrivals.sort_by("ts")))


def test_lateness_is_measured_and_corrections_are_counted() -> None:
    query = cep.open(SUMS, s=SCHEMA, disorder=cep.Disorder(wait="0 s", bound="10 s", emit="changes"))
    assert query.lateness is not None
    assert query.lateness.lateness_p50_s is None
    for second in range(40):
        query.push(s=events((float(second), 1, 1)))
    query.push(s=events((34.5, 1, 1)))  # 4.5 s behind; the window that ends at 36 is taken back
    measured = query.lateness
    assert measured.late_share == pytest.approx(1 / 41, rel=0.05)  # what is old weighs less
    assert measured.lateness_p50_s == 0
    assert measured.lateness_p999_s == pytest.approx(4.5, rel=0.1)
    assert measured.slack_s == 0
    assert measured.corrections_per_1000 == pytest.approx(1000 / 20)
    assert measured.recall_if_final == pytest.approx(19 / 20)
    assert cep.open(SUMS, s=SCHEMA).lateness is None


def test_sessions_watch_lateness() -> None:
    session = cep.Session(disorder=cep.Disorder(wait="1 s", bound="10 s", emit="changes"))
    session.source("s", SCHEMA)
    session.deploy("sums", SUMS)
    session.push(s=events((5.0, 1, 1), (3.0, 1, 1)))
    watched = session.watch().lateness
    assert watched is not None
    assert (watched.slack_s, watched.late_share) == (1.0, 0.5)


@pytest.mark.parametrize("emit", ["final", "changes"])
def test_recall_waits_as_long_as_results_need(emit: Any) -> None:
    """A tenth of the events is up to 2 s late: recall 0.5 need not wait for them, recall 0.999 does."""
    random = np.random.default_rng(3)
    times = np.arange(30_000) * 2_000 + int(START.timestamp() * 1e6)
    delays = np.where(random.random(len(times)) < 0.1, random.integers(0, 2_000_000, len(times)), 0)
    order = np.argsort(times + delays, kind="stable")
    columns = [pa.array(times, pa.timestamp("us", "UTC")), pa.array(times % 50, pa.int32()), pa.array(times // 7 % 12)]
    arrivals = pa.table(columns, schema=SCHEMA).take(pa.array(order))
    slack = {}
    for recall in (0.5, 0.999):
        query = cep.open(PAIRS, s=SCHEMA, disorder=cep.Disorder(recall=recall, bound="4 s", emit=emit))
        for begin in range(0, len(arrivals), 500):
            query.push(s=arrivals.slice(begin, 500))
        assert query.lateness is not None
        slack[recall] = query.lateness.slack_s
    assert slack[0.5] < 0.5
    assert 1.7 < slack[0.999] < 2.4


def test_explain_says_what_becomes_of_late_events_at_each_vertex() -> None:
    disorder = cep.Disorder(wait="2 s", bound="10 minutes", emit="changes")
    told = cep.explain(PAIRS, s=SCHEMA, disorder=disorder)
    assert "late events (held for 2 s, taken in up to 10 min late, corrected):" in told
    assert "sequence_1: only matches within 3 s of them, of the same _key0" in told
    told = cep.explain(OVER_PAIRS, s=SCHEMA, disorder=cep.Disorder(recall=0.99, bound="5 s"))
    assert "(held as long as 0.99 of the rows need, taken in up to 5 s late, what was given out stays)" in told
    assert "window_aggregate_1: what vertices below it take back" in told
    rows = "SELECT * FROM s MATCH_RECOGNIZE ({} ORDER BY ts MEASURES a.v AS x PATTERN (a b))"
    told = cep.explain(rows.format("PARTITION BY k"), s=SCHEMA, disorder=disorder)
    assert "row_pattern_1: only matches of the same _key0" in told
    told = cep.explain(rows.format(""), s=SCHEMA, disorder=disorder)
    assert "row_pattern_1: all that may still change is computed again" in told
    assert "set apart" in cep.explain(PAIRS, s=SCHEMA, disorder=cep.Disorder(bound="5 s"))
    assert "late events" not in cep.explain(PAIRS, s=SCHEMA)
