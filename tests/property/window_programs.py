"""Random window programs with events for them: all windows, evaluations and aggregates; few values, ties and gaps.

The columns, and what they are there for:

    i, f, w, b, at, d   int, float with NaN and infinity, text, bool, time, duration; all with nulls
    plain, big          floats and ints that are never null; big: sums of a few leave 64 bits
    p, q                conditions that open and close semantic windows; null does not hold
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from cepheid.kernel.columns import Column, Int64s, Interner
from cepheid.kernel.expression import Kind
from cepheid.kernel.window import (
    Evaluation,
    PythonAggregate,
    Window,
    WindowedAggregate,
    WindowEvents,
    WindowProgram,
)

VALUES: dict[str, tuple[Kind, list[Any], float]] = {
    "i": ("int", [-7, -2, -1, 0, 1, 2, 3, 1000], 0.2),
    "f": ("float", [-1.5, -0.0, 0.0, 0.1, 0.2, 1.0, 2.5, 2.5, 1e9, float("nan"), float("inf"), float("-inf")], 0.2),
    "plain": ("float", [-1.5, 0.1, 0.2, 0.3, 1.0, 2.5, 1e6], 0.0),
    "big": ("int", [2**61, 2**61 + 1, 5, 2**62], 0.0),
    "w": ("string", ["", "a", "ab", "b", "B", "zz", "é"], 0.2),
    "b": ("bool", [True, False], 0.2),
    "at": ("time", [0, 1, 5, 1_767_225_600_000_001, -3], 0.2),
    "d": ("duration", [-5, -1, 0, 3, 4, 7_000_000], 0.2),
    "p": ("bool", [True, False, False], 0.1),
    "q": ("bool", [True, False, False], 0.1),
}
READ = ("i", "f", "plain", "w", "b", "at", "d")
NUMBERS = ("i", "f", "plain")
SAME_KIND: tuple[str, ...] = (
    "min", "max", "percentile_disc", "first", "last", "least", "greatest", "array_agg", "min_by", "max_by",
)  # fmt: skip
FUNCTIONS: tuple[str, ...] = (
    *SAME_KIND, "count", "sum", "avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop", "percentile_cont",
    "count_distinct", "python",
)  # fmt: skip


@dataclass(frozen=True)
class WindowCase:
    """groupings: for each program, which of the case's groupings it uses."""

    programs: tuple[WindowProgram, ...]
    groupings: tuple[int, ...]
    events: WindowEvents
    interner: Interner

    def tell(self) -> str:
        """What one needs to see it again."""
        lines = [repr(program) for program in self.programs]
        for number in range(len(self.events)):
            groups = [int(groups[number]) for groups in self.events.groups]
            cells = {
                name: column.values[number].item() if column.valid is None or column.valid[number] else None
                for name, column in self.events.columns.items()
            }
            lines.append(f"{number}: t={self.events.times[number]} key={self.events.keys[number]} {groups=} {cells}")
        return "\n".join(lines)


def make_window_case(seed: int, *, is_large: bool = False) -> WindowCase:
    """Large: more events and keys than anything has room for at the beginning."""
    random = Random(seed)
    interner = Interner()
    count = random.choice((0, 1, 5, 12, 25, 40, 60)) if not is_large else 1500
    most = random.choice((1, 2, 4)) if not is_large else 150
    keys = [random.randrange(most if random.random() < 0.9 else 1) for _ in range(count)]
    many = random.choice((1, 2, 3))
    by_key = _number_pairs([(key, 0) for key in keys])
    by_grouping = [by_key]  # no GROUP BY: the key is the group
    by_grouping += [_number_pairs([(key, random.randrange(many)) for key in keys]) for _ in range(2)]
    programs, groupings = [], []
    unit = random.choice((1, 1, 10, 1_000_000))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        program = make_program(random, unit)
        programs.append(program)
        grouping = 0 if program.members else random.randrange(3)
        groupings.append(grouping)
    events = WindowEvents(
        _make_times(random, count, unit),
        by_key,
        tuple(by_grouping[grouping] for grouping in groupings),
        {name: _make_column(random, name, count, interner) for name in VALUES},
    )
    return WindowCase(tuple(programs), tuple(groupings), events, interner)


def make_program(random: Random, unit: int) -> WindowProgram:
    evaluation = make_evaluation(random, unit)
    window = make_window(random, unit, evaluation)
    shows = random.choice(("concerned", "concerned", "all", "changes"))
    if random.random() < 0.2:
        return WindowProgram(window=window, evaluation=evaluation, members=True, shows=shows)
    # A program of which all functions can be merged takes other ways than one with a percentile.
    offered = (
        ("count", "sum", "avg", "min", "max", "first", "last", "max_by", "var_samp")
        if random.random() < 0.4
        else FUNCTIONS
    )
    aggregates = tuple(make_aggregate(random, random.choice(offered)) for _ in range(random.choice((1, 1, 2, 4))))
    return WindowProgram(window=window, evaluation=evaluation, aggregates=aggregates, shows=shows)


def make_evaluation(random: Random, unit: int) -> Evaluation:
    when = random.choice(("event", "expiry", "close", "time", "count"))
    every = {"time": random.choice((1, 2, 5, 7)) * unit, "count": random.choice((1, 2, 3, 7))}.get(when, 0)
    return Evaluation(when=when, every=every)


