"""cepheid doctor: can this machine run everything?  It also compiles the kernels, so that no query has to wait."""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from cepheid.errors import JavaMissing

NEEDED = ("pyspark", "pyarrow", "numpy", "numba", "pandas", "protobuf", "sqlglot", "duckdb")


def doctor(as_json: Annotated[bool, typer.Option("--json", help="For machines")] = False) -> None:
    """Check Python, Java and libraries; compile the kernels if that was not done on this machine (a minute)."""
    found = {"python": platform.python_version(), "java": _find_java(), **{name: _find(name) for name in NEEDED}}
    if found["numba"] is not None:
        found["kernels"] = _compile_kernels()
    missing = [name for name, what in found.items() if what is None]
    if as_json:
        typer.echo(json.dumps({"found": found, "missing": missing}))
    else:
        for name, what in found.items():
            typer.echo(f"{'ok     ' if what else 'missing'}  {name:10} {what or ''}")
    sys.exit(1 if missing else 0)


def _compile_kernels() -> str:
    from cepheid.kernel.compiled.warm_up import compile_kernels
    from cepheid.simulation.compiled.warm_up import compile_engine

    began = time.perf_counter()
    compile_kernels()
    compile_engine()
    return f"ready in {time.perf_counter() - began:.1f} s"


def _find(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _find_java() -> str | None:
    from cepheid.execution.spark.java import find_java

    try:
        java = find_java()
    except JavaMissing:
        return None
    return f"{java.version} ({java.origin})"
