"""The executors of a cluster: how many there are, and what a program says that they start.

    a stream is started first ─▶ its number of state partitions is fixed ─▶ how many cores will there be?
         settings say it          spark.executor.instances, spark.dynamicAllocation.maxExecutors, spark.cores.max
         nobody says it           those of the executors that arrive within PATIENCE_S, while more of them arrive

Programs are started by the JVM of an executor (RDD.pipe), so that they run where no Python worker would.
"""

# ruff: noqa: SLF001 (PySpark has no public way to the JVM's context)
from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from cepheid.execution.spark.masters import is_this_machine

PATIENCE_S = 15.0  # for executors to arrive
CALM_S = 1.0  # without a new one: they are all there
LOOK_S = 0.1
MOST_TASKS = 64
INSTANCES = "spark.executor.instances"
MOST_EXECUTORS = "spark.dynamicAllocation.maxExecutors"
MOST_CORES = "spark.cores.max"

_counted: set[str] = set()


def count_cores(spark: SparkSession) -> int:
    """How many tasks run at a time when all executors are there, as far as settings and executors tell."""
    context: Any = spark.sparkContext
    said = read_promised_cores(dict(context.getConf().getAll()))
    if is_this_machine(context.master):
        return max(int(context.defaultParallelism), said)
    if said == 0 and context.applicationId not in _counted:
        wait_for_calm(lambda: len(list_executor_cores(context)), time.monotonic, time.sleep)
        _counted.add(context.applicationId)
    return max(sum(list_executor_cores(context)), said) or int(context.defaultParallelism)


def read_promised_cores(settings: dict[str, str]) -> int:
    """How many cores the settings of an application promise; 0: they do not."""
    each = int(settings.get("spark.executor.cores") or 1)
    executors = max(int(settings.get(name) or 0) for name in (INSTANCES, MOST_EXECUTORS))
    return max(each * executors, int(settings.get(MOST_CORES) or 0))


def wait_for_calm(count: Callable[[], int], clock: Callable[[], float], sleep: Callable[[float], None]) -> int:
    """How many have arrived when no more do, or when there is no more time; none: the time runs out."""
    begin = changed = clock()
    seen = count()
    while clock() - begin < PATIENCE_S and (seen == 0 or clock() - changed < CALM_S):
        sleep(LOOK_S)
        now = count()
        if now != seen:
            seen, changed = now, clock()
    return seen


def list_executor_cores(context: Any) -> list[int]:
    """How many cores each executor has that is there now; the driver is listed too, with cores only if it is local."""
    known = context._jsc.sc().statusStore().executorList(True)
    cores = [int(known.apply(place).totalCores()) for place in range(known.size())]
    return [each for each in cores if each]


def count_tasks(context: Any) -> int:
    """How many tasks reach all executors, or many of them."""
    return min(max(sum(list_executor_cores(context)), 2), MOST_TASKS)


def run_on_executors(context: Any, command: list[str], patience_s: float) -> list[str] | None:
    """The lines that a program prints on as many executors as can be reached; None: none began in time.

    There are as many tasks as cores, so each executor gets one if all are free.
    """
    tasks = count_tasks(context)
    group = f"cepheid {uuid.uuid4().hex}"
    answers: list[list[str]] = []
    problems: list[Exception] = []

    def run() -> None:
        context.setJobGroup(group, "Cepheid asks the executors what they have", interruptOnCancel=True)
        try:
            answers.append(list(context._jsc.parallelize(list(range(tasks)), tasks).pipe(command).collect()))
        except Exception as problem:  # noqa: BLE001 (raised again, in the thread that asked)
            problems.append(problem)

    thread = InheritableThread(target=run, daemon=True)
    thread.start()
    thread.join(patience_s)
    if thread.is_alive():
        context.cancelJobGroup(group)
        thread.join(patience_s)
        return None
    if problems:
        raise problems[0]
    return answers[0]
