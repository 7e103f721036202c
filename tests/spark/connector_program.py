"""A topic read with Spark's own connector, through cep.sql, to its end: FOLDER SERVERS JARS, run by test_kafka.py."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812 (as everywhere in PySpark)

import cepheid as cep
from cepheid.execution.spark.session import build_session

sys.path.append(str(Path(__file__).parent))
from applications import RISING
from streams import start_query

if __name__ == "__main__":
    folder, servers, jars = sys.argv[1:]
    spark = build_session("cepheid connector", quiet_log=Path(folder) / "spark.log", spark__jars=jars)
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", "plain")
    records = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 200).load()
    parsed = F.from_json(F.col("value").cast("string"), "ts timestamp, bus int, delay double")
    buses = records.select(parsed.alias("record")).select("record.*").withWatermark("ts", "30 seconds")
    start_query(cep.sql(RISING, buses=buses), Path(folder)).awaitTermination()
    spark.stop()
