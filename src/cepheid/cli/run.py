"""cepheid run: an application in this process, from its sources to its sinks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.cli.failures import report_failures
from cepheid.errors import CepheidError, NotSupportedYet

if TYPE_CHECKING:
    from cepheid.application import Application
    from cepheid.live_session import Session


def run(
    application: Annotated[Path, typer.Argument(help="APP.toml: sources, queries, sinks")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Rows of queries without a sink as JSON lines, then what was counted")
    ] = False,
    rows: Annotated[int, typer.Option(help="Events of each source that are pushed at a time")] = 65_536,
) -> None:
    """Run the queries of an application over the files it names, to their end."""
    with report_failures():
        from cepheid.application import read_application
        from cepheid.execution.endpoints import ENDPOINTS

        read = read_application(application, ENDPOINTS)
        with open_session(read, as_json) as session:
            counted = _run_with_progress(session, rows)
    if as_json:
        typer.echo(json.dumps(counted))
    else:
        for name, value in counted.items():
            typer.echo(f"{name}: {value:,}", err=True)


def open_session(application: Application, as_json: bool) -> Session:
    """The queries of an application, deployed, with their sources and sinks."""
    from cepheid.execution.endpoints import open_application_sink, open_application_source
    from cepheid.execution.sinks.kinds import open_sink
    from cepheid.execution.sinks.terminal import LINES, TerminalTable
    from cepheid.live_session import Session

    if application.cluster.host != "embedded":
        raise NotSupportedYet("running an application on Spark", hint='[cluster] host = "embedded", or cep.sql')
    if application.tables:
        raise NotSupportedYet("tables to look events up in", hint="cep.Session takes them: session.source(name, table)")
    session = Session()
    for name in application.sources:
        session.source(name, open_application_source(application, name))
    for name, query in application.queries.items():
        try:
            session.deploy(name, query.text)
        except CepheidError as problem:
            problem.origin = query.origin
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
