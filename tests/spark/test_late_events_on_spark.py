"""Late events on Spark: what was given out too early is taken back in the next batch, also after a restart."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.disorder.lateness_report import LatenessReport
from cepheid.errors import InvalidInput, SnapshotMismatch
from cepheid.execution.changelogs.kinds import read_changelog
from cepheid.testing import list_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream, read_rows, run_some_at_once, start_query

pytestmark = pytest.mark.spark

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": "int32", "v": "int64"})
QUERIES = {
    "pairs": """SELECT a.k, a.v AS first, b.v AS last FROM PATTERN SEQ(events a, events b) ORDER BY ts
        WHERE a.k = b.k AND a.v % 5 = 0 AND b.v % 3 = 0 WITHIN INTERVAL '4' SECOND""",
    "alone": """SELECT a.k, a.v FROM PATTERN SEQ(events a, ~events b) ORDER BY ts
        WHERE a.k = b.k AND a.v % 2 = 0 WITHIN INTERVAL '1' SECOND""",
    "sums": "SELECT k, sum(v) AS s, window_end FROM events [RANGE 2 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "rises": """SELECT k, s FROM (SELECT k, count(*) AS n, window_end AS at FROM events
        [ORDER BY ts RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k) MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
        MEASURES a.n + b.n AS s PATTERN (a b) DEFINE b AS b.n > a.n)""",
}
FEW_GROUPS = 4
BOUND_S = 3.0


def make_arrivals(seed: int, count: int) -> pa.Table:
    """Events of 12 keys in the order in which they arrive: each is up to 3 seconds late."""
    random = np.random.default_rng(seed)
    times = np.sort(random.choice(30_000_000, count, replace=False))
    order = np.argsort(times + random.integers(0, int(BOUND_S * 1e6), count), kind="stable")
    keys, values = random.integers(0, 12, count), random.integers(0, 30, count)
    columns = [pa.array(times, pa.timestamp("us", "UTC")), pa.array(keys, pa.int32()), pa.array(values)]
    return pa.table(columns, schema=SCHEMA).take(pa.array(order))


def count_net(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    """Inserts minus retracts; each row is told by a _match of its own, which is never there twice."""
    last: dict[str, tuple[int, str, tuple[Any, ...]]] = {}
    for change, match, version, *row in sorted(zip(*rows.to_pydict().values(), strict=True), key=lambda each: each[2]):
        if match in last:
            assert last[match][0] < version
            assert last[match][1] != change
        last[match] = (version, change, tuple(row))
    return Counter(row for _, change, row in last.values() if change == "insert")


def make_end() -> pa.Table:
    """Events much later, of every key, that take part in nothing: they settle all that was before."""
    times = [(60 + minute) * 1_000_000 for minute in (0, 60) for _ in range(12)]
    columns = [pa.array(times, pa.timestamp("us", "UTC")), pa.array([*range(12)] * 2, pa.int32()), pa.array([31] * 24)]
    return pa.table(columns, schema=SCHEMA)


def answer_whole(name: str, events: pa.Table) -> Counter[tuple[Any, ...]]:
    whole = cep.sql(QUERIES[name], events=events.sort_by("ts"))
    return Counter(zip(*whole.to_pydict().values(), strict=True))


def before_end(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Without those that the last events make."""
    return Counter({row: count for row, count in rows.items() if 31 not in row})


@pytest.mark.parametrize(("name", "wait"), [*((name, "0 s") for name in QUERIES), ("alone", "growing")])
def test_changes_add_up_to_the_batch_answer(spark: Any, tmp_path: Path, name: str, wait: str) -> None:
    arrivals = make_arrivals(7, 600)
    stream = FedStream(spark, tmp_path, SCHEMA, direct=wait == "0 s")
    disorder = cep.Disorder(wait=wait, bound=f"{BOUND_S} seconds", emit="changes")
    for begin in (0, 300):  # the second run goes on from the checkpoint of the first
        for part in range(begin, begin + 300, 60):
            stream.feed(arrivals.slice(part, 60))
        if begin:
            stream.feed(make_end().slice(0, 12))
            stream.feed(make_end().slice(12))
        stream.run(QUERIES[name], disorder=disorder, key_groups=FEW_GROUPS)
    rows = stream.rows()
    if name == "sums" and wait == "0 s":
        assert "retract" in rows.column("_change").to_pylist()
    whole = answer_whole(name, pa.concat_tables([arrivals, make_end()]))
    assert before_end(count_net(rows)) == before_end(whole)


