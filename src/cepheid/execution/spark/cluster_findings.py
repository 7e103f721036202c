"""What is wrong with a cluster, and what to do: decided from facts (cluster_facts.py), without Spark.

    facts ─▶ one finding for each check: ok, warning or problem, what was found, and the next step

A problem stops queries, or makes rows wrong or lost; a warning costs time, or will be a problem one day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cepheid.execution.spark.worker_needs import PythonFacts

State = Literal["ok", "warning", "problem"]

OLDEST_JAVA = 17
SKEW_MS = 1000.0  # times that events get on different machines are then in another order than they happened
COMPARED = ("pyarrow", "numpy", "numba", "pandas")
DAEMON = "cepheid.execution.spark.daemon"
CONNECTORS = {
    "Kafka": "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",
    "Delta": "io.delta:delta-spark_{scala}, in a version for Spark {spark}",
}


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    state: State
    told: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Machine:
    """The JVM of an executor, which has a folder of its own, and how far its clock is ahead of the driver's, in
    milliseconds, give or take."""

    host: str
    folder: str
    java: str
    spark: str
    ahead_ms: float
    uncertain_ms: float


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """python: the name of the workers' Python.  jars: files of connectors, None where there is none; unshipped_jars: of
    which connectors executors get none.  checkpoint_problem: why it cannot be used."""

    master: str
    driver_java: str
    driver_spark: str
    driver_python: str
    driver_packages: Mapping[str, str | None]
    scala: str
    cores: int
    python: str
    machines: tuple[Machine, ...]
    workers: tuple[PythonFacts, ...]
    jars: Mapping[str, str | None]
    settings: Mapping[str, str]
    checkpoint: str | None = None
    checkpoint_problem: str | None = None
    unshipped_jars: tuple[str, ...] = ()


def find_all(facts: ClusterFacts) -> list[Finding]:
    of_session = [*(find_jar(facts, name) for name in CONNECTORS), *find_settings(facts.settings)]
    if not facts.machines:  # then nobody knows what executors have
        return [find_executors(facts), *of_session]
    return [
        find_executors(facts),
        find_java(facts),
        find_spark(facts),
        find_python(facts),
        find_packages(facts),
        find_cepheid(facts),
        find_clocks(facts),
        find_checkpoint(facts),
        *of_session,
    ]


def find_executors(facts: ClusterFacts) -> Finding:
    count = len({(machine.host, machine.folder) for machine in facts.machines})
    if count == 0:
        return Finding("executors", "problem", f'"{facts.master}" gives none', NO_EXECUTORS)
    hosts = len({machine.host for machine in facts.machines})
    told = f"{_count(count, 'executor')} on {_count(hosts, 'machine')}, {_count(facts.cores, 'core')}"
    return Finding("executors", "ok", f"{told}: a new stream gets so many state partitions")


NO_EXECUTORS = (
    "see the master's page for workers with free cores and memory (spark.executor.memory may be more than one has), "
    "and that they reach the driver: spark.driver.host"
)


def find_java(facts: ClusterFacts) -> Finding:
    there = {machine.java for machine in facts.machines}
    told = f"{facts.driver_java} on the driver, {_list(there)} on executors"
    old = [version for version in (facts.driver_java, *there) if _major(version) < OLDEST_JAVA]
    if old:
        return Finding("java", "problem", told, f"Spark 4 needs Java {OLDEST_JAVA} or newer: set JAVA_HOME there")
    if any(_major(version) != _major(facts.driver_java) for version in there):
        return Finding("java", "warning", told, "give all machines the same: set JAVA_HOME there")
    return Finding("java", "ok", told)


def find_spark(facts: ClusterFacts) -> Finding:
    there = {machine.spark for machine in facts.machines}
    told = f"{facts.driver_spark} on the driver, {_list(there)} on executors"
    if there - {facts.driver_spark}:
        return Finding("spark", "problem", told, f'pip install "pyspark=={min(there)}" here: both must be the same')
    return Finding("spark", "ok", told)


def find_python(facts: ClusterFacts) -> Finding:
    broken = [worker for worker in facts.workers if worker.problem is not None]
    if broken:
        told = f'"{facts.python}" does not run: {broken[0].problem}'
        return Finding("python", "problem", told, "set PYSPARK_PYTHON to a Python that every executor has")
    there = {worker.version for worker in facts.workers}
    told = f'{facts.driver_python} on the driver, {_list(there)} ("{facts.python}") on executors'
    if any(_minor(version) != _minor(facts.driver_python) for version in there):
        remedy = f"set PYSPARK_PYTHON to a Python {_minor(facts.driver_python)} that every executor has"
        return Finding("python", "problem", told, remedy)
    return Finding("python", "ok", told)


def find_packages(facts: ClusterFacts) -> Finding:
    missing = sorted(
        {name for worker in facts.workers for name, found in worker.packages.items() if found is None} - {"cepheid"}
    )
    if missing:
        remedy = f"pip install {' '.join(missing)} there, or ship an environment that has them: spark.archives"
        return Finding("packages", "problem", f"executors lack {', '.join(missing)}", remedy)
    other = [
        f"{name} {facts.driver_packages.get(name)} on the driver, {_list(there)} on executors"
        for name in COMPARED
        if (
            there := {str(worker.packages.get(name)) for worker in facts.workers}
            - {str(facts.driver_packages.get(name))}
        )
    ]
    if other:
        return Finding("packages", "warning", "; ".join(other), "install the same versions: pip freeze, here and there")
    versions = (f"{name} {facts.driver_packages.get(name)}" for name in COMPARED)
    return Finding("packages", "ok", f"the same on driver and executors: {', '.join(versions)}")


def find_cepheid(facts: ClusterFacts) -> Finding:
    there = {worker.packages.get("cepheid") for worker in facts.workers}
    own = facts.driver_packages.get("cepheid")
    if facts.settings.get("spark.python.daemon.module") == DAEMON and None in there:
        remedy = "leave spark.python.daemon.module out, or install Cepheid there"
        return Finding("cepheid", "problem", "the session asks for a daemon of Cepheid, which executors lack", remedy)
    if there <= {own}:
        return Finding("cepheid", "ok", f"{own} on driver and executors")
    installed = _list("none" if version is None else version for version in there)
    return Finding("cepheid", "ok", f"{own} on the driver, {installed} on executors: the driver's is shipped to them")


def find_clocks(facts: ClusterFacts) -> Finding:
    worst = max(facts.machines, key=lambda machine: abs(machine.ahead_ms))
    told = f"executors differ by at most {abs(worst.ahead_ms):.0f} ms from the driver (+- {worst.uncertain_ms:.0f} ms)"
    if abs(worst.ahead_ms) - worst.uncertain_ms > SKEW_MS:
        told = f"{worst.host} is {worst.ahead_ms / 1000:+.1f} s off (+- {worst.uncertain_ms:.0f} ms)"
        return Finding("clocks", "warning", told, "let all machines keep time by NTP: chronyd or systemd-timesyncd")
    return Finding("clocks", "ok", told)


def find_checkpoint(facts: ClusterFacts) -> Finding:
    if facts.checkpoint is None:
        return Finding("checkpoint", "ok", "not checked", "name the folder: --checkpoint DIR")
    if facts.checkpoint_problem is None:
        return Finding("checkpoint", "ok", f'"{facts.checkpoint}" is written and seen by driver and executors')
    remedy = "take a folder that all machines share and may write to: a shared disk, hdfs://, s3a://"
    return Finding("checkpoint", "problem", f'"{facts.checkpoint}": {facts.checkpoint_problem}', remedy)


def find_jar(facts: ClusterFacts, name: str) -> Finding:
    jar = facts.jars.get(name)
    needed = CONNECTORS[name].format(scala=facts.scala, spark=facts.driver_spark)
    if jar is None:
        return Finding(name, "ok", "no connector; only sources and sinks of Spark's own need one", f"it is {needed}")
    scala = re.search(r"_(2\.\d+)-", jar)
    spark = re.search(r"-(\d+\.\d+)\.\d+[^/]*\.jar$" if name == "Kafka" else r"_(\d+\.\d+)_2\.", jar)
    if (scala and scala[1] != facts.scala) or (spark and spark[1] != _minor(facts.driver_spark)):
        told = f"{jar} does not fit Spark {facts.driver_spark} with Scala {facts.scala}"
        return Finding(name, "problem", told, f"spark.jars.packages={needed}")
    if name in facts.unshipped_jars:
        return Finding(name, "warning", f"{jar} is on the driver only", "give it by spark.jars or spark.jars.packages")
    return Finding(name, "ok", jar)


def find_settings(settings: Mapping[str, str]) -> list[Finding]:
    """Those of a session that matter; what our queries set for themselves is not looked at."""
    found = []
    if _is_on(settings, "spark.speculation"):
        told = "spark.speculation=true: a slow stateful task is run twice, and its state is read twice"
        found.append(Finding("speculation", "warning", told, "spark.speculation=false for streams"))
    if _is_on(settings, "spark.dynamicAllocation.enabled") and "spark.dynamicAllocation.maxExecutors" not in settings:
        told = (
            "spark.dynamicAllocation without a most: a stream gets as many state partitions as cores are there at first"
        )
        remedy = "spark.dynamicAllocation.maxExecutors, and spark.executor.cores, before the first start"
        found.append(Finding("dynamic allocation", "warning", told, remedy))
    if settings.get("spark.python.worker.reuse", "true") == "false":
        told = "spark.python.worker.reuse=false: each task starts a Python"
        found.append(Finding("worker reuse", "warning", told, "leave it out"))
    if settings.get("spark.task.maxFailures") == "1":
        told = "spark.task.maxFailures=1: a stream stops when an executor or a worker is lost"
        found.append(Finding("task failures", "warning", told, "leave it out: it is 4 then"))
    partitions = settings.get("spark.sql.shuffle.partitions", "200")
    told = f"spark.sql.shuffle.partitions={partitions}: the most state partitions of a stream, which are in RocksDB"
    return [*found, Finding("settings", "ok", told)]


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "false").lower() == "true"


def _major(version: str) -> int:
    return int(re.sub(r"^1\.", "", version).split(".")[0].split("-")[0] or 0)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _list(versions: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, versions))) or "none"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
