"""Workers on this machine run the Python of this program; of others it is said what must be set."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cepheid.errors import WorkerPythonWarning
from cepheid.execution.spark.worker_python import own_python


def make_session(master: str) -> Any:
    return SimpleNamespace(_sc=SimpleNamespace(master=master, pythonExec="python3"))


@pytest.mark.parametrize("master", ["local", "local[2]", "local-cluster[2,1,1024]"])
def test_on_this_machine_it_is_this_interpreter_and_only_for_us(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    session = make_session(master)
    with own_python(session):
        assert session._sc.pythonExec == sys.executable
    assert session._sc.pythonExec == "python3"


def test_what_users_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    session = make_session("local[2]")
    with own_python(session):
        assert session._sc.pythonExec == "python3"


def test_on_a_cluster_the_setting_to_make_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    session = make_session("spark://somewhere:7077")
    with pytest.warns(WorkerPythonWarning, match="set PYSPARK_PYTHON"), own_python(session):
        assert session._sc.pythonExec == "python3"


def test_spark_connect_is_left_to_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with own_python(SimpleNamespace()):  # type: ignore[arg-type]
        pass
