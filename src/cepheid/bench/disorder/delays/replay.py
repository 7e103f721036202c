"""Delays as they were recorded: one after the other, and from the first again when they are used up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cepheid.bench.disorder.delays.delay import Int64s, from_ms
from cepheid.toml_files.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """delays_ms: at least one, none below 0."""

    delays_ms: tuple[float, ...]

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:  # noqa: ARG002 (nothing is drawn)
        return np.resize(from_ms(np.array(self.delays_ms, dtype=np.float64)), len(times_ns))


def read_recorded(table: Table, folder: Path) -> Replay:
    """delays_ms = [...], or path = "...": a file with one number a line, in milliseconds."""
    hint = 'write delays_ms = [0.0, 12.5], or path = "delays.txt" with one number a line'
    if table.has("delays_ms") == table.has("path"):
        raise table.mistake("needs either delays_ms or path", hint=hint)
    key = "path" if table.has("path") else "delays_ms"
    found = _read_file(table, folder) if key == "path" else table.elements(key)
    if not found:
        raise table.mistake("has no delays", key, hint=hint)
    for place, each in enumerate(found):
        if isinstance(each, bool) or not isinstance(each, int | float) or not 0 <= each < float("inf"):
            way = (key, place) if key == "delays_ms" else (key,)
            raise table.mistake(f"has a delay that is {each!r}", *way, hint="milliseconds, 0 or more")
    return Replay(delays_ms=tuple(map(float, found)))


def _read_file(table: Table, folder: Path) -> list[float]:
    path = folder / table.text("path")
    try:
        return [float(line) for line in path.read_text(encoding="utf-8").split()]
    except FileNotFoundError:
        raise table.mistake(
            f'reads "{path}", which does not exist', "path", hint="paths begin where the file is"
        ) from None
    except (OSError, ValueError) as problem:
        raise table.mistake(f'cannot read "{path}": {problem}', "path", hint="one number a line, in ms") from None
