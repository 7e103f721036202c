"""The state of our stages, read from a checkpoint and written into a new one, by Spark itself.

    checkpoint ─statestore─▶ shares                                                                     (read)
    shares ─▶ files ─▶ a stream of one batch, whose stateful operator stores what it is given ─▶ 1.zip  (write)

What is written is version 1 of the new state, a whole snapshot in each partition; a snapshot does not say of what
version it is, so it serves as any other once it bears that name (repartition.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.errors import RunFailed
from cepheid.execution.blob import read_blob, write_blob
from cepheid.execution.spark.capabilities import check_protobuf
from cepheid.execution.spark.moved_state.recut import StoredShare
from cepheid.execution.spark.query_start import STREAM_SETTINGS
from cepheid.execution.spark.run_failures import find_reason
from cepheid.execution.spark.worker_python import own_python

BLOBS = {"engine": "segments", "chain": "pieces"}  # by kind: what the map of a processor is called
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
WRITTEN_VERSION = 1


def read_shares(spark: SparkSession, checkpoint: Path, operator: int, batch: int, kind: str) -> dict[int, StoredShare]:
    """By label: the state of an operator after a batch."""

    def load(variable: str, *, is_map: bool) -> DataFrame:
        reader = spark.read.format("statestore").option("operatorId", operator).option("batchId", batch)
        reader = reader.option("stateVarName", variable).option("flattenCollectionTypes", "true")
        frame = reader.load(str(checkpoint))
        label = F.col("key.label").alias("label")
        if not is_map:
            return frame.select(label, F.col("value.blob").alias("blob"))
        number = F.col("user_map_key.number" if variable != "late" else "user_map_key.batch").alias("number")
        return frame.select(label, number, F.col("user_map_value.blob").alias("blob"))

    indexes = {int(row.label): bytes(row.blob) for row in load("index", is_map=False).collect()}
    blobs: dict[int, dict[int, bytes]] = {label: {} for label in indexes}
    late: dict[int, dict[int, bytes]] = {label: {} for label in indexes}
    for variable, found in ((BLOBS[kind], blobs), ("late", late)):
        for row in load(variable, is_map=True).toLocalIterator():
            found[int(row.label)][int(row.number)] = bytes(row.blob)
    return {
        label: StoredShare(index, blobs[label], late[label], read_blob(index)[0].get("timer"))
        for label, index in indexes.items()
    }


def write_shares(
    spark: SparkSession,
    shares: Mapping[int, StoredShare],
    kind: str,
    partitions: int,
    settings: Mapping[str, str],
    folder: Path,
) -> Path:
    """Gives the folder of the operator's state, of WRITTEN_VERSION, once it was read back and is the same.  settings:
    those that the checkpoint was written with; folder: an empty one."""
    check_protobuf()
    given = folder / "given"
    given.mkdir(parents=True)
    rows = []
    for label, share in shares.items():
        path = folder / f"share-{label}"
        path.write_bytes(_pack(share))
        rows.append((label, str(path)))
    labels, paths = [label for label, _ in rows], [path for _, path in rows]
    pq.write_table(
        pa.table({"label": pa.array(labels, pa.int32()), "path": pa.array(paths, pa.string())}), given / "0.parquet"
    )
    session = spark.newSession()
    for name, value in {**settings, **STREAM_SETTINGS, CHANGELOG: "false", PARTITIONS: str(partitions)}.items():
        session.conf.set(name, value)
    stream = session.readStream.schema("label int, path string").parquet(str(given))
    # Spark drops what is not after the watermark, which begins at 0 and must stay there: timers are not to be called.
    moments = stream.withColumn("moment", F.timestamp_seconds(F.lit(1))).withWatermark("moment", "1 day")
    with own_python(spark):
        stored = moments.groupBy("label").transformWithStateInPandas(
            statefulProcessor=_StateWriter(BLOBS[kind]),
            outputStructType="label int",
            outputMode="append",
            timeMode="eventTime",
        )
    checkpoint = folder / "checkpoint"
    try:
        writer = stored.writeStream.format("noop").outputMode("append").option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()
    except PySparkException as problem:
        raise RunFailed(
            f"the new state could not be written: {find_reason(str(problem))}",
            hint="the checkpoint is as it was; is there room on the disk?",
        ) from None
    if read_shares(session, checkpoint, 0, 0, kind) != dict(shares):
        raise RunFailed("the new state is not what was to be written", hint="the checkpoint is as it was")
    return checkpoint / "state" / "0"


def _pack(share: StoredShare) -> bytes:
    header = {"timer": share.timer, "blobs": list(share.blobs), "late": list(share.late)}
    return write_blob(header, [share.index, *share.blobs.values(), *share.late.values()])


class _StateWriter(StatefulProcessor):
    """The variables of processor.py or chain_processor.py, filled with what is given."""

    def __init__(self, blobs: str) -> None:
        self._name = blobs

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._index = handle.getValueState("index", "blob binary")
        self._blobs = handle.getMapState(self._name, "number long", "blob binary")
        self._late = handle.getMapState("late", "batch long", "blob binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        for frame in rows:
            for path in frame["path"].tolist():
                self._store(*read_blob(Path(path).read_bytes()))
        yield pd.DataFrame({"label": pd.Series([int(key[0])], dtype="int32")})

    def _store(self, header: dict[str, Any], parts: list[bytes]) -> None:
        index, *others = parts
        self._index.update((index,))
        count = len(header["blobs"])
        for number, blob in zip(header["blobs"], others[:count], strict=True):
            self._blobs.updateValue((number,), (blob,))
        for batch, blob in zip(header["late"], others[count:], strict=True):
            self._late.updateValue((batch,), (blob,))
        if header["timer"] is not None:
            self._handle.registerTimer(header["timer"])

    def close(self) -> None:
        pass
