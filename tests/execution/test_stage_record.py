"""What a checkpoint on Spark keeps of a query, and what of it may not change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cepheid.compiler import compile_query
from cepheid.errors import SnapshotMismatch
from cepheid.execution.spark.session_meaning import means_the_same_anywhere
from cepheid.execution.spark.stage_record import StageRecord, check_stages, read_stage
from cepheid.hosts import EMBEDDED
from cepheid.session_inputs import make_catalog

SCHEMA = pa.schema([
    ("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64()), ("line", pa.string()),
])  # fmt: skip
SESSION = {"dialect": "spark", "spark.sql.session.timeZone": "UTC"}


def record(session: dict[str, str] | None, digest: str = "d", key_groups: int = 64) -> StageRecord:
    return StageRecord(digest, "pattern", key_groups, session)


@pytest.mark.parametrize(
    ("now", "said", "hint"),
    [
        ({"spark.sql.session.timeZone": "Asia/Tokyo"}, "timeZone was UTC and is Asia/Tokyo", 'timeZone", "UTC")'),
        ({"dialect": "trino"}, "dialect was spark and is trino", 'dialect="spark" to cep.sql'),
        ({"spark.sql.legacy.x": "1"}, "legacy.x was not set and is 1", 'conf.unset("spark.sql.legacy.x")'),
    ],
)
def test_changed_setting_is_told_with_the_way_back(now: dict[str, str], said: str, hint: str) -> None:
    for digest in ("d", "another, since literals were read by the new setting"):
        with pytest.raises(SnapshotMismatch) as found:
            check_stages([record(SESSION)], [record({**SESSION, **now}, digest)], "the checkpoint")
        assert said in str(found.value)
        assert hint in str(found.value)


def test_records_are_read_back_and_older_ones_know_no_settings() -> None:
    stored: dict[str, Any] = record(SESSION).as_dict()
    assert read_stage(stored) == record(SESSION)
    del stored["session"]
    check_stages([read_stage(stored)], [record(SESSION)], "the checkpoint")
    check_stages([record({})], [record({})], "the checkpoint")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.value < 8 AND b.value > 12.5", True),
        ("a.line = 'X' AND b.value > 12", True),
        ("a.ts < b.ts - INTERVAL '5' SECOND AND b.value > a.value", True),
        ("hour(a.ts) < 8", False),
        ("upper(a.line) = 'X'", False),
        ("date_trunc('day', a.ts) < date_trunc('day', b.ts)", False),
    ],
)
def test_only_what_types_prove_is_taken_as_the_same_in_any_session(condition: str, expected: bool) -> None:
    text = f"""SELECT a.id, b.ts FROM PATTERN SEQ(events a, events b) WHERE a.id = b.id AND {condition}
        WITHIN INTERVAL '50' SECOND"""
    graph = compile_query(text, make_catalog({"events": SCHEMA}, {}), EMBEDDED).rewritten
    assert means_the_same_anywhere(graph, {"events": SCHEMA}) is expected


ABOVE = """SELECT hour(t) AS h FROM (SELECT a.ts AS t FROM PATTERN SEQ(events a, events b)
    WHERE a.id = b.id WITHIN INTERVAL '50' SECOND)"""
WITHIN = """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts PATTERN (a b)
    DEFINE b AS concat(a.line, b.line) = 'XY')"""


@pytest.mark.parametrize("text", [ABOVE, WITHIN], ids=["above the pattern", "over events of a match"])
def test_functions_count_wherever_they_stand(text: str) -> None:
    graph = compile_query(text, make_catalog({"events": SCHEMA}, {}), EMBEDDED).rewritten
    assert not means_the_same_anywhere(graph, {"events": SCHEMA})
