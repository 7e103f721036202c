"""cepheid run, where the application says [cluster] host = "spark": a session, its progress, and a clean stop."""

from __future__ import annotations

import json
import logging
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cepheid.errors import InvalidInput, RunFailed

if TYPE_CHECKING:
    from cepheid.application import Application
    from cepheid.execution.spark.batch_progress import BatchProgress

LOOK_S = 0.3


def run_on_spark(application: Application, once: bool, as_json: bool) -> dict[str, Any]:
    """Until it is stopped by SIGTERM or Ctrl-C, or, once, until all that is there is done; gives what was counted."""
    from cepheid.extras import require_extra

    require_extra("spark")  # so it is imported afterwards
    from py4j.protocol import Py4JError

    from cepheid.execution.spark.application import start_session

    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what a sink raises is told by us, once
    log = _prepare_log(application)
    spark = start_session(application, log)
    signal.signal(signal.SIGINT, lambda *_: stopped.set())  # Spark's own would end its jobs in the middle
    try:
        return _watch(spark, application, once, as_json, log, stopped)
    finally:
        with suppress(Py4JError, ConnectionError):  # it has gone already
            spark.stop()


def _watch(
    spark: Any, application: Application, once: bool, as_json: bool, log: Path, stopped: threading.Event
) -> dict[str, Any]:
    from py4j.protocol import Py4JError

    from cepheid.execution.spark.application import RunOptions, start_application
    from cepheid.execution.spark.batch_progress import Tally

    running = start_application(spark, application, RunOptions(once, as_json, str(log)))
    for name in running.unsafe:
        told = f'source "{name}" cannot be read again: events that are under way at a stop or a failure are lost'
        typer.echo(f"warning: {told}", err=True)
    tally = Tally()
    try:
        with _Display(as_json) as display:
            while running.goes_on() and not stopped.wait(LOOK_S):
                display.show(running.read_new(), tally)
            running.stop()
            display.show(running.read_new(), tally)
    except (Py4JError, ConnectionError):
        if not stopped.wait(LOOK_S):
            raise RunFailed(
                "Java, which runs Spark, has ended by itself", hint=f"its last words are in {log}"
            ) from None
        told = "Java was told to end as well: the batch that was under way is run again by the next run"
        typer.echo(f"warning: {told}", err=True)
    finally:
        with suppress(Py4JError, ConnectionError):
            running.stop()
    nothing = {f"{what} of {name}": 0 for name in application.queries for what in ("events", "rows")}
    return {"late": 0, "rejected": 0, **nothing, **tally.counts}


def _prepare_log(application: Application) -> Path:
    """Beside the state, where the next one to look for it will look."""
    from cepheid.execution.file_names import is_path
    from cepheid.execution.spark.application import find_checkpoint

    checkpoint = find_checkpoint(application)
    folder = Path(checkpoint) if is_path(checkpoint) else application.path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        hint = '[run] checkpoint = "...": a folder that you may write to'
        raise InvalidInput(f'the checkpoint "{folder}" cannot be made: {problem.strerror}', hint=hint) from None
    return folder / "spark.log"


class _Display:
    """For people a table that is kept up to date, on stderr; for programs a line for each batch, on stdout."""

    def __init__(self, as_json: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        self._as_json = as_json
        self._last: dict[str, BatchProgress] = {}
        self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=4)

    def __enter__(self) -> _Display:
        if not self._as_json:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, batches: list[BatchProgress], tally: Any) -> None:
        for batch in batches:
            tally.add(batch)
            self._last[f"{batch.name}{' (dead letters)' if batch.is_dead else ''}"] = batch
            if self._as_json:
                typer.echo(json.dumps({"batch": batch.as_dict()}))
        if not self._as_json:
            self._live.update(_draw(self._last, tally.counts))


def _draw(last: dict[str, BatchProgress], counts: dict[str, int]) -> Any:
    from datetime import UTC, datetime

    from rich.table import Table

    table = Table("query", "batch", "events", "rows", "late", "lateness p99", "horizon", "took", "files waiting")
    for title, batch in last.items():
        total = counts[f"{'dead letters' if batch.is_dead else 'rows'} of {batch.name}"]
        horizon = "" if batch.horizon_ms is None else f"{datetime.fromtimestamp(batch.horizon_ms / 1000, UTC):%F %T}"
        events = "" if batch.is_dead else f"{counts[f'events of {batch.name}']:,}"
        waiting = "" if batch.waiting is None else f"{batch.waiting:,}"
        p99_s = None if batch.lateness is None else batch.lateness.lateness_p99_s
        lateness = "" if p99_s is None else f"{p99_s:.1f} s"
        took = f"{batch.duration_ms / 1000:.1f} s"
        table.add_row(
            title, str(batch.batch), events, f"{total:,}", f"{batch.late:,}", lateness, horizon, took, waiting
        )
    return table
