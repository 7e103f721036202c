"""Which Python the workers run: the one that runs this program, wherever that can be.

PySpark takes PYSPARK_PYTHON, and without it whatever `python3` is on the PATH: for a program that was started as
`.venv/bin/python script.py`, the system's, which has neither pyarrow nor Cepheid.  Where workers are on this machine,
what Cepheid sends to them names this interpreter; what users send stays as it is.  Elsewhere nobody knows what there
is, so it is said before the first job.
"""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from cepheid.errors import WorkerPythonWarning

CHOICE = "PYSPARK_PYTHON"


@contextmanager
def own_python(spark: SparkSession) -> Iterator[None]:
    """Functions that are given to Spark meanwhile run in this interpreter, unless users chose one."""
    context = getattr(spark, "_sc", None)  # Spark Connect has none: its server decides
    if context is None or was_chosen(os.environ):
        yield
        return
    if not is_this_machine(context.master):
        warn_unknown_python(context.master, context.pythonExec)
        yield
        return
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def runs_here(spark: SparkSession) -> bool:
    """Are the workers on this machine?"""
    context = getattr(spark, "_sc", None)
    return context is not None and is_this_machine(context.master)


def was_chosen(environment: Mapping[str, str]) -> bool:
    return bool(environment.get(CHOICE))


def is_this_machine(master: str) -> bool:
    """local, local[4], local-cluster[2,1,1024]"""
    return master.partition("[")[0] in ("local", "local-cluster")


def warn_unknown_python(master: str, python: str) -> None:
    warnings.warn(
        f'workers of "{master}" will run "{python}" of their own machines, and fail if that is not Python '
        f"{platform.python_version_tuple()[0]}.{platform.python_version_tuple()[1]} with Cepheid: set {CHOICE} to one "
        "that is, before the Spark session is started (or ship one: spark.archives=environment.tar.gz#environment and "
        f"{CHOICE}=./environment/bin/python)",
        WorkerPythonWarning,
        stacklevel=6,
    )
