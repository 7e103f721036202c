"""A checkpoint belongs to stages: which queries may go on from it, and what the others are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cepheid.errors import SnapshotMismatch
from cepheid.execution.spark.stage_record import StageRecord, check_stages, read_stage

RISE = StageRecord("d1", "rows_1: rise", 64)
FALL = StageRecord("d2", "rows_2: fall", 64)


def test_same_stages_go_on_whatever_they_are_called() -> None:
    check_stages([RISE, FALL], [replace(RISE, described="rows_9: rise"), FALL], "the checkpoint")


def test_other_number_of_key_groups_is_refused_with_the_number_to_give() -> None:
    with pytest.raises(SnapshotMismatch, match=r'"/cp" was written with 64 key groups, and this query has 32') as told:
        check_stages([RISE], [replace(RISE, key_groups=32)], 'the checkpoint "/cp"')
    assert "key_groups=64" in (told.value.hint or "")
    assert "CEPHEID_KEY_GROUPS=64" in (told.value.hint or "")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([FALL], "holds the state of rows_1: rise, and the query has rows_2: fall"),
        ([RISE, FALL], "the query has rows_1: rise; rows_2: fall"),
        ([], "no pattern and no window"),
        ([replace(RISE, digest="d9")], "something else under the same description"),
    ],
)
def test_other_query_is_refused_by_what_was_and_what_is(asked: list[StageRecord], told: str) -> None:
    with pytest.raises(SnapshotMismatch, match=told):
        check_stages([RISE], asked, "the checkpoint")


def test_other_order_is_refused_as_such() -> None:
    with pytest.raises(SnapshotMismatch, match="in another order"):
        check_stages([RISE, FALL], [FALL, RISE], "the checkpoint")


def test_record_is_read_as_it_was_written() -> None:
    assert read_stage(RISE.as_dict()) == RISE
