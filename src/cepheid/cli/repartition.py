"""cepheid repartition: other key groups and state partitions for a stopped stream on Spark.

plan (from → to, bytes) ─▶ with --dry-run that is all ─▶ Spark moves the state ─▶ what to start the query with
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.cli.failures import report_failures
from cepheid.errors import InvalidInput

if TYPE_CHECKING:
    from cepheid.execution.spark.checkpoint_files.layout import Checkpoint
    from cepheid.execution.spark.moved_state.repartition import MovePlan


def repartition(
    checkpoint: Annotated[str, typer.Argument(help="What was given as checkpointLocation; the query is stopped")],
    groups: Annotated[int | None, typer.Option("--groups", help="Key groups it is to have")] = None,
    partitions: Annotated[int | None, typer.Option("--partitions", help="State partitions it is to have")] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="Make the new checkpoint there, and leave the old one in its place")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else on stdout")] = False,
) -> None:
    """Change the key groups and state partitions of a stopped stream on Spark; nothing is lost."""
    with report_failures():
        from cepheid.extras import require_extra

        require_extra("spark")  # so it is imported afterwards
        from cepheid.execution.spark.checkpoint_files.layout import open_checkpoint
        from cepheid.execution.spark.moved_state.repartition import inspect_checkpoint, plan_move

        if groups is None and partitions is None:
            raise InvalidInput("nothing is asked for", hint="give --groups, --partitions, or both")
        found = open_checkpoint(checkpoint)
        plan = plan_move(inspect_checkpoint(found), groups, partitions)
        _show_plan(plan)
        aside = None if dry_run else _move(found, plan, None if to is None else to.absolute())
        told = {**plan.as_dict(), "checkpoint": str(to or found.root), "old": None if aside is None else str(aside)}
        _show_outcome(told, dry_run, as_json)


def _show_plan(plan: MovePlan) -> None:
    megabytes = plan.state_bytes / 1e6
    typer.echo(
        f"after batch {plan.batch}: {plan.partitions[0]} → {plan.partitions[1]} partitions, "
        f"{plan.groups[0]} → {plan.groups[1]} key groups, {megabytes:.1f} MB of state files",
        err=True,
    )


def _move(found: Checkpoint, plan: MovePlan, to: Path | None) -> Path:
    from cepheid.execution.spark.moved_state.repartition import repartition as move
    from cepheid.execution.spark.session import build_session

    with tempfile.TemporaryDirectory(prefix="cepheid-repartition-") as folder:
        spark = build_session("cepheid repartition", quiet_log=Path(folder) / "spark.log")
        try:
            return move(spark, found, plan, to, lambda what: typer.echo(what, err=True))
        finally:
            spark.stop()


def _show_outcome(told: dict[str, Any], dry_run: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**told, "done": not dry_run}))
        return
    if dry_run:
        typer.echo("nothing was done: --dry-run")
        return
    typer.echo(f"done: {told['checkpoint']}")
    if told["key_groups"]["from"] != told["key_groups"]["to"]:
        groups = told["key_groups"]["to"]
        typer.echo(f"start the query with key_groups={groups} in cep.sql, or CEPHEID_KEY_GROUPS={groups}")
    typer.echo(f"the old checkpoint is in {told['old']}: delete it once the query runs; never run both")
