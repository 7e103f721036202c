"""What is there on a cluster: asked of the driver, of the executors' JVMs, and of their Python (worker_needs.py).

clocks    a quick job asks executors for their time, several times: it lies between when it was asked and when the
          answer arrived, and the intervals of all asks together are narrow
folders   executors write rows there, the driver counts the files, executors read them
jars      the class that a connector is asked for, and the file that it comes from
"""

# ruff: noqa: SLF001 (PySpark has no public way to the JVM)
from __future__ import annotations

import os
import platform
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cepheid.execution.spark.cluster_findings import ClusterFacts, Machine
from cepheid.execution.spark.executors import count_tasks, list_executor_cores, run_on_executors, wait_for_calm
from cepheid.execution.spark.run_failures import find_reason
from cepheid.execution.spark.worker_facts import find_version
from cepheid.execution.spark.worker_needs import NEEDED, PATIENCE_S, PythonFacts, find_problem, make_command, read_facts
from cepheid.execution.spark.worker_python import list_candidates

ASKS = 8  # the first ones are slow: they load classes
CLASSES = {
    "Kafka": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "Delta": "io.delta.sql.DeltaSparkSessionExtension",
}
TIME, FOLDER, HOST, JAVA, SPARK = (
    "java_method('java.lang.System', 'currentTimeMillis')",
    "java_method('java.lang.System', 'getProperty', 'user.dir')",
    "java_method('java.net.InetAddress', 'getLocalHost')",
    "java_method('java.lang.System', 'getProperty', 'java.version')",
    "java_method('org.apache.spark.package', 'SPARK_VERSION')",
)


def gather_facts(spark: SparkSession, own_version: str, checkpoint: str | None) -> ClusterFacts:
    """All that findings need; spark: a session of this process, with a context; own_version: of Cepheid."""
    context: Any = spark.sparkContext
    settings = dict(context.getConf().getAll()) | spark.conf.getAll
    wait_for_calm(lambda: len(list_executor_cores(context)), time.monotonic, time.sleep)
    candidates = list_candidates(os.environ, settings, context.pythonExec, sys.executable)
    packages = {**NEEDED, "cepheid": "cepheid"}
    lines = run_on_executors(context, make_command(candidates, {"packages": packages}), PATIENCE_S)
    workers = choose_workers(candidates, read_facts(lines or []))
    jars, unshipped = _find_jars(context)
    return ClusterFacts(
        master=context.master,
        driver_java=context._jvm.java.lang.System.getProperty("java.version"),
        driver_spark=spark.version,
        driver_python=platform.python_version(),
        driver_packages={
            "cepheid": own_version,
            **{name: find_version(name, module) for name, module in NEEDED.items()},
        },
        scala=".".join(context._jvm.scala.util.Properties.versionNumberString().split(".")[:2]),
        cores=sum(list_executor_cores(context)),
        python=workers[0].python if workers else candidates[0],
        machines=() if lines is None else ask_machines(spark, count_tasks(context)),
        workers=workers,
        jars=jars,
        settings=settings,
        checkpoint=checkpoint,
        checkpoint_problem=None if checkpoint is None or lines is None else try_checkpoint(spark, checkpoint),
        unshipped_jars=unshipped,
    )


def choose_workers(candidates: Sequence[str], facts: Sequence[PythonFacts]) -> tuple[PythonFacts, ...]:
    """What is said by the Python that queries would run with: the first that fits everywhere, or else the first."""
    said = [tuple(each for each in facts if each.python == python) for python in candidates]
    version = platform.python_version()
    fitting = (each for each in said if each and all(find_problem(one, version) is None for one in _leave_out(each)))
    return next(fitting, said[0])


def _leave_out(facts: Sequence[PythonFacts]) -> list[PythonFacts]:
    """Without Cepheid, which need not be there."""
    return [
        PythonFacts(
            one.python, one.version, {k: v for k, v in one.packages.items() if k != "cepheid"}, one.host, one.problem
        )
        for one in facts
    ]


def ask_machines(spark: SparkSession, tasks: int) -> tuple[Machine, ...]:
    """Each executor that answers, with what its JVM is and how its clock goes."""
    said = spark.range(0, tasks, 1, tasks).select(
        *(F.expr(text).alias(name) for name, text in zip("tfhjs", (TIME, FOLDER, HOST, JAVA, SPARK), strict=True))
    )
    samples: dict[tuple[str, str, str, str], list[tuple[float, float, float]]] = {}
    for _ in range(ASKS):
        asked = time.time() * 1000
        rows = said.collect()
        arrived = time.time() * 1000
        for row in rows:
            samples.setdefault((row.h.partition("/")[0], row.f, row.j, row.s), []).append(
                (asked, float(row.t), arrived)
            )
    return tuple(Machine(*who, *measure_skew(times)) for who, times in samples.items())


def measure_skew(samples: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """How far a clock is ahead, give or take; samples: when it was asked, what it said in whole milliseconds, and when
    that arrived."""
    least = max(said - arrived for _, said, arrived in samples)
    most = min(said + 1 - asked for asked, said, _ in samples)
    return (least + most) / 2, abs(most - least) / 2


def try_checkpoint(spark: SparkSession, place: str) -> str | None:
    """Why driver and executors cannot keep state there together; None: they can.  Nothing stays."""
    jvm: Any = spark._jvm
    tasks = count_tasks(spark.sparkContext)
    try:
        root = jvm.org.apache.hadoop.fs.Path(place)
        system = root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        was_there = system.exists(root)
        target = jvm.org.apache.hadoop.fs.Path(root, f"cepheid-doctor-{uuid.uuid4().hex}")
        try:
            return _write_and_read(spark, system, target, tasks)
        finally:
            system.delete(target, True)
            if not was_there:
                system.delete(root, False)
    except (Py4JJavaError, PySparkException) as problem:
        reason = problem.java_exception.toString() if isinstance(problem, Py4JJavaError) else str(problem)
        return find_reason(reason)


def _write_and_read(spark: SparkSession, system: Any, target: Any, tasks: int) -> str | None:
    spark.range(0, tasks, 1, tasks).select(F.col("id").cast("string")).write.text(target.toString())
    files = [each.getPath().getName() for each in system.listStatus(target)]
    seen = sum(name.startswith("part-") for name in files)
    if seen < tasks:
        return f"of {tasks} files that executors have written, the driver sees {seen}"
    read = spark.read.text(target.toString()).count()
    return None if read == tasks else f"of {tasks} rows that were written there, executors read {read}"


def _find_jars(context: Any) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """The file of each connector, and those that executors do not get."""
    loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    sent = str(context._jsc.sc().listJars().mkString(" "))
    jars: dict[str, str | None] = {}
    unshipped = []
    for name, kind in CLASSES.items():
        try:
            found = loader.loadClass(kind).getProtectionDomain().getCodeSource().getLocation().getPath()
        except Py4JJavaError:  # there is no such class
            jars[name] = None
            continue
        jars[name] = PurePosixPath(found).name
        if str(jars[name]) not in sent and "/jars/" not in found:
            unshipped.append(name)
    return jars, tuple(unshipped)
