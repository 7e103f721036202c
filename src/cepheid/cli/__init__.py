"""The command line: one file per command."""

from __future__ import annotations

import typer

from cepheid.cli.bench import bench
from cepheid.cli.calibrate import calibrate
from cepheid.cli.demo import demo
from cepheid.cli.doctor import doctor
from cepheid.cli.explain import explain
from cepheid.cli.simulate import simulate
from cepheid.cli.sql import sql

app = typer.Typer(
    name="cepheid",
    help="Complex event processing for Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(sql)
app.command()(explain)
app.command()(simulate)
app.command()(calibrate)
app.add_typer(bench, name="bench")
app.command()(doctor)
