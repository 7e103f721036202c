"""Which Python the workers run, and which Cepheid: those of this program, wherever that can be.

PySpark takes PYSPARK_PYTHON, and without it whatever `python3` is on the PATH: for a program that was started as
`.venv/bin/python script.py`, the system's, which has neither pyarrow nor Cepheid.

    workers on this machine   what Cepheid sends to them names this interpreter
    on a cluster              what users chose, or else this interpreter's path or `python3`, whichever has on all
                              executors what is needed (worker_needs.py); the source of this package goes with it
    Spark Connect             what its server has; the source of this package goes there

What users send stays as it is.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from cepheid.errors import InvalidInput
from cepheid.execution.spark.connect_plans import is_connect
from cepheid.execution.spark.masters import is_this_machine
from cepheid.execution.spark.shipped_package import ship_over_connect, shipped
from cepheid.execution.spark.worker_needs import find_python

CHOICE = "PYSPARK_PYTHON"
CHOICE_OF_SESSION = "spark.pyspark.python"  # PySpark itself heeds it in spark-submit only


@contextmanager
def own_python(spark: SparkSession) -> Iterator[None]:
    """Functions that are given to Spark meanwhile run in the Python, and with the Cepheid, that suits them."""
    context = getattr(spark, "_sc", None)
    if context is None:
        if is_connect(spark):
            ship_over_connect(spark)
        yield
    elif is_this_machine(context.master):
        with _running(context, context.pythonExec if was_chosen(os.environ) else sys.executable):
            yield
    else:
        settings = dict(context.getConf().getAll())
        candidates = list_candidates(os.environ, settings, context.pythonExec, sys.executable)
        with shipped(context), _running(context, find_python(context, candidates)):
            yield


@contextmanager
def _running(context: Any, python: str) -> Iterator[None]:
    before, context.pythonExec = context.pythonExec, python
    try:
        yield
    finally:
        context.pythonExec = before


def list_candidates(environment: Mapping[str, str], settings: Mapping[str, str], default: str, own: str) -> list[str]:
    """The Pythons that may run on a cluster, the preferred ones first; what users chose is the only one."""
    if was_chosen(environment):
        return [default]
    if settings.get(CHOICE_OF_SESSION):
        return [settings[CHOICE_OF_SESSION]]
    return list(dict.fromkeys([own, default]))


def check_driver_python(spark: SparkSession) -> None:
    """Spark asks for the state variables of a stream in a process on the driver, with the Python of the workers."""
    context = getattr(spark, "_sc", None)
    if context is not None and shutil.which(context.pythonExec) is None:
        raise InvalidInput(
            f'"{context.pythonExec}", which workers run, is not on the driver, where each stream starts it once',
            hint="put the same environment there under the same path, as with a link beside the program that is run",
        )


def runs_here(spark: SparkSession) -> bool:
    """Are the workers on this machine?"""
    context = getattr(spark, "_sc", None)
    return context is not None and is_this_machine(context.master)


def was_chosen(environment: Mapping[str, str]) -> bool:
    return bool(environment.get(CHOICE))
