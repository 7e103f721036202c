"""What a checkpoint of a session on Spark keeps, and what becomes of it when queries change."""

from __future__ import annotations

from collections import Counter

import pytest

from cepheid.errors import SnapshotMismatch

pytest.importorskip("pyspark")

from cepheid.execution.spark.live.session_meter import SessionMeter
from cepheid.execution.spark.live.session_record import SessionRecord, forget_left, has_changed, read_record, renew
from cepheid.execution.spark.live.session_rows import BatchAccount
from cepheid.execution.spark.stage_record import StageRecord


def stages(*digests: str, groups: int = 64) -> dict[str, StageRecord]:
    return {digest: StageRecord(digest, f"stage {digest}", groups, {}) for digest in digests}


def test_what_stays_keeps_its_number_and_its_first_batch() -> None:
    first = renew(SessionRecord(), {"a": stages("x"), "b": stages("y", "z")}, 0)
    later = renew(first, {"a": stages("x"), "b": stages("y", "w")}, 7)
    assert later.queries["a"].stages == first.queries["a"].stages
    assert later.queries["b"].stages["y"] == first.queries["b"].stages["y"]
    assert later.stages[later.queries["b"].stages["w"]].began == 7
    assert later.stages[later.queries["b"].stages["y"]].began == 0
    assert later.leaving == (first.queries["b"].stages["z"],)
    assert (later.queries["a"].since, later.queries["b"].since) == (0, 7)


def test_queries_share_a_stage_only_if_it_began_with_both() -> None:
    first = renew(SessionRecord(), {"a": stages("x"), "b": stages("x")}, 0)
    assert first.queries["a"].stages == first.queries["b"].stages
    later = renew(first, {"a": stages("x"), "b": stages("x"), "c": stages("x")}, 5)
    assert later.queries["c"].stages != later.queries["a"].stages, "the old one has seen more"
    again = renew(later, {"a": stages("x"), "c": stages("x"), "d": stages("x")}, 5)
    assert again.queries["d"].stages == again.queries["c"].stages, "no batch came between"
    assert again.leaving == (), "a still has what b had"


def test_numbers_are_never_given_twice() -> None:
    record, seen = SessionRecord(), set()
    for batch in range(5):
        record = renew(record, {"a": stages(f"x{batch}")}, batch)
        (number,) = record.queries["a"].stages.values()
        assert number not in seen
        seen.add(number)
    assert record.leaving == (0, 1, 2, 3)
    assert forget_left(record, {0, 2}).leaving == (1, 3)


def test_read_back_as_written() -> None:
    record = renew(SessionRecord(("buses", "stops")), {"a": stages("x", "y")}, 3)
    assert read_record(record.write(), "0.json") == record
    with pytest.raises(SnapshotMismatch, match="is damaged"):
        read_record(record.write()[:40], "0.json")
    with pytest.raises(SnapshotMismatch, match="another version"):
        read_record('{"format": 99}', "0.json")


def test_changed_is_what_would_lose_state() -> None:
    record = renew(SessionRecord(), {"a": stages("x", "y")}, 0)
    assert not has_changed(record, "new", stages("q"), "here")
    assert not has_changed(record, "a", stages("y", "x"), "here")
    assert has_changed(record, "a", stages("x"), "here")
    assert has_changed(record, "a", stages("x", "y", "z"), "here")
    with pytest.raises(SnapshotMismatch, match="64 key groups"):
        has_changed(record, "a", stages("x", "y", groups=32), "here")


def test_a_stage_has_left_once_it_answered_to_that() -> None:
    meter = SessionMeter()
    for number, stages_seen in ((0, (0, 1)), (1, (0, 1)), (2, (0, 1, 2))):
        meter.note(BatchAccount(number, 0.1, {stage: Counter(events=1) for stage in stages_seen}, {}, {}))
    assert meter.list_answered(2, 3) == {0, 1, 2}
    assert meter.list_answered(3, 3) == set(), "what was seen before the change does not count"
    assert meter.count().events == 7
