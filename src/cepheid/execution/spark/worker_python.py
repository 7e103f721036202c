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
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from cepheid.errors import InvalidInput
from cepheid.execution.spark.connect_plans import is_connect
from cepheid.execution.spark.masters import is_this_machine
from cepheid.execution.spark.shipped_package import ship, ship_over_connect
from cepheid.execution.spark.worker_needs import find_python

CHOICE = "PYSPARK_PYTHON"
PATH = "PYTHONPATH"
CHOICE_OF_SESSION = "spark.pyspark.python"  # PySpark itself heeds it in spark-submit only


@dataclass
class _Loan:
    """What a SparkContext had before ours was put in its place, for as long as somebody uses that."""

    python: str
    path: str | None
    users: int = 0


_loans: dict[int, _Loan] = {}  # by the identity of the context
_changing = threading.Lock()  # batches of a session make functions in threads of their own


@contextmanager
def own_python(spark: SparkSession) -> Iterator[None]:
    """Functions that are given to Spark meanwhile run in the Python, and with the Cepheid, that suits them."""
    context = getattr(spark, "_sc", None)
    if context is None:
        if is_connect(spark):
            ship_over_connect(spark)
        yield
        return
    if is_this_machine(context.master):
        python, archive = (_find_default(context) if was_chosen(os.environ) else sys.executable), None
    else:
        settings = dict(context.getConf().getAll())
        candidates = list_candidates(os.environ, settings, _find_default(context), sys.executable)
        python, archive = find_python(context, candidates), ship(context)
    with _lent(context, python, archive):
        yield


@contextmanager
def _lent(context: Any, python: str, archive: str | None) -> Iterator[None]:
    """The first who comes puts ours in its place, and the last who goes what was there before."""
    with _changing:
        loan = _loans.get(id(context))
        if loan is None:
            loan = _loans[id(context)] = _Loan(context.pythonExec, None)
            context.pythonExec = python
            if archive is not None:
                loan.path = context.environment.get(PATH)
                context.environment[PATH] = os.pathsep.join(filter(None, [archive, loan.path]))
        loan.users += 1
    try:
        yield
    finally:
        with _changing:
            loan.users -= 1
            if loan.users == 0:
                del _loans[id(context)]
                context.pythonExec = loan.python
                if archive is not None:
                    _restore(context.environment, loan.path)


def _restore(environment: dict[str, str], path: str | None) -> None:
    if path is None:
        del environment[PATH]
    else:
        environment[PATH] = path


def _find_default(context: Any) -> str:
    """The Python that functions of users run in."""
    with _changing:
        loan = _loans.get(id(context))
        return context.pythonExec if loan is None else loan.python


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
