"""kafka:HOST:PORT/TOPIC, a topic whose records are JSON objects; what does not fit is set apart.

Records are read by Python workers, so no connector of Spark's is needed; offsets are in Spark's checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput, NotSupportedYet, suggest_name
from cepheid.execution.spark.kafka.address import CLIENT, PREFIX, WRITTEN, read_address
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, begins_with, text_of
from cepheid.extras import require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONS = ("startingOffsets", "maxOffsetsPerTrigger", "failOnDataLoss", "format")
OPENING_S = 10.0  # for a broker to answer, when the application starts


def _read_schema(text: str, folder: Path) -> pa.Schema:  # noqa: ARG001 (it has no path)
    read_address(text)
    told = f'"{text.partition("?")[0]}" is a topic, whose records do not say what columns they have'
    raise InvalidInput(told, hint='declare them: schema = { ts = "timestamp", bus = "int" }')


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:
    require_extra("kafka")
    from cepheid.execution.spark.kafka.cluster import KafkaCluster
    from cepheid.execution.spark.kafka.stream import KafkaStream
    from cepheid.execution.spark.kafka.stream_reader import ADDRESS, TIME, ZONE, read_starting
    from cepheid.execution.spark.schemas import declared_schema
    from cepheid.execution.spark.sources.event_time import find_time
    from cepheid.execution.spark.worker_python import own_python

    if not source.is_declared:
        _read_schema(text_of(source), folder)
    address = read_address(text_of(source), source.options)
    check_options(source.name, address.given)
    cluster = KafkaCluster(address, OPENING_S)
    try:
        read_starting(source.options.get("startingOffsets", "latest"), cluster.list_partitions())
    finally:
        cluster.close()
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    time = find_time(declared_schema(source.schema), source)
    options = {**source.options, ADDRESS: text_of(source), ZONE: zone, **({} if time is None else {TIME: time})}
    stream = KafkaStream(options, _as_instants(source.schema))
    stream.check_format()
    with own_python(spark):
        return OpenStream(stream.open_rows(spark, source.name), stream.open_misfits(spark, source.name))


def _as_instants(schema: pa.Schema) -> pa.Schema:
    """As Spark's TIMESTAMP is."""
    fields = [f.with_type(pa.timestamp("us", tz="UTC")) if pa.types.is_timestamp(f.type) else f for f in schema]
    return pa.schema(fields)


def check_options(source: str, given: Mapping[str, str]) -> None:
    for name in given:
        if name not in OPTIONS:
            told = f'source "{source}" has an option "{name}", which Kafka\'s have not'
            raise InvalidInput(told, hint=f"{suggest_name(name, OPTIONS)}; settings of the client begin with {CLIENT}")
    if given.get("format", "json") != "json":
        hint = "write JSON objects; or read the topic with Spark's connector, and give the DataFrame to cep.sql"
        raise NotSupportedYet(f'format "{given["format"]}" of source "{source}"', hint=hint)
    limit = given.get("maxOffsetsPerTrigger", "1")
    if not limit.isdigit() or not int(limit):
        raise InvalidInput(
            f'maxOffsetsPerTrigger "{limit}" of source "{source}" is no number of records', hint="write 100000"
        )
    if given.get("failOnDataLoss", "true").lower() not in ("true", "false"):
        told = f'failOnDataLoss "{given["failOnDataLoss"]}" of source "{source}" is neither true nor false'
        raise InvalidInput(told, hint="true: stop if records were deleted before they were read; false: count them")


KIND = StreamKind("Kafka", WRITTEN, begins_with(PREFIX), _open, _read_schema)
