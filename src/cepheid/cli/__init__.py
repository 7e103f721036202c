"""The command line: one file per command."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid import __version__
from cepheid.cli.bench import bench
from cepheid.cli.calibrate import calibrate
from cepheid.cli.checkpoint import checkpoint
from cepheid.cli.demo import demo
from cepheid.cli.doctor import doctor
from cepheid.cli.explain import explain
from cepheid.cli.repartition import repartition
from cepheid.cli.run import run
from cepheid.cli.simulate import simulate
from cepheid.cli.sql import sql

app = typer.Typer(name="cepheid", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cepheid {__version__}")
        raise typer.Exit


@app.callback()
def cepheid(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Complex event processing: patterns, windows and joins over event streams, on Spark or in your own process."""


app.command()(demo)
app.command()(run)
app.command()(sql)
app.command()(explain)
app.command()(simulate)
app.command()(calibrate)
app.add_typer(bench, name="bench")
app.command()(repartition)
app.add_typer(checkpoint, name="checkpoint")
app.command()(doctor)
