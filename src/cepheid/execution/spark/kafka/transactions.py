"""Records of a batch, written to a topic in one transaction with the number of the batch.

    begin; the records of batch 7; offset 8 of the group cepheid-QUERY-CHECKPOINT; commit

The offset of a group that nobody reads with is how a number gets into a transaction of Kafka's.  A batch that comes
again finds its number there, and writes nothing; so does one that was committed when the connection broke before it
could say so.  Who reads with isolation.level=read_committed sees each record once.  Whoever starts with the same
transactional id ends what another had begun, and shuts it out: two runs of one application cannot both write.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from cepheid.execution.spark.kafka.address import KafkaAddress

ASK_S = 30.0
TRANSACTION_MS = 120_000  # after which brokers end what a dead application had begun
WRITING = {
    "linger.ms": 20,
    "partitioner": "murmur2_random",  # as Java's clients choose a partition for a key
    "transaction.timeout.ms": TRANSACTION_MS,
}
IDEMPOTENT = {"acks": "all", "enable.idempotence": True}

Record = tuple[str | None, str | None]  # key and value; without a value, it takes back what was written of the key


class BatchWriter:
    """One producer for the life of a query, or until it fails: then another one finds out what was written."""

    def __init__(self, address: KafkaAddress, owner: str) -> None:
        from confluent_kafka import Consumer, Producer

        (self._topic,) = address.topics
        self._producer = Producer(address.client(WRITING, {**IDEMPOTENT, "transactional.id": owner}))
        self._group = Consumer(address.client({}, {"group.id": owner, "enable.auto.commit": False}))
        self._producer.init_transactions(ASK_S)
        self._next = self._read_next()

    def write(self, records: Iterable[Record], number: int) -> None:
        """All records of a batch; nothing is written if they are there already."""
        if number < self._next:
            return
        self._producer.begin_transaction()
        for key, value in records:
            self._produce(key, value)
        group = self._group.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([self._place(number + 1)], group, ASK_S)
        self._producer.commit_transaction(ASK_S)
        self._next = number + 1

    def give_up(self) -> None:
        """After a failure; what is open is ended by the next one."""
        with suppress(Exception):
            self._producer.purge()
            self._producer.abort_transaction(1.0)
        self.close()

    def close(self) -> None:
        self._group.close()

    def _produce(self, key: str | None, value: str | None) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                return
            except BufferError:  # so many are under way that it takes no more: until some have arrived
                self._producer.poll(0.1)

    def _read_next(self) -> int:
        """The number behind that of the last batch that is there."""
        (committed,) = self._group.committed([self._place()], ASK_S)
        return max(0, int(committed.offset))

    def _place(self, *offset: int) -> Any:
        from confluent_kafka import TopicPartition

        return TopicPartition(self._topic, 0, *offset)
