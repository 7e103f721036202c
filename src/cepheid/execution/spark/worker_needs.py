"""Which Python of a cluster can run what we send: asked of the executors before the first job, once for an application.

    candidates ─▶ run by executors (worker_facts.py) ─▶ choose_python: the first that fits on every executor
                                                              none ─▶ WorkersUnfit: what is missing, how to give it

It fits if it is the Python of this program, to the minor version (Spark demands that), and has what Cepheid needs.
Cepheid itself need not be there (shipped_package.py).
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cepheid.errors import WorkerPythonWarning, WorkersUnfit
from cepheid.execution.spark import worker_facts
from cepheid.execution.spark.executors import run_on_executors

PATIENCE_S = 60.0  # for the first executor; dynamic allocation brings one when there is a job
# As pip calls them, as Python imports them.  pyspark comes from Spark itself.
NEEDED = {
    "pyarrow": "pyarrow",
    "numpy": "numpy",
    "numba": "numba",
    "pandas": "pandas",
    "duckdb": "duckdb",
    "sqlglot": "sqlglot",
    "protobuf": "google.protobuf",
    "platformdirs": "platformdirs",
}
# "$@": the program's text, then for each Python what it is asked, and its name
EACH_PYTHON = (
    'code=$1; shift; while [ $# -gt 0 ]; do "$2" -c "$code" "$1" 2>&1 || echo "cepheid-failed $2"; shift 2; done'
)
FAILED = "cepheid-failed "


@dataclass(frozen=True, slots=True)
class PythonFacts:
    """What one Python of one executor said about itself; missing packages are None; problem: why it said nothing."""

    python: str
    version: str = ""
    packages: Mapping[str, str | None] = field(default_factory=dict)
    host: str = ""
    problem: str | None = None


_chosen: dict[tuple[str, ...], str] = {}


def find_python(context: Any, candidates: Sequence[str]) -> str:
    """The first of them that fits on all executors that answer; context: a SparkContext on a cluster."""
    known = (str(context.applicationId), *candidates)
    if known not in _chosen:
        lines = run_on_executors(context, make_command(candidates, {"packages": NEEDED}), PATIENCE_S)
        if lines is None:
            warn_unknown(context.master, candidates[0])
            return candidates[0]
        _chosen[known] = choose_python(context.master, candidates, read_facts(lines), platform.python_version())
    return _chosen[known]


def make_command(candidates: Iterable[str], asked: dict[str, Any]) -> list[str]:
    """A program for executors: each of these Pythons tells what it is."""
    code = Path(worker_facts.__file__).read_text()
    told = [part for python in candidates for part in (json.dumps({**asked, "python": python}), python)]
    return ["sh", "-c", EACH_PYTHON, "sh", code, *told]


def read_facts(lines: Iterable[str]) -> list[PythonFacts]:
    """What all Pythons of all executors said."""
    found = []
    said: list[str] = []
    for line in lines:
        if line.startswith(worker_facts.MARK):
            facts = json.loads(line.removeprefix(worker_facts.MARK))
            found.append(PythonFacts(facts["asked"], facts["version"], facts["packages"], facts["host"]))
            said = []
        elif line.startswith(FAILED):
            found.append(PythonFacts(line.removeprefix(FAILED), problem=said[-1] if said else "it does not start"))
            said = []
        else:
            said.append(line)
    return found


def choose_python(master: str, candidates: Sequence[str], facts: Sequence[PythonFacts], version: str) -> str:
    problems = {}
    for python in candidates:
        found = [find_problem(each, version) for each in facts if each.python == python]
        problem = next((each for each in found if each is not None), None)
        if found and problem is None:
            return python
        problems[python] = problem or "it said nothing"
    raise WorkersUnfit(master, problems, ".".join(version.split(".")[:2]), NEEDED)


def find_problem(facts: PythonFacts, version: str) -> str | None:
    """Why this Python cannot run what a driver with this version of Python sends; None: it can."""
    if facts.problem is not None:
        return facts.problem
    if facts.version.split(".")[:2] != version.split(".")[:2]:
        return f"it is Python {facts.version} on {facts.host}"
    missing = [package for package, found in facts.packages.items() if found is None]
    return f"it lacks {', '.join(missing)} on {facts.host}" if missing else None


def warn_unknown(master: str, python: str) -> None:
    warnings.warn(
        f'no executor of "{master}" has begun to work within {PATIENCE_S:.0f} s, so it is not known whether "{python}" '
        "there has what Cepheid needs: see that the cluster has free cores and memory (cepheid doctor --spark)",
        WorkerPythonWarning,
        stacklevel=7,
    )
