"""cepheid calibrate: what the queries of an application cost on this machine."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from cepheid.cli.failures import report_failures
from cepheid.cli.inputs import read_tables
from cepheid.errors import InvalidInput, suggest_name
from cepheid.extras import require_extra


def calibrate(
    app: Annotated[Path, typer.Option("--app", help="The application: sources and queries")],
    host: Annotated[str | None, typer.Option(help="embedded or spark; otherwise as the application says")] = None,
    output: Annotated[Path | None, typer.Option(help="The profile to write; otherwise it goes to stdout")] = None,
    events: Annotated[int | None, typer.Option(min=1, help="Events to measure each query with, about")] = None,
    batch: Annotated[int | None, typer.Option(min=20, help="Events in the largest batch")] = None,
    method: Annotated[str, typer.Option(help="regression, latency (Eq. 11) or throughput (Eq. 12)")] = "regression",
    data: Annotated[
        list[str] | None, typer.Option("--data", help="NAME=FILE: real events of a source, in order of time")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The profile as JSON, nothing else on stdout")] = False,
) -> None:
    """Measure what the queries of an application cost, for the simulator."""
    with report_failures():
        profile = _calibrate(app, host, events, batch, method, data or [])
    from cepheid.cost.profile_file import show_profile, write_profile

    if output is not None:
        write_profile(profile, output)
    if as_json:
        typer.echo(json.dumps(asdict(profile)))
    elif output is None:
        typer.echo(show_profile(profile), nl=False)
    _show(profile, output)


def _calibrate(
    app: Path, asked: str | None, events: int | None, batch: int | None, method: str, data: list[str]
) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    from cepheid.application import read_application
    from cepheid.bench.machine import keep_memory
    from cepheid.bench.one_core import one_core
    from cepheid.calibration.calibrate import EXTENTS
    from cepheid.calibration.calibrate_application import calibrate_application
    from cepheid.cost.profile import HostName, Method
    from cepheid.execution.endpoints import ENDPOINTS

    application = read_application(app, ENDPOINTS)
    host: Any = asked or application.cluster.host
    for value, known, what in ((host, get_args(HostName), "host"), (method, get_args(Method), "method")):
        if value not in known:
            raise InvalidInput(f'there is no {what} "{value}"', hint=suggest_name(value, known))
    if host == "spark":
        require_extra("spark")  # now, not after events were made
    widest = max(len(source.schema) for source in application.sources.values())
    extent = EXTENTS[host].within(widest)
    if batch is not None:
        extent = replace(extent, largest_batch=batch)
    if events is not None:
        extent = replace(extent, events=events, warm_up=min(extent.warm_up, events // 10))
    keep_memory()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bars = {name: progress.add_task(name, total=1.0) for name in application.queries}
        with one_core() if host == "embedded" else nullcontext():
            return calibrate_application(
                application,
                host,
                extent,
                lambda query, done: progress.update(bars[query], completed=done),
                read_tables(data),
                method,  # type: ignore[arg-type]
            )


def _show(profile: Any, output: Path | None) -> None:
    """On stderr: stdout is for the profile."""
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True)
    table = Table(
        "query", "batch", "+ event", "Eq. 11", "Eq. 12", "R2", "spread", "rows",
        title=f"{profile.host}, {profile.pes} processors; microseconds",
    )  # fmt: skip
    for name, cost in profile.queries.items():
        each = [f"{seconds * 1e6:,.3f}" for seconds in (cost.regression_s, cost.latency_s, cost.throughput_s)]
        table.add_row(
            name, f"{cost.overhead_s * 1e6:,.0f}", *each, f"{cost.r2:.3f}", f"{cost.spread:.0%}",
            f"{cost.selectivity:.4g}",
        )  # fmt: skip
    console.print(table)
    if output is not None:
        console.print(f"profile: {output}")
