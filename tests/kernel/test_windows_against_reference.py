"""Compiled and reference windows tell the same rows: random programs, random cuts, snapshots in between."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cepheid.kernel.compiled.window_rows as window_rows
from cepheid.kernel.columns import Interner
from cepheid.kernel.reference.windows import ReferenceWindows
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowEvents, WindowProgram

sys.path.append(str(Path(__file__).parent))  # the ways to run lie beside this file
from window_runs import Row, make_events, read_rows, run_at_random, run_whole

CASES = 400
COUNT = WindowedAggregate(function="count")
SUM, MOST, FIRST, LIST = (
    WindowedAggregate(function=function, column="x", column_kind="int")
    for function in ("sum", "max", "first", "array_agg")
)


def make_window(random: Random) -> Window:
    size = random.choice([1, 2, 3, 4, 5, 6, 10, 12, 30])
    slide, openings = random.choice([size, random.randint(1, size)]), random.choice([None, 1, 2, 3])
    return random.choice(
        [
            Window(kind="time", size=size),
            Window(kind="time", size=size, inclusive=True, peers=random.random() < 0.5),
            Window(kind="count", size=size),
            Window(kind="time", size=size, slide=slide),
            Window(kind="count", size=size, slide=slide),
            Window(kind="time", peers=random.random() < 0.5),
            Window(kind="count"),
            Window(kind="session", size=size),
            Window(kind="semantic", opens="p"),
            Window(kind="semantic", opens="p", closes="q", slide=openings),
        ]
    )


def make_program(random: Random) -> WindowProgram:
    window = make_window(random)
    when: Any = "event" if window.peers else random.choice(["event", "expiry", "close", "time", "count"])
    members = random.random() < 0.25
    return WindowProgram(
        window=window,
        evaluation=Evaluation(when=when, every=random.choice([1, 2, 3, 5, 7, 20])),
        aggregates=() if members else random.choice([(COUNT, SUM), (SUM, MOST, FIRST, COUNT), (SUM, LIST)]),
        members=members,
        shows=random.choice(["concerned", "concerned", "all", "changes"]),
    )


def make_stream(random: Random, programs: tuple[WindowProgram, ...]) -> WindowEvents:
    """x doubles from event to event, so that a sum tells which ones are in it."""
    count, steps = random.randint(1, 50), random.choice([[0, 1], [0, 0, 1, 2, 3], [0, 1, 5, 40], [1, 100]])
    times = np.cumsum([random.randint(-20, 20)] + [random.choice(steps) for _ in range(count - 1)]).tolist()
    width = random.choice([1, 1, 2, 4])
    keys = [random.randrange(width) for _ in range(count)]
    groups = []
    for program in programs:
        each = random.choice([1, 2, 5])
        groups.append([key if program.members else key * each + random.randrange(each) for key in keys])
    opens = [random.choice([1, 0, 0, None]) for _ in range(count)]
    closes = [random.choice([1, 0, 0]) for _ in range(count)]
    return make_events(times, keys, groups, x=[1 << place for place in range(count)], p=opens, q=closes)


def by_evaluation(rows: list[Row], program: WindowProgram) -> list[Any]:
    """What came out at each evaluation, however evaluations are numbered and rows of one are ordered.

    Of changes the difference counts: a group may be told that was touched and is as it was.
    """
    looks: dict[int, list[Row]] = {}
    for row in rows:
        looks.setdefault(row.evaluation, []).append(row)
    if program.shows != "changes":
        return sorted(
            sorted((r.moment, r.group, r.event, r.start, r.end, repr(r.values)) for r in look)
            for look in looks.values()
        )
    differences = []
    for look in looks.values():
        difference: Counter[Any] = Counter()
        for row in look:
            difference[row.moment, row.group, row.event if program.members else repr(row.values)] += row.sign
        differences.append(sorted((told, sign) for told, sign in difference.items() if sign))
    return sorted(difference for difference in differences if difference)


@pytest.mark.parametrize("part", range(4))
def test_random_programs_agree_with_the_reference(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(part, CASES, 4):
        random = Random(seed)
        programs = tuple(make_program(random) for _ in range(random.choice([1, 1, 2, 3])))
        events = make_stream(random, programs)
        monkeypatch.setattr(window_rows, "ROOM", random.choice([1 << 16, 32, 64]))
        told = run_at_random(programs, events, random) if random.random() < 0.7 else run_whole(programs, events)
        expected = ReferenceWindows(programs, Interner()).step(events, 0, True)
        places = range(len(events))
        for program, rows, reference in zip(programs, told, expected, strict=True):
            known = read_rows(reference, places, np.arange(64))
            assert by_evaluation(rows, program) == by_evaluation(known, program), f"seed {seed}: {program}"
