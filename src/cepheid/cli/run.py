"""cepheid run: an application from its sources to its sinks, in this process or on Spark (run_on_spark.py)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cepheid.cli.failures import report_failures
from cepheid.cli.inputs import DialectOption
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet

if TYPE_CHECKING:
    from cepheid.application import Application
    from cepheid.live_session import Session


def run(
    application: Annotated[Path, typer.Argument(help="APP.toml: sources, queries, sinks; or a script, FILE.sql")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Rows of queries without a sink as JSON lines, then what was counted")
    ] = False,
    rows: Annotated[int, typer.Option(help="Events of each source that are pushed at a time (not on Spark)")] = 65_536,
    once: Annotated[bool, typer.Option("--once", help="On Spark: take what is there now, and end")] = False,
    dialect: DialectOption = None,
) -> None:
    """Run the queries of an application, from its sources to its sinks.

    In this process (host = "embedded"): over the files it names, to their end.  On Spark (host = "spark"): until it is
    stopped by Ctrl-C or SIGTERM, taking what is added; the next run goes on from its checkpoint.  --once ends when all
    that is there is done; what waits for later events comes out with a later run.
    """
    with report_failures():
        read = _read(application, dialect)
        if read.cluster.host == "spark":
            from cepheid.cli.run_on_spark import run_on_spark

            counted = run_on_spark(read, once, as_json)
        else:
            with open_session(read, as_json) as session:
                counted = _run_with_progress(session, rows)
    if as_json:
        typer.echo(json.dumps(counted))
    else:
        for name, value in counted.items():
            typer.echo(f"{name}: {value:,}", err=True)


def _read(path: Path, dialect: str | None) -> Application:
    """A script, or an application, which names its dialects itself."""
    from cepheid.application import read_application
    from cepheid.application.read_script import read_script
    from cepheid.execution.endpoints import ENDPOINTS
    from cepheid.session_inputs import check_dialect
    from cepheid.settings import WrittenDialect

    check_dialect(cast(WrittenDialect | None, dialect), "trino")
    if path.suffix.lower() == ".sql":
        return read_script(path, ENDPOINTS, cast(WrittenDialect | None, dialect))
    if dialect is not None:
        raise InvalidInput("--dialect is for scripts", hint=f'write dialect = "{dialect}" in {path}')
    return read_application(path, ENDPOINTS)


def open_session(application: Application, as_json: bool) -> Session:
    """The queries of an application, deployed, with their sources and sinks."""
    from cepheid.application.application import event_times, place_in_file
    from cepheid.execution.endpoints import open_application_sink, open_application_source, read_application_table
    from cepheid.execution.sinks.kinds import open_sink
    from cepheid.execution.sinks.terminal import LINES, TerminalTable
    from cepheid.live_session import Session
    from cepheid.lookups import Table

    for name, source in application.sources.items():
        if source.dead_letters or source.options:
            raise NotSupportedYet(
                f'dead_letters or options of source "{name}" in this process',
                hint='leave them out, or run it on Spark: [cluster] host = "spark"',
            )
    lateness = max((source.lateness for source in application.sources.values()), default=timedelta(0))
    session = Session(event_time=event_times(application), lateness=lateness or None, disorder=application.disorder)
    for name in application.sources:
        session.source(name, open_application_source(application, name), application.sources[name].idle_after)
    for name in application.tables:
        session.source(name, Table(read_application_table(application, name)))
    for name, query in application.queries.items():
        try:
            session.deploy(name, query.text)
        except CepheidError as problem:
            place_in_file(problem, query)
            raise
        sink = open_application_sink(application, name, session.schemas[name])
        if sink is None:
            sink = open_sink(LINES, name=name) if as_json else TerminalTable(more="--json gives all")
        session.send(name, sink)
    return session


def _run_with_progress(session: Session, rows: int) -> dict[str, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    pushed: list[int] = []
    columns = (TextColumn("{task.completed:,} events"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("events", total=None)

        def note(events: int) -> None:
            pushed.append(events)
            progress.advance(task, events)

        session.run(rows, on_push=note)
    counts = session.counts
    given = {f"rows of {name}": count for name, count in session.rows_given.items()}
    return {"events": sum(pushed), "late": counts.late, "rejected": counts.rejected, **given}
