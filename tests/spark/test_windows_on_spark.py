"""Windows on Spark give the rows that they give in this process: over whole tables, and on streams once settled."""

from __future__ import annotations

import math
import sys
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidOrder, NotSupportedYet
from cepheid.execution.spark.measurements import read_measurements
from cepheid.execution.spark.netted_changes import gather_evaluations
from cepheid.testing import assert_same_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream, read_rows, run_some_at_once

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")]

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("value", pa.float64()),
        ("amount", pa.int64()),
        ("name", pa.string()),
    ]
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

WINDOWS = {
    "sliding rows by key": "SELECT id, avg(value) AS a, count(*) AS n FROM events [PARTITION BY id ROWS 5] GROUP BY 1",
    "sliding rows": "SELECT id, sum(amount) AS s FROM events [ROWS 20] GROUP BY id",
    "sliding time": "SELECT id, max(value) AS m, median(amount) AS p FROM events [RANGE 30 SECONDS] GROUP BY id",
    "jumping rows": "SELECT name, count(*) AS n, window_end FROM events [ROWS 16 SLIDE 16] GROUP BY name",
    "jumping time": """SELECT id, name, avg(value) AS m, sum(amount) AS s, window_start, window_end
        FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE] WHERE amount > 3 GROUP BY id, name HAVING count(*) > 1""",
    "hopping percentiles": """SELECT id, percentile_disc(0.9) WITHIN GROUP (ORDER BY value) AS p, first(name) AS f
        FROM events [RANGE 1 MINUTE SLIDE 20 SECONDS] GROUP BY id""",
    "sessions": "SELECT id, count(*) AS n, window_end FROM events [PARTITION BY id SESSION 15 SECONDS] GROUP BY id",
    "every": """SELECT name, avg(value) AS m, count(*) AS n FROM events [RANGE 40 SECONDS] GROUP BY name
        OUTPUT EVERY 10 SECONDS""",
    "best": """SELECT id, max(value) AS m FROM events [ROWS 30 SLIDE 30] GROUP BY id ORDER BY max(value) DESC, id
        LIMIT 2""",
    "istream": "ISTREAM (SELECT id, count(*) AS n FROM events [PARTITION BY name ROWS 8] GROUP BY id)",
    "dstream": "SELECT DSTREAM id, value FROM events [ROWS 7]",
    "rows picked": """SELECT id, ts, lag(value, 2, -1) OVER w AS l, lead(value) OVER w AS f, row_number() OVER w AS n,
        rank() OVER w AS r, last_value(name) OVER w AS z, first_value(name) IGNORE NULLS OVER w AS a
        FROM events WINDOW w AS (PARTITION BY id ORDER BY ts)""",
    "members": "SELECT id, value FROM events [PARTITION BY name ROWS 10 SLIDE 10]",
}  # fmt: skip


CHAINS = {
    "average_of_averages": """SELECT SUM(s) / SUM(c) AS q FROM (SELECT SUM(value) AS s, COUNT(value) AS c
        FROM events [RANGE 10 SECONDS] OUTPUT EVERY 10 SECONDS) [RANGE 1 MINUTE]""",
    "window_over_a_pattern": """SELECT id, count(*) AS n, max(high) AS top FROM (
            SELECT id, at, high FROM events MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts
            MEASURES LAST(b.ts) AS at, LAST(b.value) AS high
            PATTERN (a b+) WITHIN INTERVAL '1' MINUTE DEFINE b AS b.value > PREV(b.value)))
        [ORDER BY at RANGE 2 MINUTES] GROUP BY id""",
    "pattern_over_a_window": """SELECT * FROM (
            SELECT id, window_end AS at, sum(value) AS s FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY id)
        MATCH_RECOGNIZE (PARTITION BY id ORDER BY at MEASURES FIRST(at) AS began, LAST(s) AS s
            PATTERN (a b+) WITHIN INTERVAL '1' MINUTE DEFINE b AS b.s > PREV(b.s))""",
}


