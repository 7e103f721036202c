"""What the driver asks a Kafka cluster: partitions of topics, their offsets, and the time of single records.

While no broker answers, it is asked again: up to PATIENCE_S, then the query fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from cepheid.errors import InvalidInput
from cepheid.execution.spark.kafka.address import KafkaAddress
from cepheid.execution.spark.kafka.batch_ends import Offsets, Partition

PATIENCE_S = 120.0
ASK_S = 5.0
PAUSE_S = 0.2
GROUP = "cepheid"  # clients must name one; nothing is kept under it
READING = {
    "group.id": GROUP,
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
}
# What is asked for is there: a broker need not wait until there is more of it, nor a client until it asks for more.
QUICK = {"fetch.wait.max.ms": 10, "fetch.queue.backoff.ms": 10}
AT_END = -191  # the code of confluent_kafka's KafkaError._PARTITION_EOF
MOST_LOOKED_AT = 100  # records, to find one that has a time

T = TypeVar("T")
ReadTime = Callable[[bytes | None], int | None]


class KafkaCluster:
    def __init__(self, address: KafkaAddress, patience_s: float = PATIENCE_S) -> None:
        from confluent_kafka import Consumer

        self._address, self._patience_s, self._ask_s = address, patience_s, min(ASK_S, patience_s)
        self._admin = self._connect()
        self._consumer = Consumer(address.client({**QUICK, "fetch.message.max.bytes": 1 << 16}, READING))

    def _connect(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient(self._address.client({}, {}))

    def close(self) -> None:
        self._consumer.close()

    def list_partitions(self) -> list[Partition]:
        return [place for topic in self._address.topics for place in self._ask(partial(self._list, topic))]

    def _list(self, topic: str) -> list[Partition]:
        from confluent_kafka import KafkaError, KafkaException

        known = self._consumer.list_topics(topic, timeout=self._ask_s).topics[topic]
        if known.error is not None:
            if known.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                told = f'there is no topic "{topic}" at {self._address.servers}'
                raise InvalidInput(told, hint="make it, or correct the name; topics are not made by reading them")
            raise KafkaException(known.error)
        return [(topic, number) for number in sorted(known.partitions)]

    def find_earliest(self, places: Iterable[Partition]) -> dict[Partition, int]:
        from confluent_kafka.admin import OffsetSpec

        return self._list_offsets(places, OffsetSpec.earliest())

    def find_latest(self, places: Iterable[Partition]) -> dict[Partition, int]:
        """Behind the last record that is not part of an open transaction."""
        from confluent_kafka.admin import OffsetSpec

        return self._list_offsets(places, OffsetSpec.latest())

    def _list_offsets(self, places: Iterable[Partition], which: Any) -> dict[Partition, int]:
        from confluent_kafka import IsolationLevel, TopicPartition

        asked = {TopicPartition(topic, number): which for topic, number in places}
        if not asked:
            return {}

        def ask() -> dict[Partition, int]:
            level = IsolationLevel.READ_COMMITTED
            told = self._admin.list_offsets(asked, isolation_level=level, request_timeout=self._ask_s)
            return {(each.topic, each.partition): found.result().offset for each, found in told.items()}

        return self._ask(ask)

    def look(self, offsets: Offsets, read_time: ReadTime) -> dict[Partition, int | None]:
        """The time of the first record at each offset, or behind it, that has one."""
        return self._ask(lambda: self._look(offsets, read_time))

    def _look(self, offsets: Offsets, read_time: ReadTime) -> dict[Partition, int | None]:
        from confluent_kafka import KafkaException, TopicPartition

        found: dict[Partition, int | None] = {}
        left = dict.fromkeys(offsets, MOST_LOOKED_AT)
        deadline = time.monotonic() + self._patience_s
        self._consumer.assign([TopicPartition(*place, offset) for place, offset in offsets.items()])
        try:
            while left:
                message = self._consumer.poll(self._ask_s)
                if message is None:
                    self._check_patience(deadline, "it sends no records")
                    continue
                place, problem = (message.topic(), message.partition()), message.error()
                if place not in left:
                    continue
                if problem is not None and problem.code() != AT_END:
                    raise KafkaException(problem)
                moment = None if problem is not None else read_time(message.value())
                left[place] -= 1
                if moment is not None or problem is not None or not left[place]:
                    found[place] = moment
                    del left[place]
        finally:
            self._consumer.unassign()
        return found

    def _ask(self, question: Callable[[], T]) -> T:
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return question()
            except KafkaException as problem:
                self._check_patience(deadline, problem.args[0].str())
                time.sleep(PAUSE_S)
                self._admin = self._connect()  # an old one believes for ever in the broker that there was

    def _check_patience(self, deadline: float, reason: str) -> None:
        if time.monotonic() > deadline:
            told = f'Kafka at "{self._address.servers}" does not answer: {reason}'
            raise InvalidInput(
                told, hint="see that it runs and can be reached from here, with these settings"
            ) from None


def write_offsets(offsets: Offsets) -> dict[str, dict[str, int]]:
    """As JSON has them, and as Spark's users write them: {"buses": {"0": 17}}."""
    found: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(number)] = offset
    return found


def read_offsets(written: Mapping[str, Mapping[str, int]]) -> dict[Partition, int]:
    return {(topic, int(number)): offset for topic, each in written.items() for number, offset in each.items()}
