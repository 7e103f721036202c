"""A topic as a stream on Spark: a micro-batch is a row for each range of offsets, which workers make records of.

    cepheid_kafka (stream_reader.py) ─▶ rows: OffsetRange ─mapInArrow─┬─▶ events      KafkaStream.open_rows
                                                                      ├─▶ misfits     KafkaStream.open_misfits
                                                                      └─▶ envelopes   direct_ingest.py

The records themselves never pass through the JVM before they are events.  All that is needed to read them is in the
options of the source: so a stream is found again in the plan of a DataFrame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.execution.spark.batch_progress import READ
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.envelopes import MOST_ROWS
from cepheid.execution.spark.json_records import JsonRecords
from cepheid.execution.spark.kafka.address import KafkaAddress, read_address
from cepheid.execution.spark.kafka.read_range import OffsetRange, read_range
from cepheid.execution.spark.kafka.stream_reader import ADDRESS, RANGES, ZONE, KafkaRanges
from cepheid.execution.spark.plain_errors import TellPlainly

MISFITS = pa.schema(
    [
        ("reason", pa.string()),
        ("record", pa.string()),
        ("raw", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
    ]
)


@dataclass(frozen=True)
class KafkaStream:
    """options: of the source of ranges.  schema: what records are to be, times in UTC."""

    options: Mapping[str, str]
    schema: pa.Schema

    @property
    def address(self) -> KafkaAddress:
        return read_address(self.options[ADDRESS], self.options)

    def check_format(self) -> None:
        """Refuse what records cannot be made of, before anything runs."""
        JsonRecords(self.schema, self.options[ZONE])

    def open_names(self, spark: SparkSession) -> DataFrame:
        """The stream as ranges of offsets: one row for each partition of the topic that has new records."""
        spark.dataSource.register(KafkaRanges)
        return spark.readStream.format(KafkaRanges.name()).schema(RANGES).options(**self.options).load()

    def open_rows(self, spark: SparkSession, source: str) -> DataFrame:
        """source: its name, to count its records by: Spark counts ranges."""

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with TellPlainly():
                for rows, _ in self.read(batches, self.schema):
                    yield from rows.to_batches()

        rows = self.open_names(spark).mapInArrow(read, from_arrow_schema(self.schema))
        return rows.observe(f"{READ}{source}", F.count(F.lit(1)).alias("count"))

    def open_misfits(self, spark: SparkSession, source: str) -> DataFrame:
        found = self.open_names(spark).mapInArrow(self._read_misfits, from_arrow_schema(MISFITS))
        return found.select(F.lit(source).alias("source"), "*", F.current_timestamp().alias("seen"))

    def read(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[tuple[pa.Table, int | None]]:
        """Columns of the records that fit, with how far time has come at most.  A record is judged by all columns."""
        parser, address = JsonRecords(self.schema, self.options[ZONE]), self.address
        for wanted in _read_ranges(batches):
            waiting: list[pa.Table] = []
            for records in read_range(address, wanted):
                waiting.append(parser.parse(records.values).rows.select(schema.names))
                if sum(map(len, waiting)) >= MOST_ROWS:
                    yield pa.concat_tables(waiting), wanted.time
                    waiting = []
            if waiting:
                yield pa.concat_tables(waiting), wanted.time

    def _read_misfits(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parser, address = JsonRecords(self.schema, self.options[ZONE]), self.address
        with TellPlainly():
            for wanted in _read_ranges(batches):
                if wanted.lost:
                    told = f"{wanted.lost} records before offset {wanted.begin} were deleted before they were read"
                    yield _list_misfits(wanted, [(told, None, wanted.begin)])
                for records in read_range(address, wanted):
                    places = parser.parse(records.values).misfits
                    found = [(records.values[place], records.offsets[place]) for place in places]
                    yield _list_misfits(wanted, [(parser.explain(value), value, at) for value, at in found])


def _list_misfits(wanted: OffsetRange, found: list[tuple[str, bytes | None, int]]) -> pa.RecordBatch:
    rows = [
        {
            "reason": reason,
            "record": None if value is None else value.decode("utf-8", "backslashreplace"),
            "raw": value,
            "topic": wanted.topic,
            "partition": wanted.partition,
            "offset": offset,
        }
        for reason, value, offset in found
    ]
    return pa.RecordBatch.from_pylist(rows, MISFITS)


def _read_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[OffsetRange]:
    for batch in batches:
        for row in batch.to_pylist():
            yield OffsetRange(**row)


def find_kafka_stream(plan: Any, schema: pa.Schema) -> KafkaStream | None:
    """What `open_rows` made, found in a plan of the JVM without its watermark; None: it is anything else.  schema: of
    the rows."""
    if plan.nodeName() != "CollectMetrics" or not plan.name().startswith(READ):
        return None
    mapped = plan.children().head()
    if mapped.nodeName() != "MapInArrow":
        return None
    below = mapped.children().head()
    if below.nodeName() != "StreamingRelationV2" or below.sourceName() != KafkaRanges.name():
        return None
    return KafkaStream(dict(below.extraOptions().asCaseSensitiveMap()), schema)