def make_events(count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    names = np.array(["x", "y", "", None], dtype=object)
    return pa.table(
        {
            "id": random.integers(1, 6, count).astype(np.int32),
            "ts": [BEGIN + timedelta(seconds=int(second)) for second in np.sort(random.integers(0, count * 2, count))],
            "value": random.integers(1, 21, count).astype(np.float64),
            "amount": random.integers(1, 9, count),
            "name": names[random.integers(0, len(names), count)],
        },
        SCHEMA,
    )


def closing_event(second: int) -> pa.Table:
    """Far ahead: one moves time on, the next lets every key group see that it did."""
    moment = BEGIN + timedelta(days=1, seconds=second)
    return pa.table({"id": [-1], "ts": [moment], "value": [0.0], "amount": [9], "name": ["z"]}, SCHEMA)


def cut_at_random(events: pa.Table, pieces: int, seed: int) -> list[pa.Table]:
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(events), pieces - 1))
    bounds = [0, *cuts.tolist(), len(events)]
    return [events.slice(begin, end - begin) for begin, end in pairwise(bounds)]


def settle(text: str, batches: list[pa.Table], lateness: timedelta | None = None) -> pa.Table:
    """The rows that are settled after these batches."""
    query = cep.open(text, events=SCHEMA, lateness=lateness)
    return pa.concat_tables([query.push(events=batch) for batch in batches])


def test_windows_over_whole_tables(spark: Any) -> None:
    events = make_events(240, seed=3)
    frame = spark.createDataFrame(events).coalesce(1)  # equal times keep the order of arrival
    for title, text in WINDOWS.items():
        expected = cep.sql(text, events=events)
        found = cep.sql(text, events=frame, key_groups=8).toArrow()
        assert len(expected) > 5, title
        assert_same_rows(found.cast(expected.schema), expected, title)


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
def test_windows_on_streams_with_restart(direct: bool, spark: Any, tmp_path: Path) -> None:
    titles = [title for title in WINDOWS if title not in ("best", "members", "sliding rows")]
    titles = titles if direct else ["every", "dstream"]
    batches = [*cut_at_random(make_events(240, seed=4), 3, seed=1), closing_event(0), closing_event(1)]
    expected = {title: settle(WINDOWS[title], batches) for title in titles}
    stream = FedStream(spark, tmp_path / "stream", SCHEMA, direct)
    for feeding in (batches[:2], batches[2:]):
        for batch in feeding:
            stream.feed(batch)
        run_some_at_once(
            [
                (cep.sql(WINDOWS[title], events=stream.frame(), lateness=timedelta(0)), tmp_path / title)
                for title in titles
            ]
        )
    for title, rows in expected.items():
        assert len(rows) > 5, title
        found = read_rows(spark, tmp_path / title).select(rows.column_names)
        assert_same_rows(found.cast(rows.schema), rows, title)


def test_events_within_the_lateness_are_put_in_order_and_later_ones_kept_apart(spark: Any, tmp_path: Path) -> None:
    events = make_events(200, seed=5)
    seconds = events.column("ts").to_numpy().astype("datetime64[s]").astype(np.int64)
    arrival = np.argsort(seconds + np.random.default_rng(1).integers(0, 15, len(seconds)), kind="stable")
    shuffled = events.take(pa.array(arrival))
    text, lateness = WINDOWS["jumping time"], timedelta(seconds=15)
    batches = [*cut_at_random(shuffled, 3, seed=2), closing_event(0), closing_event(30)]
    expected = settle(text, batches, lateness)
    stream = FedStream(spark, tmp_path, SCHEMA)
    holes = events.slice(0, 2).set_column(1, SCHEMA.field("ts"), pa.nulls(2, SCHEMA.field("ts").type))
    for batch in [*batches, events.slice(0, 3), holes]:  # three that are hopelessly late, two without a time
        stream.feed(batch)
    query = stream.run(text, lateness=lateness)
    assert_same_rows(stream.rows().select(expected.column_names).cast(expected.schema), expected)
    measured = read_measurements(query)
    assert sum(batch.late for batch in measured) == 3
    assert sum(batch.rejected for batch in measured) == 2
    late = cep.late_events(spark, stream.checkpoint).toArrow()
    assert sorted(late.column("ts").to_pylist()) == events.slice(0, 3).column("ts").to_pylist()


