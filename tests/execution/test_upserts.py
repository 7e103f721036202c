"""Changes on Spark's side: records of a compacted topic, and merged tables, without Spark and without a broker."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cepheid.errors import InvalidInput
from cepheid.execution.merging.folder_table import read_merged_folder
from cepheid.execution.spark.kafka.address import read_address
from cepheid.execution.spark.sinks import kafka, merged_table
from cepheid.execution.spark.sinks.kinds import find_spark_target, open_spark_sink, show_spark_sink
from cepheid.execution.spark.sinks.sink import BatchId
from cepheid.execution.spark.sinks.upserts import make_upserts

sys.path.append(str(Path(__file__).parent))  # the random deliveries lie beside this file
from random_deliveries import ChangeMaker, make_table


class Rows(list[pa.RecordBatch]):
    """Of a batch, as Spark's sinks get them: in pieces."""

    def __init__(self, table: pa.Table, size: int = 3) -> None:
        self.schema = table.schema
        super().__init__(table.to_batches(max_chunksize=size))


def make_rows(rows: Iterable[tuple[str, str | None, int, str]]) -> Rows:
    names = ["_change", "_match", "_version", "value"]
    return Rows(pa.table([list(column) for column in zip(*rows, strict=True)], names=names))


def test_of_each_match_the_newest_is_written_and_what_is_gone_has_no_value() -> None:
    rows = make_rows(
        [
            ("retract", "7", 4, "old"),
            ("insert", "8", 5, "eight"),
            ("retract", "9", 4, "gone"),
            ("insert", "7", 5, "new"),
            ("insert", "8", 5, "eight"),
        ]
    )
    assert list(make_upserts("jam", rows)) == [("8", "eight"), ("9", None), ("7", "new")]


def test_partitions_of_a_batch_may_come_in_any_order() -> None:
    rows = [("insert", "7", 5, "new"), ("retract", "7", 4, "old"), ("insert", "7", 3, "old")]
    assert [list(make_upserts("jam", make_rows(order))) for order in (rows, rows[::-1])] == [[("7", "new")]] * 2


def test_a_compacted_topic_holds_the_net_answer() -> None:
    maker = ChangeMaker(Random(3))
    topic: dict[str | None, str | None] = {}
    for _ in range(20):
        changes = make_table(maker.make(7))
        values = pa.array([str(tuple(row.values())[3:]) for row in changes.to_pylist()])
        told = changes.select(["_change", "_match", "_version"]).append_column("value", values)
        topic |= dict(make_upserts("jam", Rows(told)))
    assert {key: value for key, value in topic.items() if value is not None} == {
        match: str(row) for match, row in maker.alive.items()
    }


def test_a_match_with_several_rows_is_refused() -> None:
    with pytest.raises(InvalidInput, match='"kafka:b:1/jam" has several rows for one _match') as problem:
        list(make_upserts("kafka:b:1/jam", make_rows([("insert", "7", 1, "a"), ("insert", "7", 1, "b")])))
    assert "leave upsert out" in (problem.value.hint or "")


@pytest.mark.parametrize(
    ("written", "told"),
    [("upsert=yes", 'upsert is "yes"'), ("upsert=true&key=bus", "whose key is _match"), ("upserts=true", "upserts")],
)
def test_mistakes_in_a_topic_s_options_are_told(written: str, told: str) -> None:
    pytest.importorskip("confluent_kafka")
    with pytest.raises(InvalidInput, match=told):
        open_spark_sink(f"kafka:broker:9092/jam?{written}", "jam", Path())


def test_a_topic_takes_upserts_if_it_says_so() -> None:
    assert kafka.read_upsert(read_address("kafka:broker:9092/jam?upsert=true"))
    assert not kafka.read_upsert(read_address("kafka:broker:9092/jam?key=bus"))


# --- merged tables -----------------------------------------------------------------------------------------


def test_batches_that_are_run_again_change_nothing(tmp_path: Path) -> None:
    maker = ChangeMaker(Random(4))
    sink = open_spark_sink("merge:out/jam", "jam", tmp_path)
    assert isinstance(sink, merged_table.MergedTableSink)
    for number in range(5):
        rows = Rows(make_table(maker.make(10)))
        sink.write(rows, BatchId("jam", "a", number))
        open_spark_sink("merge:out/jam", "jam", tmp_path).write(rows, BatchId("jam", "a", number))  # type: ignore[union-attr]
    found = [tuple(row.values()) for row in read_merged_folder(tmp_path / "out" / "jam").to_pylist()]
    assert sorted(found, key=repr) == sorted(maker.alive.values(), key=repr)


def test_a_batch_waits_for_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setattr(merged_table, "PATIENCE_S", 0.0)
    sink = open_spark_sink("merge:postgresql://writer:sesame@127.0.0.1:1/shop", "jam", Path())
    with pytest.raises(Exception, match="does not answer"):
        sink.write(Rows(make_table(ChangeMaker(Random(4)).make(1))), BatchId("jam", "a", 0))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("merge:postgresql://writer:sesame@host/shop#jam?key=bus", "merge:postgresql://writer@host/shop"),
        ("postgresql://writer:sesame@host/shop?password=sesame#jam", "postgresql://writer@host/shop"),
        ("kafka:host:1/jam?kafka.sasl.password=sesame", "kafka:host:1/jam"),
        ("merge:out/jam?key=bus", "merge:out/jam"),
        ("out/jam", "out/jam"),
    ],
)
def test_sinks_are_shown_without_secrets(text: str, shown: str) -> None:
    assert show_spark_sink(text) == shown


def test_only_a_folder_can_belong_to_another_query(tmp_path: Path) -> None:
    found: list[Any] = [
        find_spark_target(text, "jam", tmp_path)
        for text in ("merge:out/jam?key=bus", "merge:duckdb://x.db#jam", "merge:postgresql://host/shop#jam")
    ]
    assert found == [tmp_path / "out" / "jam", None, None]
