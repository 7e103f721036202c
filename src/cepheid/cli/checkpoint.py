"""cepheid checkpoint: is the checkpoint of a stopped stream whole, and back to where it was.

cepheid checkpoint check DIR                     what is whole and what is not; exit code 1 if something is not
cepheid checkpoint rewind DIR [--to-batch N]     go back to the last batch that is whole
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cepheid.cli.failures import report_failures

checkpoint = typer.Typer(no_args_is_help=True, help="Check the checkpoint of a stopped stream, or take it back.")
Place = Annotated[str, typer.Argument(help="What was given as checkpointLocation; the query is stopped")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, nothing else on stdout")]


@checkpoint.command()
def check(place: Place, as_json: AsJson = False) -> None:
    """Say what is whole and what is not."""
    with report_failures():
        _require_spark()
        from cepheid.execution.spark.checkpoint_files.damage import diagnose
        from cepheid.execution.spark.checkpoint_files.layout import open_checkpoint

        opened = open_checkpoint(place)
        found = diagnose(opened)
        damaged = [damage.tell(opened.root) for damage in found.damaged]
        told = {
            "begun": found.begun,
            "committed": found.committed,
            "damaged": damaged,
            "whole": found.whole,
            "is_whole": found.is_whole,
        }
        if as_json:
            typer.echo(json.dumps(told))
        else:
            typer.echo(f"last batch begun: {found.begun}, finished: {found.committed}")
            typer.echo("\n".join(f"damaged: {each}" for each in damaged) or "all that is needed to go on is whole")
            if damaged:
                typer.echo(f"-> cepheid checkpoint rewind {opened.root}")
        if damaged:
            raise typer.Exit(1)


@checkpoint.command()
def rewind(
    place: Place,
    to_batch: Annotated[int | None, typer.Option("--to-batch", help="Default: the last batch that is whole")] = None,
    cut_anew: Annotated[
        bool, typer.Option("--cut-anew", help="Also if batches would hold other events than before: see the sinks")
    ] = False,
    files: Annotated[
        str | None,
        typer.Option("--files", help="Where Spark's file sink writes to; default: as it was started"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing")] = False,
    as_json: AsJson = False,
) -> None:
    """Go back to the last batch that is whole; what is taken out is kept beside."""
    with report_failures():
        _require_spark()
        from cepheid.execution.spark.checkpoint_files.damage import diagnose
        from cepheid.execution.spark.checkpoint_files.file_sink import find_file_sink
        from cepheid.execution.spark.checkpoint_files.layout import open_checkpoint
        from cepheid.execution.spark.checkpoint_files.rewind import plan_rewind
        from cepheid.execution.spark.checkpoint_files.rewind import rewind as take_back

        opened = open_checkpoint(place)
        found = diagnose(opened)
        sink = find_file_sink(files or opened.find_sink())
        plan = plan_rewind(found, to_batch, cut_anew, forgets=sink is not None)
        aside = None if dry_run else take_back(opened, plan, found.damaged, sink)
        if as_json:
            typer.echo(
                json.dumps({**plan.as_dict(), "aside": None if aside is None else str(aside), "done": not dry_run})
            )
            return
        typer.echo(f"the stream goes on behind batch {plan.to}; the last one that was begun was {plan.last}")
        if plan.last > plan.to:
            typer.echo(_explain_sinks(plan.forgets, plan.is_exact))
        typer.echo("nothing was done: --dry-run" if dry_run else f"what was taken out is in {aside}")


def _explain_sinks(forgets: bool, is_exact: bool) -> str:
    if forgets:
        return "the files of the batches behind were taken out as well: they are written again"
    if not is_exact:
        return "batches are cut anew: their rows are written again"
    return (
        "its rows are written again by sinks that do not know batches (console, foreachBatch of your own); Delta and "
        "PostgreSQL write nothing twice; if the query writes files, give --files FOLDER, or it will leave them out"
    )


def _require_spark() -> None:
    from cepheid.extras import require_extra

    require_extra("spark")
