"""What doctor makes of facts about a cluster: what is wrong, how bad it is, and what to do."""

from __future__ import annotations

import platform
import socket
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from cepheid.cli import app
from cepheid.errors import RunFailed
from cepheid.execution.spark.cluster_facts import choose_workers, measure_skew
from cepheid.execution.spark.cluster_findings import ClusterFacts, Machine, find_all, find_settings
from cepheid.execution.spark.cluster_session import check_reachable
from cepheid.execution.spark.worker_needs import PythonFacts

PACKAGES = {"pyarrow": "26.0.1", "numpy": "2.3.1", "numba": "0.63", "pandas": "2.3.3", "duckdb": "2.0.1"}
EAST = Machine("east", "/srv/app/0", "21.0.8", "4.3.0", 3.0, 5.0)
WORKER = PythonFacts("python3", "3.11.4", {**PACKAGES, "cepheid": None}, "east")
HEALTHY = ClusterFacts(
    master="spark://east:7077",
    driver_java="21.0.8",
    driver_spark="4.3.0",
    driver_python="3.11.9",
    driver_packages={**PACKAGES, "cepheid": "0.1.0"},
    scala="2.13",
    cores=4,
    python="python3",
    machines=(EAST, replace(EAST, folder="/srv/app/1")),
    workers=(WORKER, WORKER),
    jars={"Kafka": "org.apache.spark_spark-sql-kafka-0-10_2.13-4.3.0.jar", "Delta": None},
    settings={},
    checkpoint="/shared/state",
)


def worker(**packages: str | None) -> PythonFacts:
    return replace(WORKER, packages={**WORKER.packages, **packages})


def test_healthy_cluster_has_nothing_but_ok() -> None:
    findings = find_all(HEALTHY)
    assert {finding.check: finding.told for finding in findings if finding.state != "ok"} == {}
    told = {finding.check: finding.told for finding in findings}
    assert told["executors"].startswith("2 executors on 1 machine, 4 cores")
    assert told["cepheid"] == "0.1.0 on the driver, none on executors: the driver's is shipped to them"


@pytest.mark.parametrize(
    ("change", "check", "state", "told"),
    [
        ({"machines": (), "workers": ()}, "executors", "problem", "gives none"),
        ({"machines": (replace(EAST, java="11.0.2"),)}, "java", "problem", "11.0.2 on executors"),
        ({"driver_java": "1.8.0_412"}, "java", "problem", "1.8.0_412 on the driver"),
        ({"machines": (replace(EAST, java="17.0.9"),)}, "java", "warning", "17.0.9 on executors"),
        ({"machines": (replace(EAST, spark="4.2.1"),)}, "spark", "problem", "4.2.1 on executors"),
        ({"workers": (replace(WORKER, version="3.12.1"),)}, "python", "problem", '3.12.1 ("python3") on executors'),
        ({"workers": (replace(WORKER, problem="sh: not found"),)}, "python", "problem", "sh: not found"),
        ({"workers": (WORKER, worker(numba=None))}, "packages", "problem", "executors lack numba"),
        (
            {"workers": (worker(pyarrow="25.0"),)},
            "packages",
            "warning",
            "pyarrow 26.0.1 on the driver, 25.0 on executors",
        ),
        ({"machines": (replace(EAST, ahead_ms=-2500.0),)}, "clocks", "warning", "east is -2.5 s off (+- 5 ms)"),
        ({"checkpoint_problem": "the driver sees 0"}, "checkpoint", "problem", '"/shared/state": the driver sees 0'),
        ({"jars": {"Kafka": "spark-sql-kafka-0-10_2.13-4.2.0.jar"}}, "Kafka", "problem", "does not fit Spark 4.3.0"),
        ({"jars": {"Kafka": "spark-sql-kafka-0-10_2.12-4.3.0.jar"}}, "Kafka", "problem", "with Scala 2.13"),
        ({"jars": {"Delta": "delta-spark_4.2_2.13-4.4.1.jar"}}, "Delta", "problem", "does not fit Spark 4.3.0"),
        ({"unshipped_jars": ("Kafka",)}, "Kafka", "warning", "is on the driver only"),
        (
            {"settings": {"spark.python.daemon.module": "cepheid.execution.spark.daemon"}},
            "cepheid",
            "problem",
            "which executors lack",
        ),
    ],
)
def test_each_fault_is_found_and_comes_with_what_to_do(change: Any, check: str, state: str, told: str) -> None:
    (finding,) = (finding for finding in find_all(replace(HEALTHY, **change)) if finding.check == check)
    assert finding.state == state
    assert told in finding.told
    assert finding.remedy


@pytest.mark.parametrize(
    "change",
    [
        {"jars": {"Delta": "delta-spark_2.13-4.0.0.jar"}},  # its name says nothing about Spark
        {"jars": {"Delta": "delta-spark_4.3_2.13-4.4.1.jar"}},
        {"machines": (replace(EAST, ahead_ms=1200.0, uncertain_ms=300.0),)},  # it may be less than a second
        {"workers": (worker(cepheid="0.0.9"),)},
        {"checkpoint": None},
    ],
)
def test_what_may_be_right_is_no_fault(change: Any) -> None:
    assert {finding.state for finding in find_all(replace(HEALTHY, **change))} == {"ok"}


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.speculation": "true"},
        {"spark.dynamicAllocation.enabled": "true"},
        {"spark.python.worker.reuse": "false"},
        {"spark.task.maxFailures": "1"},
    ],
)
def test_settings_that_cost_are_warned_of(settings: dict[str, str]) -> None:
    first, _ = find_settings(settings)
    assert first.state == "warning"
    assert first.remedy
    assert len(find_settings({**settings, "spark.dynamicAllocation.maxExecutors": "4"})) <= 2


def test_clocks_are_compared_within_what_all_round_trips_allow() -> None:
    """2,000 ms ahead; answers take 800, 40 and 300 ms, read at the beginning, in the middle, and at the end."""
    samples = [(0.0, 2000.0, 800.0), (1000.0, 3020.0, 1040.0), (2000.0, 4300.0, 2300.0)]
    ahead, uncertain = measure_skew(samples)
    assert abs(ahead - 2000) <= uncertain
    assert uncertain <= 1.0
    ahead, uncertain = measure_skew(samples[1:2])
    assert abs(ahead - 2000) <= 1
    assert uncertain == pytest.approx(20.5)


def test_python_that_queries_would_run_with_is_the_one_that_is_examined() -> None:
    lacking = worker(numba=None)
    other = replace(WORKER, python="/venv/python", version=platform.python_version())
    assert choose_workers(["python3", "/venv/python"], [lacking, other]) == (other,)
    assert choose_workers(["python3", "/venv/python"], [lacking, replace(other, problem="no")]) == (lacking,)
    assert choose_workers(["python3"], []) == ()


def test_master_that_does_not_answer_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_reachable(f"spark://127.0.0.1:{port}")
    for master in (f"spark://127.0.0.1:{port}", "spark://127.0.0.1"):
        with pytest.raises(RunFailed, match="no master answers"):
            check_reachable(master)
    check_reachable("yarn")


def test_connect_and_settings_without_a_value_are_refused() -> None:
    for arguments, told in ((["sc://host"], "Spark Connect"), (["local", "--set", "x"], "name=value")):
        done = CliRunner().invoke(app, ["doctor", "--spark", *arguments])
        assert done.exit_code == 2
        assert told in done.stderr


def test_without_executors_nothing_is_said_about_them() -> None:
    checks = {finding.check for finding in find_all(replace(HEALTHY, machines=(), workers=()))}
    assert checks == {"executors", "Kafka", "Delta", "settings"}
