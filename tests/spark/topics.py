"""Records into topics of Kafka, and out of them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa


def write_records(servers: str, topic: str, records: list[tuple[int, bytes | None]]) -> None:
    """Each into its partition, in this order."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for partition, value in records:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(60) == 0


def as_records(events: pa.Table, key: str, partitions: int) -> list[tuple[int, bytes | None]]:
    """Events of one key in one partition."""
    rows = [{**row, "ts": row["ts"].isoformat()} for row in events.to_pylist()]
    return [(row[key] % partitions, json.dumps(row).encode()) for row in rows]


def read_topic(servers: str, topic: str) -> list[dict[str, Any]]:
    """All records there are, as one who reads what is committed."""
    return [json.loads(value) for _, value in read_records(servers, topic)]


def read_keys(servers: str, topic: str) -> dict[bytes, list[bytes | None]]:
    """By key, the values in their order."""
    found: dict[bytes, list[bytes | None]] = {}
    for key, value in read_records(servers, topic):
        found.setdefault(key, []).append(value)
    return found


def read_records(servers: str, topic: str) -> list[tuple[Any, Any]]:
    """Keys and values, as one reads them who reads what is committed."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": servers, "group.id": "reader", "enable.partition.eof": True, "log_level": 0}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    left = set(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in left])
    found = []
    while left:
        message = consumer.poll(30)
        assert message is not None, "each partition comes to its end"
        if message.error() is not None:
            left.remove(message.partition())
        else:
            found.append((message.key(), message.value()))
    consumer.close()
    return found
