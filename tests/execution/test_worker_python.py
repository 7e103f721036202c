"""Workers on this machine run the Python of this program; on a cluster one is taken that has what is needed."""

from __future__ import annotations

import platform
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest

from cepheid.errors import InvalidInput, WorkersUnfit
from cepheid.execution.spark.handoff import choose_folder
from cepheid.execution.spark.worker_needs import PythonFacts, choose_python, find_problem, make_command, read_facts
from cepheid.execution.spark.worker_python import (
    CHOICE,
    CHOICE_OF_SESSION,
    _lent,
    check_driver_python,
    list_candidates,
    own_python,
)

FITS = PythonFacts("a", "3.11.4", {"pyarrow": "20.0", "numba": "0.61"}, "east")


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


def test_who_uses_it_at_the_same_time_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    session = make_session("local[2]")
    first, second = own_python(session), own_python(session)
    with first:
        second.__enter__()
    assert session._sc.pythonExec == sys.executable
    with own_python(session):
        pass
    assert session._sc.pythonExec == sys.executable
    second.__exit__(None, None, None)
    assert session._sc.pythonExec == "python3"


def test_on_a_cluster_functions_of_ours_find_the_archive_and_those_of_users_do_not() -> None:
    context = SimpleNamespace(pythonExec="python3", environment={"PYTHONPATH": "/mine"})
    with _lent(context, "/venv/python", "/cache/cepheid.zip"), _lent(context, "/venv/python", "/cache/cepheid.zip"):
        assert context.pythonExec == "/venv/python"
        assert context.environment == {"PYTHONPATH": "/cache/cepheid.zip:/mine"}
    assert (context.pythonExec, context.environment) == ("python3", {"PYTHONPATH": "/mine"})
    context.environment.clear()
    with _lent(context, "/venv/python", "/cache/cepheid.zip"):
        assert context.environment == {"PYTHONPATH": "/cache/cepheid.zip"}
    assert context.environment == {}


def test_on_a_cluster_what_users_chose_is_the_only_candidate() -> None:
    assert list_candidates({}, {}, "python3", "/venv/python") == ["/venv/python", "python3"]
    assert list_candidates({}, {}, "python3", "python3") == ["python3"]
    assert list_candidates({CHOICE: "/opt/python"}, {}, "/opt/python", "/venv/python") == ["/opt/python"]
    chosen = {CHOICE_OF_SESSION: "./environment/bin/python"}
    assert list_candidates({}, chosen, "python3", "/venv/python") == ["./environment/bin/python"]


def test_stream_needs_the_workers_python_on_the_driver() -> None:
    session = make_session("spark://somewhere:7077")
    session._sc.pythonExec = sys.executable
    check_driver_python(session)
    session._sc.pythonExec = "./environment/bin/python"
    with pytest.raises(InvalidInput, match=r'"./environment/bin/python".* is not on the driver'):
        check_driver_python(session)


def test_python_fits_if_it_is_the_same_and_lacks_nothing() -> None:
    assert find_problem(FITS, "3.11.9") is None
    assert find_problem(FITS, "3.12.1") == "it is Python 3.11.4 on east"
    lacking = replace(FITS, packages={"pyarrow": None, "numba": None, "numpy": "2.1"})
    assert find_problem(lacking, "3.11.9") == "it lacks pyarrow, numba on east"


def test_first_python_that_fits_on_all_executors_is_taken() -> None:
    other = replace(FITS, python="b")
    lacking = replace(FITS, host="west", packages={"pyarrow": None})
    assert choose_python("m", ["a", "b"], [FITS, other], "3.11.9") == "a"
    assert choose_python("m", ["a", "b"], [FITS, lacking, other, other], "3.11.9") == "b"
    with pytest.raises(WorkersUnfit, match="it lacks pyarrow on west") as problem:
        choose_python("m", ["a", "c"], [FITS, lacking], "3.11.9")
    assert '"c": it said nothing' in str(problem.value)
    assert "spark.archives" in str(problem.value)


def test_executors_are_asked_by_a_program_that_never_fails() -> None:
    command = make_command([sys.executable, "/no/such/python"], {"packages": {"numpy": "numpy", "nothing": "no.such"}})
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    own, missing = read_facts(done.stdout.splitlines())
    assert own.version == platform.python_version()
    assert own.packages == {"numpy": version("numpy"), "nothing": None}
    assert missing.python == "/no/such/python"
    assert "not found" in str(missing.problem)


def test_payloads_are_no_files_where_workers_may_be_elsewhere() -> None:
    for master in ("spark://127.0.0.1:7077", "spark://localhost:7077", "yarn", "k8s://https://host"):
        assert choose_folder(make_session(master)) == {}
