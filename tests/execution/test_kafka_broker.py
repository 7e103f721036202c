"""What we ask of a Kafka broker, and what it keeps, with a real one and without Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cepheid.errors import InvalidInput
from cepheid.execution.spark.kafka.address import KafkaAddress, read_address
from cepheid.execution.spark.kafka.cluster import KafkaCluster
from cepheid.execution.spark.kafka.read_range import OffsetRange, read_range
from cepheid.execution.spark.kafka.stream_reader import RangeReader
from cepheid.execution.spark.kafka.transactions import BatchWriter
from cepheid.execution.spark.sinks.kafka import KafkaSink
from cepheid.execution.spark.sinks.sink import BatchId

sys.path.append(str(Path(__file__).parent.parent / "spark"))
from topics import read_keys, read_topic, write_records


def open_topic(kafka: Any, name: str, partitions: int = 1, **settings: str) -> KafkaAddress:
    kafka.make_topic(name, partitions, **settings)
    return read_address(f"kafka:{kafka.servers}/{name}")


def make_reader(address: KafkaAddress, **options: str) -> RangeReader:
    given = {"address": address.shown, "zone": "UTC", "time": "ts", "startingOffsets": "earliest", **options}
    return RangeReader({name.lower(): value for name, value in given.items()})


def read_all(address: KafkaAddress, reader: RangeReader, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
    ranges = [row for part in reader.partitions(start, end) for batch in reader.read(part) for row in batch.to_pylist()]
    return [value for each in ranges for got in read_range(address, OffsetRange(**each)) for value in got.values]


class Limit:
    def __init__(self, count: int) -> None:
        self.max_rows = count


def test_batches_follow_each_other_and_new_partitions_are_noticed(kafka: Any) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions

    address = open_topic(kafka, "growing")
    write_records(kafka.servers, "growing", [(0, b"0"), (0, b"1")])
    reader = make_reader(address)
    first = reader.initialOffset()
    second = reader.latestOffset(first, object())
    assert (first, second) == ({"offsets": {"growing": {"0": 0}}}, {"offsets": {"growing": {"0": 2}}})
    assert reader.latestOffset(second, object()) == second
    assert reader.latestOffset() == second, "Spark 4.0 and 4.1 ask without arguments"
    client = AdminClient({"bootstrap.servers": kafka.servers, "log_level": 0})
    client.create_partitions([NewPartitions("growing", 2)])["growing"].result(30)
    reader.stop()
    reader = make_reader(
        address
    )  # after a restart it is seen at once; a running one sees it when its client asks again
    while len(reader.latestOffset(second, object())["offsets"]["growing"]) < 2:
        pass
    write_records(kafka.servers, "growing", [(1, b"2"), (0, b"3")])
    third = reader.latestOffset(second, object())
    assert third == {"offsets": {"growing": {"0": 3, "1": 1}}}
    assert sorted(read_all(address, reader, second, third)) == [b"2", b"3"]
    reader.stop()


def test_a_limited_batch_ends_at_one_event_time_in_all_partitions(kafka: Any) -> None:
    address = open_topic(kafka, "uneven", 2)
    slow = [(0, b'{"ts": "2026-01-01T00:00:%02d"}' % (number // 2)) for number in range(100)]
    quick = [(1, b'{"ts": "2026-01-01T00:%02d:00"}' % number) for number in range(60)]
    write_records(kafka.servers, "uneven", [*slow, *quick, (1, b"no record"), (1, None)])
    reader = make_reader(address)
    end = reader.latestOffset(reader.initialOffset(), Limit(81))
    assert end == {"offsets": {"uneven": {"0": 50, "1": 1}}, "time": 1_767_225_624_000_000}
    last = reader.latestOffset(end, Limit(1000))
    assert last == {"offsets": {"uneven": {"0": 100, "1": 62}}}, "all is read: events say what time it is"
    reader.stop()


def test_deleted_records_stop_the_query_or_are_counted(kafka: Any) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    address = open_topic(kafka, "short")
    write_records(kafka.servers, "short", [(0, b"%d" % number) for number in range(10)])
    place = TopicPartition("short", 0, 4)
    client = AdminClient({"bootstrap.servers": kafka.servers, "log_level": 0})
    client.delete_records([place])[place].result(30)
    start, end = {"offsets": {"short": {"0": 1}}}, {"offsets": {"short": {"0": 10}}}
    strict, lax = make_reader(address), make_reader(address, failOnDataLoss="false")
    with pytest.raises(InvalidInput, match="was read up to offset 1, and its records start at 4 now"):
        strict.partitions(start, end)
    (part,) = lax.partitions(start, end)
    assert part.range == OffsetRange("short", 0, 4, 10, None, 3)  # type: ignore[attr-defined]
    assert read_all(address, lax, start, end) == [b"%d" % number for number in range(4, 10)]
    with pytest.raises(InvalidInput, match="cannot be read from offset 1 on"):  # deleted after it was asked
        list(read_range(address, OffsetRange("short", 0, 1, 10)))
    for reader in (strict, lax):
        reader.stop()


def test_a_topic_that_is_not_there_and_a_broker_that_does_not_answer_are_told(kafka: Any) -> None:
    with pytest.raises(InvalidInput, match='there is no topic "nowhere"'):
        KafkaCluster(read_address(f"kafka:{kafka.servers}/nowhere")).list_partitions()
    with pytest.raises(InvalidInput, match="does not answer"):
        KafkaCluster(read_address("kafka:127.0.0.1:1/buses"), patience_s=0.1).list_partitions()


def test_a_batch_is_written_once_whatever_happened_to_the_writer(kafka: Any) -> None:
    """Ends of transactions are offsets as well: who reads a range gets the records only."""
    from confluent_kafka import KafkaException

    address = open_topic(kafka, "written", 2)
    first = BatchWriter(address, "owner")
    first.write([("1", '{"batch": 0}'), ("2", '{"batch": 0}')], 0)
    first._producer.begin_transaction()  # dies in the midst of batch 1
    first._producer.produce("written", '{"batch": "half"}')
    first._producer.flush(30)
    second = BatchWriter(address, "owner")
    second.write([("1", '{"batch": 0}'), ("2", '{"batch": 0}')], 0)
    second.write([(None, '{"batch": 1}')], 1)
    with pytest.raises(KafkaException):  # it is shut out
        first._producer.commit_transaction(30)
    third = BatchWriter(address, "owner")  # was batch 1 there when its writer died?
    third.write([(None, '{"batch": 1}')], 1)
    third.write([(None, '{"batch": 5}')], 5)  # those between had no rows
    assert sorted(row["batch"] for row in read_topic(kafka.servers, "written")) == [0, 0, 1, 5]
    reader = make_reader(address)
    start = reader.initialOffset()
    assert len(read_all(address, reader, start, reader.latestOffset(start, object()))) == 4
    for each in (first, second, third):
        each.close()
    reader.stop()


def test_another_checkpoint_counts_its_batches_anew(kafka: Any) -> None:
    address = open_topic(kafka, "anew")
    rows = pa.table({"key": pa.array([None], pa.string()), "value": ['{"id": 1}']}).to_batches()

    class Rows(list[pa.RecordBatch]):
        schema = rows[0].schema

    for checkpoint in ("a", "a", "b"):
        KafkaSink(address).write(Rows(rows), BatchId("q", checkpoint, 0))
    assert read_topic(kafka.servers, "anew") == [{"id": 1}] * 2


def test_upserts_are_read_by_their_keys_and_what_is_gone_has_no_value(kafka: Any) -> None:
    address = open_topic(kafka, "upserts", 2, **{"cleanup.policy": "compact"})
    sink = KafkaSink(read_address(f"{address.shown}?upsert=true"))
    names = ["_change", "_match", "_version", "value"]
    first = [["insert"] * 2, ["7", "8"], [1, 1], ['{"d": 1}', '{"d": 2}']]
    second = [["insert", "retract", "retract"], ["7", "7", "8"], [3, 2, 2], ['{"d": 3}', '{"d": 1}', '{"d": 2}']]
    for number, columns in enumerate((first, second, second)):
        table = pa.table(columns, names=names)

        class Rows(list[pa.RecordBatch]):
            schema = table.schema

        sink.write(Rows(table.to_batches()), BatchId("q", "a", min(number, 1)))
    assert read_keys(kafka.servers, "upserts") == {b"7": [b'{"d": 1}', b'{"d": 3}'], b"8": [b'{"d": 2}', None]}


def test_two_runs_of_one_application_cannot_both_write(kafka: Any) -> None:
    address = open_topic(kafka, "shared")
    rows = pa.table({"key": pa.array([None], pa.string()), "value": ['{"id": 1}']}).to_batches()

    class Rows(list[pa.RecordBatch]):
        schema = rows[0].schema

    one, other = KafkaSink(address), KafkaSink(address)
    one.write(Rows(rows), BatchId("q", "a", 0))
    other.write(Rows(rows), BatchId("q", "a", 1))
    with pytest.raises(InvalidInput, match="another run of this application"):
        one.write(Rows(rows), BatchId("q", "a", 1))
    assert len(read_topic(kafka.servers, "shared")) == 2


def test_a_broker_that_comes_back_again_and_again_is_asked_on(kafka: Any) -> None:
    """Each time it leads its partitions in another epoch, which a client has to learn."""
    address = open_topic(kafka, "outages")
    write_records(kafka.servers, "outages", [(0, b"0"), (0, b"1"), (0, b"2")])
    cluster = KafkaCluster(address, patience_s=30.0)
    try:
        for _ in range(2):
            assert cluster.find_latest(cluster.list_partitions()) == {("outages", 0): 3}
            read = list(read_range(address, OffsetRange("outages", 0, 0, 3)))
            assert [value for part in read for value in part.values] == [b"0", b"1", b"2"]
            kafka.stop()
            kafka.start()
        assert cluster.find_latest(cluster.list_partitions()) == {("outages", 0): 3}
    finally:
        cluster.close()
