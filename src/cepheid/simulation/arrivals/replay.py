"""A recorded rate, played again: a file with rows of time_s and rate_per_s, each rate holding until the next row."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from cepheid.errors import InvalidInput
from cepheid.simulation.arrivals.arrivals import Floats
from cepheid.simulation.arrivals.field_checks import check_factor, check_rate, refuse_unknown
from cepheid.simulation.arrivals.rate_curve import RateCurve

TIME, RATE = "time_s", "rate_per_s"
KEYS = ("path", "repeats", "factor")


@dataclass(frozen=True, slots=True)
class Replay:
    """times_s: ascending; the source begins with the first, whatever it says, so that records of any clock will do.
    repeats: it begins again after the last row, which lasts as long as the one before it; otherwise that rate stays."""

    times_s: tuple[float, ...]
    rates_per_s: tuple[float, ...]
    repeats: bool = False

    def __post_init__(self) -> None:
        if len(self.times_s) != len(self.rates_per_s) or not self.times_s:
            told = 'arrivals "replay": it needs as many times as rates, at least one of each'
            raise InvalidInput(told, hint="for instance Replay(times_s=(0, 60), rates_per_s=(100, 200))")
        for number, (time, rate) in enumerate(zip(self.times_s, self.rates_per_s, strict=True)):
            if not math.isfinite(time):
                hint = "give seconds, or leave the row out"
                raise InvalidInput(f'arrivals "replay": row {number + 1} has the time {time}', hint=hint)
            check_rate("replay", f"row {number + 1}", rate)
            if number and time <= self.times_s[number - 1]:
                raise InvalidInput(
                    f'arrivals "replay": row {number + 1} has the time {time:g}, not after the row before it',
                    hint="sort the rows by time, and give each time once",
                )
        if self.repeats and len(self.times_s) == 1:
            raise InvalidInput('arrivals "replay": one row cannot be repeated', hint="leave out repeats")

    @classmethod
    def from_table(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """path: a .csv with a line of names, or a .json: rows, or one list for each name.  factor: times the rates."""
        refuse_unknown("replay", table, KEYS)
        path = table.get("path")
        if not isinstance(path, str):
            raise InvalidInput('arrivals "replay": "path" is missing or no text', hint='path = "rates.csv"')
        repeats = table.get("repeats", False)
        if not isinstance(repeats, bool):
            raise InvalidInput(f'arrivals "replay": "repeats" is {repeats!r}', hint="true or false")
        factor = check_factor("replay", table.get("factor", 1.0))
        times, rates = read_rates(folder / path)
        made = cls(times, rates, repeats)
        return made if factor == 1.0 else made.scaled(factor)

    def amounts(self, edges_ms: Floats, copy: int) -> Floats:  # noqa: ARG002 (copies are alike)
        return self._curve().amounts(edges_ms)

    def scaled(self, factor: float) -> Self:
        return replace(self, rates_per_s=tuple(rate * factor for rate in self.rates_per_s))

    def mean_rate(self, duration_s: float) -> float:
        return self._curve().mean_rate(duration_s)

    def _curve(self) -> RateCurve:
        times = self.times_s
        last = times[-1] - times[-2] if len(times) > 1 else 1.0
        edges = [time - times[0] for time in (*times, times[-1] + last)]
        return RateCurve(edges, self.rates_per_s, self.rates_per_s, repeats_from=0 if self.repeats else None)


def read_rates(path: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput(
            f'arrivals "replay": "{path}" cannot be read: {problem}',
            hint="paths are relative to the file that names them",
        ) from None
    rows = _read_json(path, text) if path.suffix.lower() == ".json" else _read_csv(path, text)
    if not rows:
        hint = f"write a row below {TIME},{RATE}, for instance 0,100"
        raise InvalidInput(f'arrivals "replay": "{path}" has no rows', hint=hint)
    return tuple(time for time, _ in rows), tuple(rate for _, rate in rows)


def _read_csv(path: Path, text: str) -> list[tuple[float, float]]:
    lines = csv.DictReader(text.splitlines(), skipinitialspace=True)
    return [_read_row(path, line, row) for line, row in enumerate(lines, 2)]


def _read_json(path: Path, text: str) -> list[tuple[float, float]]:
    try:
        value = json.loads(text)
    except ValueError as problem:
        hint = f'write [{{"{TIME}": 0, "{RATE}": 100}}, ...], or end its name in .csv if that is what it is'
        raise InvalidInput(f'arrivals "replay": "{path}" is not JSON: {problem}', hint=hint) from None
    if isinstance(value, dict):
        times, rates = value.get(TIME), value.get(RATE, value.get("rate"))
        if not isinstance(times, list) or not isinstance(rates, list) or len(times) != len(rates):
            raise InvalidInput(
                f'arrivals "replay": "{path}" lacks two lists of one length',
                hint=f'{{"{TIME}": [0, 60], "{RATE}": [100, 200]}}',
            )
        value = [{TIME: time, RATE: rate} for time, rate in zip(times, rates, strict=True)]
    if not isinstance(value, list):
        raise InvalidInput(
            f'arrivals "replay": "{path}" is no list of rows', hint=f'[{{"{TIME}": 0, "{RATE}": 100}}, ...]'
        )
    return [_read_row(path, number, row) for number, row in enumerate(value, 1)]


def _read_row(path: Path, number: int, row: Any) -> tuple[float, float]:
    if not isinstance(row, Mapping):
        hint = f'write {{"{TIME}": 0, "{RATE}": 100}}'
        raise InvalidInput(f'arrivals "replay": "{path}", row {number}: {row!r} is not a row', hint=hint)
    cells = []
    for names in ((TIME, "time"), (RATE, "rate")):
        cell = next((row[name] for name in names if row.get(name) is not None), None)
        if cell is None:
            known = ", ".join(str(name) for name in row)
            raise InvalidInput(
                f'arrivals "replay": "{path}", row {number}: "{names[0]}" is missing', hint=f"it has: {known}"
            )
        try:
            cells.append(float(cell))
        except (TypeError, ValueError):
            told = f'arrivals "replay": "{path}", row {number}: {cell!r} is not a number'
            raise InvalidInput(told, hint="write digits, and a point before decimals: 0.5") from None
    return cells[0], cells[1]
