"""cepheid doctor --spark URL: is this cluster ready for queries?

    ok        executors    2 executors on 1 machine, 2 cores: a new stream gets so many state partitions
    warning   packages     pyarrow 26.0.1 on the driver, 25.0.0 on executors
              -> install the same versions: pip freeze, here and there

Exit code 1 if there is a problem, else 0.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cepheid import __version__
from cepheid.cli.failures import report_failures
from cepheid.errors import InvalidInput, NotSupportedYet

if TYPE_CHECKING:
    from cepheid.execution.spark.cluster_findings import Finding


def examine_cluster(master: str, checkpoint: str | None, settings: list[str], as_json: bool) -> int:
    """Show what was found; gives the exit code."""
    with report_failures():
        findings = _find(master, checkpoint, _read_settings(settings))
    if as_json:
        typer.echo(json.dumps({"master": master, "findings": [finding.as_dict() for finding in findings]}))
    else:
        for finding in findings:
            typer.echo(f"{finding.state:9} {finding.check:18} {finding.told}")
            if finding.remedy:
                typer.echo(f"{'':28} -> {finding.remedy}")
    return 1 if any(finding.state == "problem" for finding in findings) else 0


def _read_settings(given: list[str]) -> dict[str, str]:
    for text in given:
        if "=" not in text:
            hint = "write --set spark.executor.memory=2g"
            raise InvalidInput(f'the setting "{text}" is not of the form name=value', hint=hint)
    return {name.replace(".", "__"): value for name, _, value in (text.partition("=") for text in given)}


def _find(master: str, checkpoint: str | None, settings: dict[str, Any]) -> list[Finding]:
    if master.startswith("sc://"):
        hint = "ask the cluster behind it: cepheid doctor --spark with the master that the server was started with"
        raise NotSupportedYet("doctor over Spark Connect, whose client sees no executors,", hint=hint)
    from cepheid.extras import require_extra

    require_extra("spark")  # so it is imported afterwards
    from cepheid.execution.spark.cluster_facts import gather_facts
    from cepheid.execution.spark.cluster_findings import find_all
    from cepheid.execution.spark.cluster_session import borrow_session

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "spark.log"
        with borrow_session("cepheid doctor", master, log, settings) as spark:
            return find_all(gather_facts(spark, __version__, checkpoint))
