"""Ranges of offsets as a streaming source of Spark, by its API for sources in Python.

    {"offsets": {"buses": {"0": 17, "1": 20}}, "time": 1767225600000000}    where a batch ends

`time` is there if the batch does not take all that is there (batch_ends.py).  It is part of the offset, which Spark
keeps: a batch that is run again is the same batch.  Partitions that are new begin at their first record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from cepheid.errors import InvalidInput
from cepheid.event_time import newest_time
from cepheid.execution.spark.capabilities import AvailableNow, limit_rows
from cepheid.execution.spark.json_records import JsonRecords
from cepheid.execution.spark.kafka.address import read_address
from cepheid.execution.spark.kafka.batch_ends import Offsets, Partition, choose_ends
from cepheid.execution.spark.kafka.cluster import KafkaCluster, read_offsets, write_offsets
from cepheid.execution.spark.kafka.read_range import OffsetRange
from cepheid.execution.spark.plain_errors import TellPlainly

COLUMNS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in ("begin", "end", "time", "lost")),
    ]
)
RANGES = "topic string, partition int, begin long, end long, time long, lost long"
# Options, beside those that users give and settings of the client:
ADDRESS, ZONE, TIME = "address", "zone", "time"
STARTING, LIMIT, FAIL = "startingOffsets", "maxOffsetsPerTrigger", "failOnDataLoss"
AGAIN = f'read on from what is there: {FAIL} = "false"; or begin with a new checkpoint'
STARTING_HINT = 'write "earliest", "latest", or an offset for each: {"buses": {"0": 23, "1": -2}} (-2: earliest)'


@dataclass
class RangePartition(InputPartition):
    range: OffsetRange


class KafkaRanges(DataSource):
    @classmethod
    def name(cls) -> str:
        return "cepheid_kafka"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return RangeReader(dict(self.options))


class RangeReader(DataSourceStreamReader, AvailableNow):
    """options: their names in lower case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._cluster_kept: KafkaCluster | None = None
        self._last: dict[Partition, int] | None = None  # with availableNow: what was there when it began

    def initialOffset(self) -> dict[str, Any]:
        with TellPlainly():
            places = self._cluster.list_partitions()
            begins = read_starting(self._options.get(STARTING.lower(), "latest"), places)
            latest, earliest = self._cluster.find_latest(places), self._cluster.find_earliest(places)
            found = {place: earliest[place] if at == -2 else latest[place] if at == -1 else at
                     for place, at in begins.items()}  # fmt: skip
            return {"offsets": write_offsets(found)}

    def prepareForTriggerAvailableNow(self) -> None:
        with TellPlainly():
            self._last = self._find_latest()

    def getDefaultReadLimit(self) -> Any:
        return limit_rows(int(self._options.get(LIMIT.lower(), "0")))

    def latestOffset(self, *given: Any) -> dict[str, Any]:
        """given: where the last batch ended, and a limit; Spark 4.0 and 4.1 give neither."""
        with TellPlainly():
            latest = self._find_latest() if self._last is None else self._last
            if not given:
                return {"offsets": write_offsets(latest)}
            start, limit = given
            begins = read_offsets(start["offsets"])
            new = self._cluster.find_earliest([place for place in latest if place not in begins])
            rows = getattr(limit, "max_rows", None)
            ends = choose_ends({**begins, **new}, latest, rows, self._look if TIME in self._options else None)
            if ends.offsets == begins:
                return dict(start)
            told = {} if ends.time is None else {"time": ends.time}
            return {"offsets": write_offsets(ends.offsets), **told}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        with TellPlainly():
            begins, ends = read_offsets(start["offsets"]), read_offsets(end["offsets"])
            changed = [place for place, at in ends.items() if begins.get(place) != at]
            fail = self._options.get(FAIL.lower(), "true").lower() == "true"
            found = find_ranges(begins, ends, self._cluster.find_earliest(changed), fail)
            return [RangePartition(each._replace(time=end.get("time"))) for each in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition), "partitions() makes no others"
        yield pa.RecordBatch.from_pylist([partition.range._asdict()], COLUMNS)

    def stop(self) -> None:
        if self._cluster_kept is not None:
            self._cluster_kept.close()

    @property
    def _cluster(self) -> KafkaCluster:
        if self._cluster_kept is None:
            self._cluster_kept = KafkaCluster(read_address(self._options[ADDRESS], self._options))
        return self._cluster_kept

    def _find_latest(self) -> dict[Partition, int]:
        return self._cluster.find_latest(self._cluster.list_partitions())

    def _look(self, offsets: Offsets) -> Mapping[Partition, int | None]:
        column = self._options[TIME]
        parser = JsonRecords(pa.schema([(column, pa.timestamp("us", tz="UTC"))]), self._options[ZONE])

        def read_time(record: bytes | None) -> int | None:
            times = parser.parse([record]).rows.column(column).drop_null()
            return newest_time(times) if len(times) else None

        return self._cluster.look(offsets, read_time)


def find_ranges(begins: Offsets, ends: Offsets, earliest: Offsets, fail: bool) -> list[OffsetRange]:
    """What a batch reads.  earliest: of the partitions in which it reads.  fail: if records that it was to read are not
    there any more; else they are counted, as far as they can be."""
    gone = {place: "it is not there" for place in begins if place not in ends}
    found = []
    for place, first in earliest.items():
        end, begin = ends[place], begins.get(place, first)
        if begin < first:
            gone[place] = f"its records start at {first}"
        elif begin > end:
            gone[place] = f"it ends at {end}"
        start = min(max(first, begin) if begin <= end else first, end)
        lost = max(0, min(first, end) - begin)
        if start < end or lost:
            found.append(OffsetRange(*place, start, end, None, lost))
    for (topic, number), told in gone.items():
        if fail:
            read = f'partition {number} of topic "{topic}" was read up to offset {begins[topic, number]}'
            raise InvalidInput(
                f"{read}, and {told} any more" if "not" in told else f"{read}, and {told} now", hint=AGAIN
            )
    return found


def read_starting(written: str, places: Sequence[Partition]) -> dict[Partition, int]:
    """An offset for each, as Spark's users write them; -2: the earliest, -1: the latest."""
    if written.lower() in ("earliest", "latest"):
        return dict.fromkeys(places, -2 if written.lower() == "earliest" else -1)
    try:
        found: dict[Partition, Any] = dict(read_offsets(json.loads(written)))
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(f'{STARTING} "{written}" is not understood', hint=STARTING_HINT) from None
    for topic, number in places:
        if (topic, number) not in found:
            told = f'{STARTING} says nothing of partition {number} of topic "{topic}"'
            raise InvalidInput(told, hint=STARTING_HINT)
    for (topic, number), at in found.items():
        if (topic, number) not in places or not isinstance(at, int) or at < -2:
            told = f'{STARTING} says {at} for partition {number} of topic "{topic}", which is not there'
            raise InvalidInput(told, hint=STARTING_HINT)
    return found