def test_final_rows_are_those_of_all_events_that_were_not_late(spark: Any, tmp_path: Path) -> None:
    arrivals = pa.concat_tables([make_arrivals(3, 600), make_end()])
    stream = FedStream(spark, tmp_path, SCHEMA)
    for part in range(0, 612, 102):
        stream.feed(arrivals.slice(part, 102))
    stream.feed(arrivals.slice(612))
    disorder = cep.Disorder(wait="200 ms", bound=f"{BOUND_S} seconds")
    stream.run(QUERIES["sums"], disorder=disorder, key_groups=FEW_GROUPS)
    late = cep.late_events(spark, stream.checkpoint).toArrow().select(SCHEMA.names).cast(SCHEMA)
    assert 0 < len(late) < 100
    accepted = Counter(map(tuple, zip(*arrivals.to_pydict().values(), strict=True)))
    accepted -= Counter(map(tuple, zip(*late.to_pydict().values(), strict=True)))
    columns = zip(*accepted.elements(), strict=True)
    whole = answer_whole("sums", pa.table(list(map(pa.array, columns)), names=SCHEMA.names).cast(SCHEMA))
    assert before_end(Counter(zip(*stream.rows().to_pydict().values(), strict=True))) == before_end(whole)


def test_changes_in_the_words_of_others_are_the_same_rows(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA)
    arrivals = pa.concat_tables([make_arrivals(5, 400), make_end()])
    for part in range(0, len(arrivals), 106):
        stream.feed(arrivals.slice(part, 106))
    disorder = cep.Disorder(wait="0 s", bound=f"{BOUND_S} seconds", emit="changes")
    forms: list[Any] = ["cepheid", "flink", "spark", "debezium"]
    frames = [
        (
            cep.sql(QUERIES["sums"], events=stream.frame(), disorder=disorder, key_groups=FEW_GROUPS, changelog=form),
            form,
        )
        for form in forms
    ]
    run_some_at_once([(frame, tmp_path / form) for frame, form in frames])
    own, flink, delta, debezium = (read_rows(spark, tmp_path / form) for form in forms)
    expected = Counter(list_rows(own))
    assert expected.total() > 100
    assert Counter(list_rows(read_changelog("events", flink))) == expected
    assert set(flink.column("op").to_pylist()) == {"INSERT", "UPDATE_BEFORE", "UPDATE_AFTER"}
    commits = delta.group_by("_commit_version").aggregate([("_commit_timestamp", "count_distinct")]).to_pydict()
    assert len(commits["_commit_version"]) > 3, "each micro-batch is a commit"
    assert set(commits["_commit_timestamp_count_distinct"]) == {1}, "which is told at one time"
    words = Counter(change for change, *_ in list_rows(own))
    told = Counter(debezium.column("op").to_pylist())
    assert told["u"] == words["retract"]
    assert told["c"] == words["insert"] - words["retract"]
    final = {
        row["_match"]: row["after"] for row in sorted(debezium.to_pylist(), key=lambda row: row["source"]["version"])
    }
    net = Counter((row["k"], row["s"], row["window_end"]) for row in final.values())
    assert before_end(net) == before_end(answer_whole("sums", arrivals))
    with pytest.raises(InvalidInput, match="changelog"):
        cep.sql(QUERIES["sums"], events=stream.frame(), changelog="flink")


