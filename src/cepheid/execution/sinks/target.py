"""Files that are written to: the folder is made, and what cannot be written is told before a query has run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from cepheid.errors import InvalidInput


def prepare_target(path: Path) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        is_folder = path.is_dir()
    if is_folder:
        raise InvalidInput(f'"{path}" is a folder, and cannot be written as a file', hint=f'"{path / "rows.parquet"}"')
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidInput(f'"{path}" cannot be written: no permission', hint="choose a folder that you may write to")


@contextmanager
def writing(path: Path, hint: str = "choose a folder that you may write to, with room on its disk") -> Iterator[None]:
    """What goes wrong is told with the name of the file."""
    try:
        yield
    except (OSError, pa.ArrowException) as problem:
        raise InvalidInput(f'"{path}" cannot be written: {str(problem).strip().rstrip(".")}', hint=hint) from None