# --- windows that Spark computes itself -------------------------------------------------------------------

GROUPED = """SELECT k, window_start AS b, window_end AS e, count(*) AS n, count(x) AS nx, count(DISTINCT s) AS ds,
        count(DISTINCT x) AS dx, sum(x) AS sx, avg(x) AS ax, min(x) AS lx, max(x) AS hx, stddev(x) AS dev,
        var_pop(x) AS vx, sum(i) AS si, avg(i) AS ai, min(s) AS ls, max(s) AS hs, sum(j) AS sj, avg(j) AS aj,
        stddev_pop(j) AS dj, bool_and(x > 3) AS every_x
    FROM t [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k"""


def make_odd_values() -> pa.Table:
    """Nulls, NaN, infinities, zeros of both signs, large integers, times before 1970 and null."""
    nan, inf = math.nan, math.inf
    values = [1.5, None, nan, 7.0, inf, -0.0, 0.0, 2.5, -inf, 4.0, 8.25, None, 3.0, nan, 5.0]
    count = 60
    start = datetime(1969, 12, 31, 23, 59, 40, tzinfo=UTC)
    times = [start + timedelta(seconds=number * 0.9) if number % 11 else None for number in range(count)]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "k": pa.array([(1.0, nan, None, 0.0, -0.0)[number % 5] for number in range(count)], pa.float64()),
            "x": pa.array([values[number * 7 % len(values)] for number in range(count)], pa.float64()),
            "i": pa.array([2**60 - number if number % 2 else -(2**60) for number in range(count)], pa.int64()),
            "j": pa.array([None if number % 4 == 1 else number * 3 % 17 for number in range(count)], pa.int32()),
            "s": pa.array([("b", "a", "ä", "", None)[number * 3 % 5] for number in range(count)]),
        }
    )


