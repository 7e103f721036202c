"""A session on a cluster for a command: the one that this process has, or one that is stopped afterwards."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cepheid.errors import RunFailed
from cepheid.execution.spark.run_failures import find_reason, read_java_text
from cepheid.execution.spark.session import build_session

PATIENCE_S = 5.0
HINT = "see that the master runs, is of the same version of Spark, and that its address is as its page says it"


def check_reachable(master: str) -> None:
    """Spark would try for a minute, and then say that its context was stopped; master: spark://host:port,host:port."""
    if not master.startswith("spark://"):
        return
    problem: Exception | None = None
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), PATIENCE_S).close()
        except (OSError, ValueError) as failure:
            problem = failure
        else:
            return
    raise RunFailed(f'no master answers at "{master}": {problem}', hint=HINT)


@contextmanager
def borrow_session(name: str, master: str, log: Path, settings: dict[str, Any]) -> Iterator[SparkSession]:
    """log: where Spark writes to meanwhile; settings: as build_session takes them."""
    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext.master == master:
        with _explained(master, "see the log of the driver"):
            yield running
        return
    check_reachable(master)
    with _explained(master, HINT):
        spark = build_session(name, master=master, quiet_log=log, **settings)
    try:
        with _explained(master, "see the logs of the executors, by the master's page"):
            yield spark
    finally:
        spark.stop()


@contextmanager
def _explained(master: str, hint: str) -> Iterator[None]:
    """What Spark raises meanwhile, in a line."""
    try:
        yield
    except (PySparkException, Py4JError) as problem:
        raise RunFailed(f'Spark fails on "{master}": {find_reason(read_java_text(problem))}', hint=hint) from None
