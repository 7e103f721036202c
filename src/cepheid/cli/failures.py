"""Mistakes of the user end a command with their message on stderr and exit code 2; no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from cepheid.errors import CepheidError


@contextmanager
def report_failures() -> Iterator[None]:
    try:
        yield
    except CepheidError as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(2) from None