def make_window(random: Random, unit: int, evaluation: Evaluation) -> Window:
    size = random.choice((1, 2, 3, 5, 10))
    slide = random.randint(1, size)
    at_events = evaluation.when == "event" and random.random() < 0.4  # the frames of OVER
    scale = unit if random.random() < 0.8 else 1
    match random.choice(("time", "time", "count", "count", "session", "semantic", "semantic")):
        case "time":
            kept = random.choice((None, size * scale, size * scale, size * scale))
            inclusive, peers = at_events and kept is not None and random.random() < 0.5, at_events
            hops = random.random() < 0.6 and kept is not None and not at_events
            hop = max(slide * scale, size * scale // 20) if hops else None
            return Window(kind="time", size=kept, slide=hop, inclusive=inclusive, peers=peers)
        case "count":
            kept = random.choice((None, size, size, size))
            return Window(kind="count", size=kept, slide=slide if kept and size > 1 and random.random() < 0.6 else None)
        case "session":
            return Window(kind="session", size=size * scale)
        case _:
            closes = random.choice((None, "q", "q", "q"))
            return Window(
                kind="semantic", opens="p", closes=closes, slide=random.choice((None, 1, 2, 3)) if closes else None
            )


def make_aggregate(random: Random, function: str) -> WindowedAggregate:
    column: str | None = random.choice(READ)
    by = random.choice(READ) if function in ("min_by", "max_by") else None
    parameter = 0.0
    kind: Kind = "int"
    match function:
        case "sum":
            column = random.choice((*NUMBERS, "d", "big"))
            kind = VALUES[column][0]
        case "avg":
            column = random.choice((*NUMBERS, "d", "big"))
            kind = "duration" if column == "d" else "float"
        case "stddev_samp" | "stddev_pop" | "var_samp" | "var_pop":
            column, kind = random.choice(NUMBERS), "float"
        case "percentile_cont":
            column = random.choice((*NUMBERS, "at", "d"))
            kind = VALUES[column][0] if column in ("at", "d") else "float"
            parameter = random.choice((0.0, 0.1, 0.25, 0.5, 0.9, 1.0))
        case "count":
            column = random.choice((None, *READ))
        case "count_distinct" | "python":
            pass
        case _:
            kind = VALUES[column][0] if column else kind
            parameter = random.choice((0.0, 0.25, 0.5, 0.9, 1.0))
    if function in ("least", "greatest"):
        parameter = float(random.choice((1, 2, 3, 8)))
    return WindowedAggregate(
        function=function,
        column=column,
        column_kind=VALUES[column][0] if column else None,
        kind=kind,
        by=by,
        by_kind=VALUES[by][0] if by else None,
        parameter=parameter,
        python=random.choice(AGGREGATES) if function == "python" else None,
    )


def start_list() -> tuple[str, ...]:
    return ()


def append_value(state: tuple[str, ...], value: object) -> tuple[str, ...]:
    return (*state, repr(value))


def drop_value(state: tuple[str, ...], value: object) -> tuple[str, ...]:
    assert state[0] == repr(value), "the oldest leaves first"
    return state[1:]


def join_lists(older: tuple[str, ...], newer: tuple[str, ...]) -> tuple[str, ...]:
    return older + newer


def tell_list(state: tuple[str, ...]) -> str:
    return ", ".join(state)


# What they give tells which values they were given, and in which order.
AGGREGATES = (
    PythonAggregate(init=start_list, add=append_value, result=tell_list),
    PythonAggregate(init=start_list, add=append_value, result=tell_list, remove=drop_value),
    PythonAggregate(init=start_list, add=append_value, result=tell_list, merge=join_lists),
)


def take_events(events: WindowEvents, chosen: Int64s) -> WindowEvents:
    """Some of the events; programs that shared their groups still do."""
    taken = {id(groups): groups[chosen] for groups in events.groups}
    return WindowEvents(
        events.times[chosen],
        events.keys[chosen],
        tuple(taken[id(groups)] for groups in events.groups),
        {
            name: Column(column.values[chosen], None if column.valid is None else column.valid[chosen])
            for name, column in events.columns.items()
        },
    )


def _number_pairs(pairs: list[tuple[int, int]]) -> Int64s:
    """Small numbers, counted from 0 as they come."""
    numbers: dict[tuple[int, int], int] = {}
    return np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], dtype=np.int64)


def _make_times(random: Random, count: int, unit: int) -> Int64s:
    gaps = random.choice(((0, 1), (0, 0, 1, 2), (1,), (0, 1, 3, 20), (0, 1, 1, 4000), (0, 2, 5)))
    if count > 100:  # the reference walks through every tick
        gaps = random.choice(((0, 1), (0, 0, 0, 0, 5)))
    base = random.choice((0, -13, 1_767_225_600)) * unit + random.choice((0, 0, 1))
    steps = [random.choice(gaps) * random.choice((unit, unit, unit, 1)) for _ in range(count)]
    return base + np.cumsum(np.array(steps, dtype=np.int64))


def _make_column(random: Random, name: str, count: int, interner: Interner) -> Column:
    kind, offered, nulls = VALUES[name]
    values = [random.choice(offered) for _ in range(count)]
    if kind == "string":
        values = [interner.number_of(value) for value in values]
    valid = np.array([random.random() >= nulls for _ in range(count)], dtype=np.uint8)
    has_nulls = nulls > 0 and random.random() < 0.8
    return Column(np.array(values, dtype=np.float64 if kind == "float" else np.int64), valid if has_nulls else None)
