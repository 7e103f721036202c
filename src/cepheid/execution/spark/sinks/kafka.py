"""kafka:HOST:PORT/TOPIC, a topic: rows as JSON objects, exactly once for readers of committed records.

kafka:HOST:PORT/TOPIC?key=bus: the column is the key of records, so that rows of one key are in one partition, in order.
kafka:HOST:PORT/TOPIC?upsert=true: of changes, the newest of each `_match` (upserts.py), for topics that are compacted.
kafka/transactions.py says how each is written once.  While no broker answers, the batch waits: up to PATIENCE_S.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.errors import InvalidInput, suggest_name
from cepheid.execution.merging.latest_changes import check_changes
from cepheid.execution.spark.kafka.address import CLIENT, PREFIX, WRITTEN, KafkaAddress, read_address
from cepheid.execution.spark.kafka.transactions import Record
from cepheid.execution.spark.sinks.sink import BatchId, Rows, SparkSinkKind
from cepheid.execution.spark.sinks.upserts import make_upserts
from cepheid.extras import require_extra

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.execution.spark.kafka.transactions import BatchWriter

PATIENCE_S = 120.0
OPENING_S = 10.0
PAUSE_S = 0.5
# Spark's own would cut times to milliseconds, and leave out what is null.
AS_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class KafkaSink:
    def __init__(self, address: KafkaAddress) -> None:
        require_extra("kafka")
        self._address, self._key = address, address.given.get("key")
        self._upserts = read_upsert(address)
        self._writer: BatchWriter | None = None

    def prepare(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        from cepheid.execution.spark.kafka.cluster import KafkaCluster
        from cepheid.execution.spark.schemas import arrow_schema, quote_name

        if self._key is not None and self._key not in frame.columns:
            told = f'the query has no column "{self._key}", which is to be the key of records'
            raise InvalidInput(told, hint=suggest_name(self._key, frame.columns))
        cluster = KafkaCluster(self._address, OPENING_S)
        try:
            cluster.list_partitions()
        finally:
            cluster.close()
        if self._upserts:
            check_changes(self._address.shown, arrow_schema(frame), ())
            value = F.to_json(F.struct(*(F.col(quote_name(n)) for n in frame.columns if n != "_change")), AS_JSON)
            return frame.select("_change", F.col("_match").cast("string"), "_version", value.alias("value"))
        value = F.to_json(F.struct(*(F.col(quote_name(name)) for name in frame.columns)), AS_JSON)
        key = F.lit(None) if self._key is None else F.col(quote_name(self._key))
        return frame.select(key.cast("string").alias("key"), value.alias("value"))

    def write(self, rows: Rows, batch: BatchId) -> None:
        from confluent_kafka import KafkaException

        read = partial(make_upserts, self._address.shown) if self._upserts else _read_records
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._find_writer(batch).write(read(rows), batch.number)
                return
            except KafkaException as problem:
                self._give_up()
                error = problem.args[0]
                if _is_shut_out(error):
                    told = f"another run of this application writes to it: {error.str()}"
                    raise InvalidInput(told, hint="stop one of the two, and run again") from None
                if time.monotonic() > deadline:
                    told = f"it takes no records: {error.str()}"
                    raise InvalidInput(told, hint="see that it runs and can be reached, with these settings") from None
                time.sleep(PAUSE_S)

    def _find_writer(self, batch: BatchId) -> BatchWriter:
        from cepheid.execution.spark.kafka.transactions import BatchWriter

        if self._writer is None:
            self._writer = BatchWriter(self._address, f"cepheid-{batch.query}-{batch.checkpoint}")
        return self._writer

    def _give_up(self) -> None:
        if self._writer is not None:
            self._writer.give_up()
            self._writer = None


def _is_shut_out(error: object) -> bool:
    from confluent_kafka import KafkaError

    code = getattr(error, "code", int)()
    return code in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)  # noqa: SLF001


def read_upsert(address: KafkaAddress) -> bool:
    given = address.given.get("upsert", "false")
    if given not in ("true", "false"):
        raise InvalidInput(f'upsert is "{given}" for "{address.shown}"', hint="?upsert=true, or leave it out")
    if given == "true" and "key" in address.given:
        told = f'"{address.shown}" has a key, "{address.given["key"]}", and takes upserts, whose key is _match'
        raise InvalidInput(told, hint="leave one of them out")
    return given == "true"


def _read_records(rows: Rows) -> Iterator[Record]:
    for part in rows:
        yield from zip(part.column("key").to_pylist(), part.column("value").to_pylist(), strict=True)


def _open(text: str, query: str, folder: Path) -> KafkaSink:  # noqa: ARG001 (batches bear the name)
    address = read_address(text)
    if len(address.topics) != 1:
        raise InvalidInput(f'"{address.shown}" names several topics', hint="a sink is one topic; write two queries")
    for name in address.given:
        if name not in ("key", "upsert"):
            hint = f"?key=COLUMN is one, ?upsert=true another; settings of the client begin with {CLIENT}"
            raise InvalidInput(f'sink "{address.shown}" has an option "{name}", which Kafka\'s have not', hint=hint)
    return KafkaSink(address)


KIND = SparkSinkKind("Kafka", WRITTEN, lambda text: text.startswith(PREFIX), _open)
