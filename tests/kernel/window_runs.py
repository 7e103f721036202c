"""Run window operators over the same events in many ways: cut into batches, restored under other numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Interner
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import AnswerColumn, ListColumn, ObjectColumn, WindowEvents, WindowProgram, WindowRows

NUMBERS = 64
"""Keys and groups of tests are below this number."""


@dataclass(frozen=True)
class Row:
    """A row in plain values; event: by its place among all events of the run."""

    evaluation: int
    moment: int
    group: int
    event: int
    start: int
    end: int
    sign: int
    values: tuple[Any, ...]


def make_events(
    times: Sequence[int], keys: Sequence[int], groups: Sequence[Sequence[int]], **columns: Sequence[Any]
) -> WindowEvents:
    """None in a column is null."""
    return WindowEvents(
        np.array(times, dtype=np.int64),
        np.array(keys, dtype=np.int64),
        tuple(np.array(one, dtype=np.int64) for one in groups),
        {name: _make_column(values) for name, values in columns.items()},
    )


def _make_column(values: Sequence[Any]) -> Column:
    numbers = np.array([0 if value is None else int(value) for value in values], dtype=np.int64)
    if None not in values:
        return Column(numbers)
    return Column(numbers, np.array([value is not None for value in values], dtype=np.uint8))


def take_events(events: WindowEvents, places: npt.NDArray[np.int64], keys: Any, groups: Sequence[Any]) -> WindowEvents:
    """Some of the events, their keys and groups under other numbers."""
    return WindowEvents(
        events.times[places],
        keys[events.keys[places]],
        tuple(new[old[places]] for new, old in zip(groups, events.groups, strict=True)),
        {
            name: Column(column.values[places], None if column.valid is None else column.valid[places])
            for name, column in events.columns.items()
        },
    )


def read_value(column: AnswerColumn, row: int) -> Any:
    if isinstance(column, ObjectColumn):
        return column.values[row]
    if column.valid is not None and not column.valid[row]:
        return None
    if isinstance(column, ListColumn):
        return tuple(column.items.values[column.ends[row - 1] if row else 0 : column.ends[row]].tolist())
    return column.values[row].item()


def read_rows(rows: WindowRows, places: Sequence[int], groups: Any) -> list[Row]:
    """places: of the events the operator knows; groups: its numbers -> ours."""
    return [
        Row(
            int(rows.evaluations[row]),
            int(rows.moments[row]),
            int(groups[rows.groups[row]]),
            places[rows.events[row]] if rows.events[row] >= 0 else -1,
            int(rows.starts[row]),
            int(rows.ends[row]),
            0 if rows.signs is None else int(rows.signs[row]),
            tuple(read_value(column, row) for column in rows.values),
        )
        for row in range(len(rows))
    ]


class Run:
    """An operator that is fed piece by piece, and may be put away and restored between pieces."""

    def __init__(self, programs: tuple[WindowProgram, ...], events: WindowEvents) -> None:
        self._programs = programs
        self._events = events
        self.operator = CompiledWindows(programs, Interner())
        self._places: list[int] = []
        self._fed = 0
        self._keys = np.arange(NUMBERS)
        self._groups = [np.arange(NUMBERS) for _ in programs]
        self.rows: list[list[Row]] = [[] for _ in programs]
        self._floor: int | None = None

    def feed(self, count: int, horizon: int, *, final: bool = False) -> None:
        """The next events; what comes out must keep to what was promised."""
        places = np.arange(self._fed, self._fed + count)
        self._fed += count
        self._places += places.tolist()
        waited = self.operator.is_waiting()
        told = self.operator.step(take_events(self._events, places, self._keys, self._groups), horizon, final)
        for number, rows in enumerate(told):
            read = read_rows(rows, self._places, np.argsort(self._groups[number]))
            if self._floor is not None:
                assert all(row.moment >= self._floor for row in read), "floor: no row has a smaller moment"
            assert not read or count or final or waited, "is_waiting: rows may come when only the horizon moves on"
            assert np.all(np.diff(rows.evaluations) >= 0)
            self.rows[number] += read
        self._floor = self.operator.floor(horizon)

    def restore(self, horizon: int, random: Random) -> None:
        """Go on from a snapshot, with keys and groups under new numbers."""
        old, needed = self.operator, self.operator.needed(horizon)
        assert len(needed) == len(self._places)
        state = {name: array.copy() for name, array in old.keep(horizon).items()}
        kept = np.array(self._places, dtype=np.int64)[needed]
        keys, groups = _shuffle(random), [_shuffle(random) for _ in self._programs]
        new_keys = _replace(old.known_keys(), self._keys, keys)
        new_groups = tuple(
            _replace(old.known_groups(number), self._groups[number], groups[number])
            for number in range(len(self._programs))
        )
        self._keys, self._groups, self._places = keys, groups, kept.tolist()
        self.operator = CompiledWindows(self._programs, Interner())
        self.operator.restore(take_events(self._events, kept, keys, groups), state, new_keys, new_groups)


def _shuffle(random: Random) -> npt.NDArray[np.int64]:
    return np.array(random.sample(range(NUMBERS), NUMBERS), dtype=np.int64)


def _replace(known: npt.NDArray[np.int64], before: Any, after: Any) -> npt.NDArray[np.int64]:
    """Of known numbers the new ones; of all others a number that makes trouble."""
    replaced = np.full(NUMBERS, -(10**9), dtype=np.int64)
    replaced[known] = after[np.argsort(before)[known]]
    return replaced


def run_whole(programs: tuple[WindowProgram, ...], events: WindowEvents) -> list[list[Row]]:
    run = Run(programs, events)
    run.feed(len(events), int(events.times[-1]), final=True)
    return run.rows


def run_one_by_one(programs: tuple[WindowProgram, ...], events: WindowEvents) -> list[list[Row]]:
    """Each event as soon as it comes, and the horizon only as far as that."""
    run = Run(programs, events)
    for time in events.times.tolist():
        run.feed(1, time)
    run.feed(0, int(events.times[-1]), final=True)
    return run.rows


def run_ahead(programs: tuple[WindowProgram, ...], events: WindowEvents) -> list[list[Row]]:
    """After each event the horizon goes on to the next one, and at last far beyond."""
    run = Run(programs, events)
    for now, following in zip(events.times.tolist(), [*events.times.tolist()[1:], 10**6], strict=True):
        run.feed(1, now)
        run.feed(0, following)
    run.feed(0, 10**6, final=True)
    return run.rows


def run_restored(programs: tuple[WindowProgram, ...], events: WindowEvents) -> list[list[Row]]:
    """A snapshot after every event."""
    run, random = Run(programs, events), Random(3)
    for now, following in zip(events.times.tolist(), [*events.times.tolist()[1:], 10**6], strict=True):
        run.feed(1, now)
        run.restore(now, random)
        run.feed(0, following)
        run.restore(following, random)
    run.feed(0, 10**6, final=True)
    return run.rows


def run_at_random(programs: tuple[WindowProgram, ...], events: WindowEvents, random: Random) -> list[list[Row]]:
    run, fed, times = Run(programs, events), 0, events.times.tolist()
    while True:
        count = min(len(times) - fed, random.randint(0, 6))
        fed += count
        least = times[fed - 1] if fed else times[0]
        horizon = random.randint(least, times[fed] if fed < len(times) else least + 100)
        final = fed == len(times) and random.random() < 0.5
        run.feed(count, horizon, final=final)
        if final:
            return run.rows
        if random.random() < 0.4:
            run.restore(horizon, random)


RUNS: tuple[Callable[[tuple[WindowProgram, ...], WindowEvents], list[list[Row]]], ...] = (
    run_whole,
    run_one_by_one,
    run_ahead,
    run_restored,
)
