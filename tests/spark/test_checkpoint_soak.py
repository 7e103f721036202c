"""The long tests of checkpoints (`make soak`): each kind of query moved up and down, kills on the way, a full disk."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import cepheid as cep
from cepheid.errors import NotSupportedYet, RunFailed
from cepheid.execution.spark.checkpoint_files.damage import diagnose
from cepheid.execution.spark.checkpoint_files.layout import open_checkpoint
from cepheid.execution.spark.moved_state.repartition import inspect_checkpoint, plan_move, repartition
from cepheid.execution.spark.run_failures import tell_failure

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif("CEPHEID_KILLS" not in os.environ, reason="minutes long: make soak"),
]

KILLS = int(os.environ.get("CEPHEID_KILLS", "0"))
SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", tz="UTC")), ("v", pa.int64())])
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LATENESS = timedelta(seconds=10)
PAIRS = """SELECT a.k, a.ts AS first, b.ts AS last FROM PATTERN SEQ(events a, events b)
    WHERE a.k = b.k AND a.v < 3 AND b.v > 8 WITHIN INTERVAL '120' SECOND STRATEGY skip_till_any"""
CHAIN = """SELECT k, count(*) AS n FROM (SELECT a.k AS k, b.ts AS t FROM PATTERN SEQ(events a, events b)
    WHERE a.k = b.k AND a.v < 3 AND b.v > 8 WITHIN INTERVAL '120' SECOND STRATEGY skip_till_next)
    [PARTITION BY k ORDER BY t RANGE 5 MINUTES] GROUP BY k"""
QUERIES = {
    "sequence": PAIRS,
    "row pattern": """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES FIRST(a.v) AS x, LAST(b.ts) AS t, MATCH_NUMBER() AS n PATTERN (a b+ c) WITHIN INTERVAL '300' SECOND
        DEFINE b AS b.v > PREV(b.v), c AS c.v < a.v)""",
    "absence": """SELECT a.k, a.ts AS since FROM PATTERN SEQ(events a, ~events b)
        WHERE a.k = b.k AND a.v > 6 AND b.v > 6 WITHIN INTERVAL '60' SECOND""",
    "window": "SELECT k, sum(v) AS s, max(v) AS m FROM events [PARTITION BY k ORDER BY ts RANGE 2 MINUTES] GROUP BY k",
    "join": """SELECT x.k, x.ts AS xt, y.ts AS yt FROM events [PARTITION BY k ORDER BY ts RANGE 1 MINUTE] AS x
        JOIN events [PARTITION BY k ORDER BY ts RANGE 1 MINUTE] AS y ON x.k = y.k AND x.v < 2 AND y.v > 8""",
    "chain": CHAIN,
}
MOVES: list[tuple[int | None, int | None]] = [(128, 4), (None, 1), (16, 3), (None, 8)]
SPLITS: list[tuple[int | None, int | None]] = [(None, 4), (None, 8)]  # all that a chain can do


def make_events(count: int, seed: int) -> pa.Table:
    """One a second, of 23 keys, up to five seconds out of order."""
    drawn = random.Random(seed)
    times = [BEGIN + timedelta(seconds=second + drawn.randrange(5)) for second in range(count)]
    keys, values = [f"k{drawn.randrange(23)}" for _ in range(count)], [drawn.randrange(11) for _ in range(count)]
    return pa.table({"k": keys, "ts": times, "v": values}, SCHEMA)


def make_end(days: int) -> pa.Table:
    """An event of a key of its own that settles all before it."""
    return pa.table({"k": ["end"], "ts": [BEGIN + timedelta(days=days)], "v": [5]}, SCHEMA)


def count_rows(table: pa.Table) -> Counter[tuple[str, ...]]:
    rows = (tuple(map(str, row.values())) for row in table.to_pylist())
    return Counter(row for row in rows if "end" not in row)


def run(stream: FedStream, text: str, groups: int | None) -> None:
    stream.run(text, lateness=LATENESS, **({} if groups is None else {"key_groups": groups}))


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
@pytest.mark.parametrize("kind", QUERIES)
def test_a_stream_that_is_moved_up_and_down_gives_the_batch_answer(
    spark: Any, tmp_path: Path, kind: str, direct: bool
) -> None:
    text = QUERIES[kind]
    moves = [(None, None), *(SPLITS if kind == "chain" else MOVES)]
    events = make_events(900, seed=len(kind))
    stream = FedStream(spark, tmp_path, SCHEMA, direct)
    size, known = len(events) // len(moves), None
    for turn, (groups, partitions) in enumerate(moves):
        if turn:
            checkpoint = open_checkpoint(stream.checkpoint)
            repartition(spark, checkpoint, plan_move(inspect_checkpoint(checkpoint), groups, partitions))
        known = groups or known
        for half in range(2):
            stream.feed(events.slice(turn * size + half * size // 2, size // 2))
        run(stream, text, known)
    if kind == "chain":
        checkpoint = open_checkpoint(stream.checkpoint)
        with pytest.raises(NotSupportedYet, match="together"):
            repartition(spark, checkpoint, plan_move(inspect_checkpoint(checkpoint), None, 1))
    for days in (1, 3):
        stream.feed(make_end(days))
        run(stream, text, known)
    expected = count_rows(cep.sql(text, events=events.slice(0, size // 2 * 2 * len(moves))))
    assert expected.total() > 50
    assert count_rows(stream.rows()) == expected


def test_a_repartition_that_is_killed_leaves_a_checkpoint_to_go_on_from(spark: Any, tmp_path: Path) -> None:
    """Whenever it is killed, what lies in the place is whole: the old one or the new one."""
    events = make_events(400, seed=1)
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(events.slice(0, 200))
    run(stream, PAIRS, None)
    command = [sys.executable, "-c", "from cepheid.cli import app; app()", "repartition", stream.checkpoint]
    drawn = random.Random(3)
    partitions = 2
    for _ in range(max(KILLS // 3, 3)):
        wanted = partitions + 1
        process = subprocess.Popen(
            [*command, "--partitions", str(wanted)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(drawn.uniform(3, 15))
        process.kill()
        process.wait()
        checkpoint = open_checkpoint(stream.checkpoint)
        assert diagnose(checkpoint).is_whole
        offsets = inspect_checkpoint(checkpoint).offsets
        assert offsets is not None
        found = int(offsets.header["conf"]["spark.sql.shuffle.partitions"])
        assert found in (partitions, wanted)
        partitions = found
    stream.feed(events.slice(200))
    run(stream, PAIRS, None)
    stream.feed(make_end(1))
    run(stream, PAIRS, None)
    assert count_rows(stream.rows()) == count_rows(cep.sql(PAIRS, events=events))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB where the checkpoint will be."""
    place = tmp_path / "checkpoint"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("disks cannot be mounted here: it takes root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_stream_goes_on_once_a_full_disk_has_room_again(spark: Any, tmp_path: Path, small_disk: Path) -> None:
    events = make_events(600, seed=2)
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(events.slice(0, 200))
    run(stream, PAIRS, None)
    ballast = small_disk / "ballast"
    for begin, room in ((200, 0), (300, 6_000), (400, 20_000), (500, 60_000)):
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        ballast.write_bytes(bytes(max(free - room, 0)))
        stream.feed(events.slice(begin, 100))
        try:
            run(stream, PAIRS, None)
        except (PySparkException, RunFailed) as problem:
            told = problem if isinstance(problem, RunFailed) else tell_failure("q", str(problem), None, str(small_disk))
            assert str(small_disk) in str(told), "the folder is named"
        else:
            assert room > 20_000, "without room nothing can be done"
        ballast.unlink()
        assert diagnose(open_checkpoint(str(small_disk))).is_whole
        run(stream, PAIRS, None)
    stream.feed(make_end(1))
    run(stream, PAIRS, None)
    assert count_rows(stream.rows()) == count_rows(cep.sql(PAIRS, events=events))
