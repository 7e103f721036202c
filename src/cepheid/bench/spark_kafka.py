"""Q5 over a topic of Kafka: by Cepheid, and row by row by hand, both from the records that our workers read.

A broker on this machine holds all events before a query starts; each query takes them as one batch, after one over a
small topic that starts workers.
"""

from __future__ import annotations

import json
import statistics
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.bench.kafka_broker import KAFKA, KafkaBroker, fetch_jars
from cepheid.bench.spark_stream import Make
from cepheid.bench.study_data import generate_events, q5_text, threshold_for
from cepheid.extras import require_extra

PARTITIONS = 2
MOST_EVENTS = 1_000_000  # in a topic: to write them takes longer than to read them
WARM_UP = 10_000


def measure_kafka(spark: Any, folder: Path, events: int, repeats: int) -> dict[str, dict[str, Any]]:
    require_extra("kafka")
    try:
        broker = KafkaBroker(fetch_jars(*KAFKA))
    except OSError as problem:
        return {"not measured": {"reason": str(problem)}}
    ways = {"Cepheid, workers read the topic": _cepheid, "row by row, transformWithStateInPandas": _by_hand}
    count = min(events, MOST_EVENTS)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    rows: dict[str, set[int]] = {name: set() for name in ways}
    try:
        broker.start()
        table = generate_events(WARM_UP + count)
        for topic, part in (("small", table.slice(0, WARM_UP)), ("large", table.slice(WARM_UP))):
            broker.make_topic(topic, PARTITIONS)
            _write(broker.servers, topic, part)
        for run in range(repeats):
            for place, (name, make) in enumerate(ways.items()):
                place_of_run = folder / f"{run}-{place}"
                _run(spark, place_of_run / "small", f"kafka:{broker.servers}/small", make)
                taken, found = _run(spark, place_of_run / "large", f"kafka:{broker.servers}/large", make)
                seconds[name].append(taken)
                rows[name].add(found)
    finally:
        broker.remove()
    assert all(len(found) == 1 for found in rows.values()), "the same rows each time"
    ours = statistics.median(seconds["Cepheid, workers read the topic"])
    return {
        name: {
            "events": count,
            "rows": min(rows[name]),  # by hand also those of the last moment, which later events could still precede
            "s": round(statistics.median(runs), 2),
            "spread_s": [round(min(runs), 2), round(max(runs), 2)],
            "events_per_s": round(count / statistics.median(runs)),
            "cepheid_is_times": round(statistics.median(runs) / ours, 2),
        }
        for name, runs in seconds.items()
    }


def _cepheid(stream: Any) -> Any:
    return cep.sql(q5_text(), events=stream, lateness=timedelta(0))


def _by_hand(stream: Any) -> Any:
    from cepheid.execution.spark import baselines  # imports pyspark, which may be missing

    return baselines.run_naive_q5(stream, threshold_for(0.001), 10_000_000)


def _write(servers: str, topic: str, table: pa.Table) -> None:
    """Events of one id in one partition, in their order."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "log_level": 0, "linger.ms": 50})
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            value = json.dumps({**row, "ts": row["ts"].isoformat()})
            producer.produce(topic, value, partition=row["id"] % PARTITIONS)
        producer.flush()


def _run(spark: Any, folder: Path, address: str, make: Make) -> tuple[float, int]:
    """Seconds of the batches by Spark's account, and rows."""
    from cepheid.execution.spark.kafka.stream import KafkaStream
    from cepheid.execution.spark.worker_python import own_python

    kinds = generate_events(1).schema
    fields = [f.with_type(pa.timestamp("us", tz="UTC")) if pa.types.is_timestamp(f.type) else f for f in kinds]
    options = {"address": address, "zone": "UTC", "time": "ts", "startingOffsets": "earliest"}
    counts: list[int] = []
    with own_python(spark):
        stream = KafkaStream(options, pa.schema(fields)).open_rows(spark, "events")
    query = (
        make(stream)
        .writeStream.foreachBatch(lambda batch, _: counts.append(batch.count()))
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sum(each["durationMs"]["triggerExecution"] for each in query.recentProgress) / 1000, sum(counts)
