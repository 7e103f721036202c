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


def build_session(
    name: str, cores: int = 2, quiet_log: Path | None = None, master: str | None = None, **settings: str
) -> SparkSession:
    """A local session on `cores` cores, or one on the cluster `master`; `settings` use __ for dots in Spark's names.

    What only suits workers of this machine is left out for a cluster.

    `quiet_log`: where Spark and its workers write what they would put on the terminal.
    """
    require_extra("spark")  # so pyspark is imported afterwards
    from pyspark.sql import SparkSession

    from cepheid.execution.spark.masters import is_this_machine
    from cepheid.execution.spark.query_start import STREAM_SETTINGS

    prepare_java()
    is_here = master is None or is_this_machine(master)
    if is_here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master or f"local[{cores}]").appName(name)
    here = {
        "spark.driver.host": "127.0.0.1",  # others than those on this machine could not find the driver
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(count_partitions(master, cores)),  # of a cluster nobody knows yet
        "spark.python.daemon.module": "cepheid.execution.spark.daemon",
    }
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(here if is_here else {}),
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.log.level": "ERROR",
        **STREAM_SETTINGS,
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with _stderr_into(quiet_log):
        return builder.getOrCreate()


def count_partitions(master: str | None, cores: int) -> int:
    """As many as cores of this machine take part."""
    if master is None:
        return cores
    threads = master.partition("[")[2].rstrip("]").split(",")
    if master.startswith("local-cluster"):
        return int(threads[0]) * int(threads[1])
    return (os.cpu_count() or cores) if threads[0] == "*" else int(threads[0] or 1)


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