def rough(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Floats to ten digits: Spark adds them in an order of its own."""
    return tuple((f"{value + 0.0:.10g}" if value else "0") if isinstance(value, float) else value for value in row)


@pytest.mark.filterwarnings("ignore::cepheid.errors.RejectedEventsWarning")
@pytest.mark.parametrize("zone", ["UTC", None])
def test_windows_left_to_spark_give_the_same_answers(zone: str | None, far_away: Any) -> None:
    table = make_odd_values()
    table = table.set_column(0, "ts", table.column("ts").cast(pa.timestamp("us", tz=zone)))
    text, frame = GROUPED, far_away.createDataFrame(table)
    if zone is None:
        frame = frame.withColumn("ts", frame["ts"].cast("timestamp_ntz"))
    assert "HostWindow" in cep.explain(text, t=frame)
    result = cep.sql(text, t=frame)
    found, expected = result.toArrow(), cep.sql(text, t=table)
    assert found.schema.names == expected.schema.names
    assert found.cast(expected.schema).schema.types == expected.schema.types
    rows = [sorted(map(rough, zip(*each.to_pydict().values(), strict=True)), key=repr) for each in (found, expected)]
    assert rows[0] == rows[1]
    assert cep.count_rejected(result) == 6


def test_a_sum_that_spark_computes_is_never_wrong(spark: Any) -> None:
    table = pa.table({"ts": pa.array([0, 1, 2], pa.timestamp("s", tz="UTC")), "i": [2**62, 2**62, 2**62]})
    text = "SELECT sum(i) AS s FROM t [RANGE 10 SECONDS SLIDE 10 SECONDS]"
    with pytest.raises(Exception, match="left the range of 64 bits"):
        cep.sql(text, t=spark.createDataFrame(table)).toArrow()
    fitting = table.set_column(1, "i", pa.array([2**62, 2**62, -(2**62)]))
    assert cep.sql(text, t=spark.createDataFrame(fitting)).toArrow().column("s").to_pylist() == [2**62]


def test_days_and_zones_do_not_move_windows(far_away: Any) -> None:
    days = pa.table({"d": pa.array([date(2026, 3, day) for day in (1, 2, 3, 8, 9)]), "x": [1, 2, 3, 4, 5]})
    text = "SELECT sum(x) AS s, window_start AS b, window_end AS e FROM t [ORDER BY d RANGE 2 DAYS SLIDE 2 DAYS]"
    expected = cep.sql(text, t=days)
    assert_same_rows(cep.sql(text, t=far_away.createDataFrame(days)).toArrow().cast(expected.schema), expected)
    events = make_events(100, seed=6)
    text = "SELECT count(*) AS n, window_start AS b FROM events [RANGE 1 DAY SLIDE 1 DAY]"
    expected = cep.sql(text, events=events)
    assert_same_rows(cep.sql(text, events=far_away.createDataFrame(events)).toArrow().cast(expected.schema), expected)


# --- what explain and refusals say ------------------------------------------------------------------------


def test_explain_says_who_runs_a_window_and_why(spark: Any, tmp_path: Path) -> None:
    whole = spark.createDataFrame(make_events(5, seed=1))
    stream = FedStream(spark, tmp_path, SCHEMA).frame()
    for title, frame, told in (
        ("jumping time", whole, "[host: windows told by time alone are a GROUP BY over whole tables]"),
        ("jumping time", stream, "[engines, by _key0, _key1: each key has windows of its own]"),
        ("sliding time", whole, "[engines, by _key0: each key has windows of its own]"),
        ("sliding rows", whole, "[one engine: the window is of the whole stream]"),
        ("average_of_averages", stream, "[one engine: a chain runs where it is known how far the lower rows have come"),
        ("window_over_a_pattern", stream, "[engines, by _key0: a chain runs where"),
    ):
        assert told in cep.explain((WINDOWS | CHAINS)[title], step="placed", events=frame), title


@pytest.mark.parametrize(
    "text",
    [
        WINDOWS["every"],
        WINDOWS["sliding rows"],
        "SELECT id, count(*) AS n FROM events [RANGE 1 MINUTE SLIDE 30 SECONDS] GROUP BY id",
        "SELECT id, count(*) AS n FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY id ORDER BY count(*) LIMIT 1",
        "SELECT ISTREAM id, count(*) AS n FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY id",
        "SELECT id, median(value) AS n FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY id",
        "SELECT id, value FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    ],
)
def test_other_windows_stay_with_engines(text: str, spark: Any) -> None:
    assert "HostWindow" not in cep.explain(text, events=spark.createDataFrame(make_events(5, seed=1)))


def test_chains_on_streams_with_restart(spark: Any, tmp_path: Path) -> None:
    events = make_events(240, seed=7)
    batches = [*cut_at_random(events, 3, seed=3), closing_event(0), closing_event(1)]
    late = events.slice(0, 3)
    expected = {title: settle(text, batches) for title, text in CHAINS.items()}
    streams = {title: FedStream(spark, tmp_path / title, SCHEMA, number == 0) for number, title in enumerate(CHAINS)}
    for feeding in (batches[:2], [*batches[2:], late]):
        for stream in streams.values():
            for batch in feeding:
                stream.feed(batch)
        queries = run_some_at_once(
            [
                (cep.sql(CHAINS[title], events=stream.frame(), lateness=timedelta(0)), stream.folder)
                for title, stream in streams.items()
            ]
        )
    for title, rows in expected.items():
        assert len(rows) > 5, title
        assert_same_rows(streams[title].rows().cast(rows.schema), rows, title)
        found = cep.late_events(spark, streams[title].checkpoint).toArrow()
        assert sorted(found.column("ts").to_pylist()) == late.column("ts").to_pylist()
    assert [sum(batch.late for batch in read_measurements(query)) for query in queries] == [3] * len(CHAINS)


def test_what_spark_cannot_do_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = FedStream(spark, tmp_path, SCHEMA).frame()
    with pytest.raises(NotSupportedYet, match="several queries"):
        cep.sql({"a": WINDOWS["every"], "b": WINDOWS["best"]}, events=frame)
    with pytest.raises(InvalidOrder, match="withWatermark"):
        cep.sql(WINDOWS["every"], events=frame)


SPARKS_OWN = {
    "window": "SELECT window.start AS since, id, count(*) AS n FROM events GROUP BY window(ts, '20 seconds'), id",
    "hopping": """SELECT window.start AS since, window.end AS till, max(value) AS m FROM events
        GROUP BY window(ts, '20 seconds', '10 seconds')""",
    "session": """SELECT session_window.end AS till, id, count(*) AS n FROM events
        GROUP BY session_window(ts, '5 seconds'), id""",
}


def test_windows_as_spark_spells_them_are_sparks_own(spark: Any, tmp_path: Path) -> None:
    events = make_events(120, seed=9)
    spark.createDataFrame(events).createOrReplaceTempView("events")
    stream = FedStream(spark, tmp_path / "stream", SCHEMA, direct=False)
    for batch in (*cut_at_random(events, 2, seed=2), closing_event(0), closing_event(1)):
        stream.feed(batch)
    frames = [
        (cep.sql(text, events=stream.frame().withWatermark("ts", "0 seconds")), tmp_path / title)
        for title, text in SPARKS_OWN.items()
    ]
    run_some_at_once(frames)
    for title, text in SPARKS_OWN.items():
        expected = spark.sql(text).toArrow()
        assert len(expected) > 5, title
        assert_same_rows(cep.sql(text, events=spark.table("events")).toArrow(), expected, title)
        assert_same_rows(
            read_rows(spark, tmp_path / title).select(expected.column_names).cast(expected.schema), expected, title
        )


def test_rows_are_cut_between_evaluations_only() -> None:
    numbers = [0, 0, 1, 1, 1, 2, 4, 4, 4, 4, 7]
    for seed in range(30):
        random = np.random.default_rng(seed)
        cuts = [0, *np.sort(random.integers(0, len(numbers) + 1, 4)).tolist(), len(numbers)]
        parts = [pa.table({"_evaluation": numbers[cut:end]}) for cut, end in pairwise(cuts)]
        parts = [part.cast(pa.schema([("_evaluation", pa.int64())])) for part in parts]
        gathered = [part.column(0).to_pylist() for part in gather_evaluations(iter(parts))]
        assert [number for part in gathered for number in part] == numbers
        assert all(before[-1] != after[0] for before, after in pairwise(gathered))


def test_aggregates_in_python_on_spark(spark: Any) -> None:
    events = pa.table(
        {
            "id": pa.array([1, 2, 1, 2, 1, 1], pa.int32()),
            "x": [1.0, 2.0, 4.0, 8.0, 16.0, 2.0],
            "ts": pa.array(range(6), pa.timestamp("s", tz="UTC")),
        }
    )
    product = cep.Aggregate(lambda: 1.0, lambda p, x: p * x, lambda p: p, remove=lambda p, x: p / x)
    query = "SELECT id, product(x) AS p FROM s [ROWS 3] GROUP BY id"
    frame = spark.createDataFrame(events).coalesce(1)
    found = sorted(map(tuple, cep.sql(query, s=frame, aggregates={"product": product}).collect()))
    assert found == [(1, 1.0), (1, 4.0), (1, 32.0), (1, 64.0), (2, 2.0), (2, 16.0)]


def test_processing_time_is_the_moment_of_the_batch(spark: Any, tmp_path: Path) -> None:
    """A window of arrivals is closed by the next batch; event time, which stands still here, does not matter."""
    text = """SELECT id, count(*) AS n, min(p) AS since FROM (SELECT *, PROCTIME() AS p FROM events)
        [ORDER BY p RANGE 1 MILLISECOND SLIDE 1 MILLISECOND] GROUP BY id"""
    stream = FedStream(spark, tmp_path, SCHEMA)
    first = make_events(20, 1)
    stream.feed(first)
    began = datetime.now(UTC)
    stream.run(text)
    assert not len(stream.rows())
    stream.feed(first.slice(0, 1))
    stream.run(text)
    rows = stream.rows()
    assert sum(rows.column("n").to_pylist()) == 20
    assert began - timedelta(seconds=1) <= rows.column("since")[0].as_py() <= datetime.now(UTC)
    assert len(set(rows.column("since").to_pylist())) == 1
    whole = cep.sql(text, events=spark.createDataFrame(first)).toArrow()
    assert_same_rows(whole.select(["id", "n"]), rows.select(["id", "n"]))
