"""cepheid doctor: what can this machine run?  It also compiles the kernels, so that no query has to wait.

    Queries in your process: ready        Spark: not installed
      pyarrow     26.0.1                    pyspark     missing
      ...                                   pip install "cepheid[spark]"

An extra that is not installed is no mistake; one that is there, but lacks something, is.  With --spark it is a cluster
that is examined (doctor_on_spark.py).
"""

from __future__ import annotations

import json
import platform
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from cepheid import __version__
from cepheid.cli.doctor_on_spark import examine_cluster
from cepheid.errors import JavaMissing
from cepheid.extras import EXTRAS, can_import

CORE = ("pyarrow", "numpy", "numba", "sqlglot", "duckdb")


@dataclass(frozen=True, slots=True)
class Part:
    """Something that Cepheid can do, what it needs for that (None: missing), and how to get it.

    The first of what it needs decides whether someone wanted to have this part at all.
    """

    title: str
    found: dict[str, str | None]
    remedy: str
    optional: bool = True

    @property
    def ready(self) -> bool:
        return None not in self.found.values()

    @property
    def broken(self) -> bool:
        wanted = not self.optional or next(iter(self.found.values())) is not None
        return wanted and not self.ready


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else on stdout")] = False,
    spark: Annotated[
        str | None, typer.Option(help="The master of a cluster, as spark://host:7077, to check it")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="With --spark: the folder that streams shall keep state in")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="With --spark: name=value, a setting of Spark")
    ] = None,
) -> None:
    """Check what this machine can run, and compile the kernels (once, a minute or two); or check a cluster."""
    if spark is not None:
        sys.exit(examine_cluster(spark, checkpoint, settings or [], as_json))
    parts = _find_parts()
    if not as_json:
        typer.echo(f"Cepheid {__version__} on Python {platform.python_version()}\n")
        for part in parts.values():
            _show(part)
    kernels = _compile_kernels() if parts["core"].ready else None
    if as_json:
        _show_json(parts, kernels)
    else:
        typer.echo(f"Kernels: {kernels or 'not compiled'}")
    sys.exit(1 if any(part.broken for part in parts.values()) else 0)


def _find_parts() -> dict[str, Part]:
    parts = {
        "core": Part(
            "Queries in your process", {name: _find(name, name) for name in CORE}, "pip install cepheid", False
        )
    }
    for name, extra in EXTRAS.items():
        found = {package: _find(package, module) for package, module in extra.packages.items()}
        parts[name] = Part(extra.purpose, found, f'pip install "cepheid[{name}]"')
    spark = parts["spark"]
    java, remedy = _find_java()
    parts["spark"] = Part(spark.title, {**spark.found, "java": java}, remedy if spark.ready else spark.remedy)
    return parts


def _find(package: str, module: str) -> str | None:
    if not can_import(module):
        return None
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _find_java() -> tuple[str | None, str]:
    """Its version, and what to do without one."""
    from cepheid.execution.spark.java import find_java

    try:
        java = find_java()
    except JavaMissing as problem:
        return None, problem.hint or ""
    return f"{java.version} ({java.origin})", ""


def _compile_kernels() -> str:
    from cepheid.execution.embedded.warm_up import compile_lanes
    from cepheid.kernel.compiled.warm_up import compile_kernels
    from cepheid.simulation.compiled.warm_up import compile_engine

    if sys.stderr.isatty():
        typer.echo("Compiling the kernels (the first time takes a minute or two) ...", err=True)
    began = time.perf_counter()
    compile_kernels()
    compile_lanes()
    compile_engine()
    return f"ready in {time.perf_counter() - began:.1f} s"


def _show(part: Part) -> None:
    state = "ready" if part.ready else "incomplete" if part.broken else "not installed"
    typer.echo(f"{part.title}: {state}")
    for name, what in part.found.items():
        typer.echo(f"  {name:12} {what or 'missing'}")
    if not part.ready:
        typer.echo(f"  -> {part.remedy}")
    typer.echo()


def _show_json(parts: dict[str, Part], kernels: str | None) -> None:
    found = {name: what for part in parts.values() for name, what in part.found.items()}
    told = {
        "cepheid": __version__,
        "found": {"python": platform.python_version(), **found, "kernels": kernels},
        "missing": [name for name, what in found.items() if what is None],
        "ready": {name: part.ready for name, part in parts.items()},
    }
    typer.echo(json.dumps(told))
