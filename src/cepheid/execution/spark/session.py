"""A Spark session with settings that suit Cepheid: for the demo, benchmarks, tests, and whoever wants one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.execution.spark.java import prepare_java
from cepheid.extras import require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def build_session(name: str, cores: int = 2, quiet_log: Path | None = None, **settings: str) -> SparkSession:
    """A local session on `cores` cores; `settings` use __ for the dots of Spark's names.

    `quiet_log`: where Spark and its workers write what they would put on the terminal.
    """
    require_extra("spark")  # so pyspark is imported afterwards
    from pyspark.sql import SparkSession

    from cepheid.execution.spark.query_start import STREAM_SETTINGS

    prepare_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").appName(name)
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.python.daemon.module": "cepheid.execution.spark.daemon",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.log.level": "ERROR",
        **STREAM_SETTINGS,
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with _stderr_into(quiet_log):
        return builder.getOrCreate()


@contextmanager
def _stderr_into(path: Path | None) -> Iterator[None]:
    """Processes started meanwhile, and theirs, write their errors into a file."""
    if path is None:
        yield
        return
    sys.stderr.flush()
    terminal = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
