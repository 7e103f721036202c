"""The records of a range of offsets of one partition, read by a worker, a bounded number at a time.

A client stays with its worker for the next batch: to connect takes longer than to read a small range.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from cepheid.errors import InvalidInput
from cepheid.execution.spark.kafka.address import KafkaAddress
from cepheid.execution.spark.kafka.cluster import AT_END, PATIENCE_S, QUICK, READING

AT_ONCE = 20_000
WAIT_S = 1.0

_clients: dict[str, Any] = {}


class OffsetRange(NamedTuple):
    """Records from begin up to, and without, end.  time: how far time has come with the whole batch, at most; None: as
    far as events say.  lost: records before `begin` that were deleted before they were read."""

    topic: str
    partition: int
    begin: int
    end: int
    time: int | None = None
    lost: int = 0


class Records(NamedTuple):
    """values: None where a record has none."""

    offsets: list[int]
    values: list[bytes | None]


def read_range(address: KafkaAddress, wanted: OffsetRange, patience_s: float = PATIENCE_S) -> Iterator[Records]:
    from confluent_kafka import TopicPartition

    if wanted.begin >= wanted.end:
        return
    client = _find_client(address)
    client.assign([TopicPartition(wanted.topic, wanted.partition, wanted.begin)])
    try:
        place, deadline = wanted.begin, time.monotonic() + patience_s
        while place < wanted.end:
            messages = client.consume(min(AT_ONCE, wanted.end - place), WAIT_S)
            reached = _find_reached(messages, wanted)
            messages = [each for each in messages if each.error() is None and each.offset() < wanted.end]
            if messages:
                yield Records([each.offset() for each in messages], [each.value() for each in messages])
            if reached is None and time.monotonic() > deadline:
                told = f'Kafka at "{address.servers}" sends no records of {_name(wanted)} from offset {place} on'
                raise InvalidInput(told, hint="see that it runs and can be reached from the workers")
            if reached is not None:
                place, deadline = reached, time.monotonic() + patience_s
    finally:
        client.unassign()  # it fetches ahead else


def _find_reached(messages: list[Any], wanted: OffsetRange) -> int | None:
    """The offset behind all of them; None: there is none.  Offsets may have gaps: ends of transactions, compaction."""
    messages = [each for each in messages if each.error() is None or each.error().code() not in list_passing()]
    for problem in [each.error() for each in messages if each.error() is not None]:
        if problem.code() != AT_END:
            told = f"{_name(wanted)} cannot be read from offset {wanted.begin} on: {problem.str()}"
            hint = "if its records were deleted meanwhile, run again: failOnDataLoss decides then"
            raise InvalidInput(told, hint=hint)
    if not messages:
        return None
    is_end = messages[-1].error() is not None
    return int(messages[-1].offset()) + (0 if is_end else 1)


@cache
def list_passing() -> frozenset[int]:
    """Codes of what passes when a broker is back: the client goes on by itself."""
    from confluent_kafka import KafkaError

    return frozenset(
        getattr(KafkaError, name)
        for name in (
            "_TRANSPORT",
            "_ALL_BROKERS_DOWN",
            "_TIMED_OUT",
            "_RESOLVE",
            "_UNKNOWN_PARTITION",  # before the first answer of a broker that is starting
            "LEADER_NOT_AVAILABLE",
            "NOT_LEADER_FOR_PARTITION",
            "REQUEST_TIMED_OUT",
            "BROKER_NOT_AVAILABLE",
            "NETWORK_EXCEPTION",
            "FENCED_LEADER_EPOCH",
            "UNKNOWN_LEADER_EPOCH",
            "OFFSET_NOT_AVAILABLE",
        )
    )


def _name(wanted: OffsetRange) -> str:
    return f'partition {wanted.partition} of topic "{wanted.topic}"'


def _find_client(address: KafkaAddress) -> Any:
    from confluent_kafka import Consumer

    name = repr((address.servers, sorted(address.settings.items())))
    if name not in _clients:
        _clients[name] = Consumer(address.client(QUICK, READING))
    return _clients[name]