def test_checkpoint_of_other_choices_is_refused(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(make_arrivals(3, 60))
    changes = cep.Disorder(wait="0 s", bound="3 s", emit="changes")
    stream.run(QUERIES["sums"], disorder=changes, key_groups=FEW_GROUPS)
    stream.feed(make_end())
    for other in (cep.Disorder(wait="1 s", bound="3 s"), cep.Disorder(bound="3 s")):
        with pytest.raises(SnapshotMismatch, match="belongs to another query"):
            stream.run(QUERIES["sums"], disorder=other, key_groups=FEW_GROUPS)


def test_a_wait_that_follows_the_stream_needs_a_bound(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA)
    with pytest.raises(InvalidInput, match="needs a bound on Spark"):
        cep.sql(QUERIES["sums"], events=stream.frame(), disorder=cep.Disorder(wait="growing"))


def test_session_on_spark_corrects(spark: Any, tmp_path: Path) -> None:
    arrivals = make_arrivals(11, 480)
    stream = FedStream(spark, tmp_path, SCHEMA)
    found: dict[str, list[pa.Table]] = {"pairs": [], "sums": [], "rises": []}
    disorder = cep.Disorder(wait="200 ms", bound=f"{BOUND_S} seconds", emit="changes")
    for begin in (0, 240):
        for part in range(begin, begin + 240, 60):
            stream.feed(arrivals.slice(part, 60))
        if begin:
            stream.feed(make_end().slice(0, 12))
            stream.feed(make_end().slice(12))
        with cep.Session(spark, checkpoint=stream.checkpoint, disorder=disorder, key_groups=FEW_GROUPS) as session:
            session.source("events", stream.frame())
            for name, tables in found.items():
                session.deploy(name, QUERIES[name], sink=lambda rows, _, tables=tables: tables.append(rows))
            session.run()
    for name, tables in found.items():
        whole = answer_whole(name, pa.concat_tables([arrivals, make_end()]))
        assert before_end(count_net(pa.concat_tables(tables))) == before_end(whole), name


def feed_behind(stream: FedStream) -> Iterator[str]:
    """Four keys, an event of each in every second, then one of each that is 4.5 s behind; gives the run that is due."""

    def make_file(*seconds: float) -> pa.Table:
        rows = [(second, key) for second in seconds for key in range(4)]
        times = pa.array([int(second * 1e6) for second, _ in rows], pa.timestamp("us", "UTC"))
        return pa.table([times, pa.array([key for _, key in rows], pa.int32()), [1] * len(rows)], schema=SCHEMA)

    for begin in (0, 20):
        stream.feed(make_file(*range(begin, begin + 20)))
    yield "in order"
    stream.feed(make_file(34.5))
    yield "from the checkpoint"


def check_lateness(seen: LatenessReport | None, run: str, given: int, taken_back: int) -> None:
    """given, taken_back: rows of a key."""
    assert seen is not None
    assert seen.slack_s == 0
    assert seen.lateness_p50_s == 0
    if run == "in order":
        assert (seen.late_share, seen.lateness_p999_s, seen.corrections_per_1000) == (0, 0, 0)
        return
    assert seen.late_share == pytest.approx(1 / 41, rel=0.05), "what is old weighs less"
    assert seen.lateness_p99_s == pytest.approx(4.5, rel=0.1)
    assert seen.corrections_per_1000 == pytest.approx(1000 * taken_back / given)
    assert seen.recall_if_final == pytest.approx(1 - taken_back / given)


def test_lateness_of_a_query_is_in_its_progress(spark: Any, tmp_path: Path) -> None:
    """Of 19 windows of a key one is given anew."""
    stream = FedStream(spark, tmp_path, SCHEMA)
    for run in feed_behind(stream):
        disorder = cep.Disorder(wait="0 s", bound="10 s", emit="changes")
        query = stream.run(QUERIES["sums"], disorder=disorder, key_groups=FEW_GROUPS)
        check_lateness(cep.report_lateness(query), run, 20, 1)


def test_lateness_of_a_session_is_that_of_all_its_stages(spark: Any, tmp_path: Path) -> None:
    """Of 19 and of 9 windows of a key one is given anew."""
    stream = FedStream(spark, tmp_path, SCHEMA)
    settings: Any = {
        "disorder": cep.Disorder(wait="0 s", bound="10 s", emit="changes"),
        "key_groups": FEW_GROUPS,
    }
    for run in feed_behind(stream):
        with cep.Session(spark, checkpoint=stream.checkpoint, **settings) as session:
            session.source("events", stream.frame())
            session.deploy("sums", QUERIES["sums"], sink=[])
            session.deploy("longer", QUERIES["sums"].replace("2 SECONDS", "4 SECONDS"), sink=[])
            assert session.watch().lateness is None
            session.run()
            check_lateness(session.watch().lateness, run, 20 + 10, 1 + 1)


def test_a_silent_stream_is_not_waited_for(spark: Any, tmp_path: Path) -> None:
    """By its name, though Spark computes the conditions below the pattern."""
    text = """SELECT a.v FROM PATTERN SEQ(events a, ~others b) ORDER BY ts
        WHERE a.k = b.k AND a.v % 2 = 0 AND b.v % 2 = 0 WITHIN INTERVAL '1' SECOND"""
    events, others = (FedStream(spark, tmp_path / name, SCHEMA) for name in ("events", "others"))
    rows = [(0, 1, 2), (0, 1, 1), (20_000_000, 1, 1), (40_000_000, 1, 1)]
    for time, key, value in rows:
        columns = [pa.array([time], pa.timestamp("us", "UTC")), pa.array([key], pa.int32()), pa.array([value])]
        events.feed(pa.table(columns, schema=SCHEMA))
    settings: Any = {
        "disorder": cep.Disorder(wait="0 s", bound="2 s", emit="changes"),
        "idle_after": {"others": "5 s"},
        "key_groups": FEW_GROUPS,
    }
    frame = cep.sql(text, events=events.frame(), others=others.frame(), **settings)
    start_query(frame, tmp_path / "sql").awaitTermination()
    assert read_rows(spark, tmp_path / "sql").column("v").to_pylist() == [2]
    found: list[pa.Table] = []
    with cep.Session(spark, checkpoint=str(tmp_path / "session"), **settings) as session:
        session.source("events", events.frame())
        session.source("others", others.frame())
        session.deploy("alone", text, sink=lambda rows, _: found.append(rows))
        session.run()
    assert [value for table in found for value in table.column("v").to_pylist()] == [2]
