"""The compiled window operator, against rows calculated by hand from docs/reference/windows.md.

The stream of most tests: five events in two groups; x doubles, so that a sum tells which events are in it.

    event  0   1   2   3   4
    time   1   3   4   9   12
    group  0   1   0   1   0
    x      1   2   4   8   16
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cepheid.kernel.compiled.window_rows as window_rows
from cepheid.kernel.columns import Interner
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowEvents, WindowProgram

sys.path.append(str(Path(__file__).parent))  # the ways to run lie beside this file
from window_runs import RUNS, Row, Run, make_events, run_whole

COUNT = WindowedAggregate(function="count")
SUM = WindowedAggregate(function="sum", column="x", column_kind="int")
LIST = WindowedAggregate(function="array_agg", column="x", column_kind="int")
TIMES = [1, 3, 4, 9, 12]
X = [1, 2, 4, 8, 16]
STREAM = make_events(
    TIMES, [0] * 5, [[0, 1, 0, 1, 0]], x=X, p=[0, 1, None, 1, 0], r=[1, 1, 0, 1, 0], q=[0, 0, 1, 0, None]
)

ON_EVENT, ON_EXPIRY, ON_CLOSE = (Evaluation(when=when) for when in ("event", "expiry", "close"))


def every(time: int) -> Evaluation:
    return Evaluation(when="time", every=time)


def every_events(count: int) -> Evaluation:
    return Evaluation(when="count", every=count)


SLIDING_TIME = Window(kind="time", size=5)
SLIDING_COUNT = Window(kind="count", size=2)
HOPPING_TIME = Window(kind="time", size=10, slide=5)
JUMPING_TIME = Window(kind="time", size=5, slide=5)
HOPPING_COUNT = Window(kind="count", size=3, slide=2)
JUMPING_COUNT = Window(kind="count", size=2, slide=2)
LANDMARK = Window(kind="count")
SESSION = Window(kind="session", size=3)
SEMANTIC = Window(kind="semantic", opens="p", closes="q")
HOPPING_SEMANTIC = Window(kind="semantic", opens="r", closes="q", slide=1)
FROM_P = Window(kind="semantic", opens="p")

Expected = tuple[int, int, int, int, int, int | None]
"""moment, group, start, end, count, sum"""

CASES: list[tuple[Window, Evaluation, list[Expected]]] = [
    (SLIDING_TIME, ON_EVENT, [
        (1, 0, -4, 1, 1, 1), (3, 1, -2, 3, 1, 2), (4, 0, -1, 4, 2, 5), (9, 1, 4, 9, 1, 8), (12, 0, 7, 12, 1, 16),
    ]),
    (SLIDING_TIME, ON_EXPIRY, [(6, 0, 1, 6, 1, 4), (8, 1, 3, 8, 0, None), (9, 0, 4, 9, 0, None)]),
    (SLIDING_TIME, ON_CLOSE, [(12, 0, 7, 12, 1, 16), (12, 1, 7, 12, 1, 8)]),
    (SLIDING_TIME, every(5), [(5, 0, 0, 5, 2, 5), (5, 1, 0, 5, 1, 2), (10, 1, 5, 10, 1, 8), (15, 0, 10, 15, 1, 16)]),
    (SLIDING_TIME, every_events(2), [(3, 0, -2, 3, 1, 1), (3, 1, -2, 3, 1, 2), (9, 1, 4, 9, 1, 8)]),
    (SLIDING_COUNT, ON_EVENT, [
        (1, 0, 1, 1, 1, 1), (3, 1, 1, 3, 1, 2), (4, 0, 3, 4, 1, 4), (9, 1, 4, 9, 1, 8), (12, 0, 9, 12, 1, 16),
    ]),
    (SLIDING_COUNT, ON_EXPIRY, [(4, 0, 3, 4, 1, 4), (9, 1, 4, 9, 1, 8), (12, 0, 9, 12, 1, 16)]),
    (SLIDING_COUNT, ON_CLOSE, [(12, 0, 9, 12, 1, 16), (12, 1, 9, 12, 1, 8)]),
    (SLIDING_COUNT, every(5), [
        (5, 0, 3, 4, 1, 4), (5, 1, 3, 4, 1, 2), (10, 0, 4, 9, 1, 4), (10, 1, 4, 9, 1, 8), (15, 0, 9, 12, 1, 16),
        (15, 1, 9, 12, 1, 8),
    ]),
    (SLIDING_COUNT, every_events(2), [(3, 0, 1, 3, 1, 1), (3, 1, 1, 3, 1, 2), (9, 0, 4, 9, 1, 4), (9, 1, 4, 9, 1, 8)]),
    (HOPPING_TIME, ON_EVENT, [
        (1, 0, -5, 5, 1, 1), (1, 0, 0, 10, 1, 1), (3, 1, -5, 5, 1, 2), (3, 1, 0, 10, 1, 2), (4, 0, -5, 5, 2, 5),
        (4, 0, 0, 10, 2, 5),
        (9, 1, 0, 10, 2, 10), (9, 1, 5, 15, 1, 8), (12, 0, 5, 15, 1, 16), (12, 0, 10, 20, 1, 16),
    ]),
    (HOPPING_TIME, ON_EXPIRY, [(10, 0, 0, 10, 0, None), (10, 1, 0, 10, 1, 8)]),
    (HOPPING_TIME, ON_CLOSE, [
        (5, 0, -5, 5, 2, 5), (5, 1, -5, 5, 1, 2), (10, 0, 0, 10, 2, 5), (10, 1, 0, 10, 2, 10), (15, 0, 5, 15, 1, 16),
        (15, 1, 5, 15, 1, 8),
        (20, 0, 10, 20, 1, 16),
    ]),
    (HOPPING_TIME, every(5), [(5, 0, 0, 10, 2, 5), (5, 1, 0, 10, 1, 2), (10, 1, 5, 15, 1, 8), (15, 0, 10, 20, 1, 16)]),
    (HOPPING_TIME, every_events(2), [
        (3, 0, -5, 5, 1, 1), (3, 1, -5, 5, 1, 2), (3, 0, 0, 10, 1, 1), (3, 1, 0, 10, 1, 2), (9, 0, 0, 10, 2, 5),
        (9, 1, 0, 10, 2, 10),
        (9, 1, 5, 15, 1, 8),
    ]),
    (JUMPING_TIME, ON_EVENT, [
        (1, 0, 0, 5, 1, 1), (3, 1, 0, 5, 1, 2), (4, 0, 0, 5, 2, 5), (9, 1, 5, 10, 1, 8), (12, 0, 10, 15, 1, 16),
    ]),
    (JUMPING_TIME, ON_EXPIRY, [(5, 0, 0, 5, 0, None), (5, 1, 0, 5, 0, None), (10, 1, 5, 10, 0, None)]),
    (JUMPING_TIME, ON_CLOSE, [(5, 0, 0, 5, 2, 5), (5, 1, 0, 5, 1, 2), (10, 1, 5, 10, 1, 8), (15, 0, 10, 15, 1, 16)]),
    (JUMPING_TIME, every(4), [(4, 0, 0, 5, 2, 5), (4, 1, 0, 5, 1, 2), (12, 0, 10, 15, 1, 16)]),
    (JUMPING_TIME, every_events(2), [(3, 0, 0, 5, 1, 1), (3, 1, 0, 5, 1, 2), (9, 1, 5, 10, 1, 8)]),
    (HOPPING_COUNT, ON_EVENT, [
        (1, 0, 1, 1, 1, 1), (3, 1, 1, 3, 1, 2), (4, 0, 1, 4, 2, 5), (4, 0, 4, 4, 1, 4), (9, 1, 4, 9, 1, 8),
        (12, 0, 4, 12, 2, 20),
        (12, 0, 12, 12, 1, 16),
    ]),
    (HOPPING_COUNT, ON_EXPIRY, [
        (4, 0, 1, 4, 1, 4), (4, 1, 1, 4, 0, None), (12, 0, 4, 12, 1, 16), (12, 1, 4, 12, 0, None),
    ]),
    (HOPPING_COUNT, ON_CLOSE, [
        (4, 0, 1, 4, 2, 5), (4, 1, 1, 4, 1, 2), (12, 0, 4, 12, 2, 20), (12, 1, 4, 12, 1, 8), (12, 0, 12, 12, 1, 16),
    ]),
    (HOPPING_COUNT, every(5), [(5, 0, 4, 4, 1, 4), (10, 0, 4, 9, 1, 4), (10, 1, 4, 9, 1, 8), (15, 0, 12, 12, 1, 16)]),
    (HOPPING_COUNT, every_events(3), [(4, 0, 1, 4, 2, 5), (4, 1, 1, 4, 1, 2), (4, 0, 4, 4, 1, 4)]),
    (JUMPING_COUNT, ON_EVENT, [
        (1, 0, 1, 1, 1, 1), (3, 1, 1, 3, 1, 2), (4, 0, 4, 4, 1, 4), (9, 1, 4, 9, 1, 8), (12, 0, 12, 12, 1, 16),
    ]),
    (JUMPING_COUNT, ON_EXPIRY, [
        (3, 0, 1, 3, 0, None), (3, 1, 1, 3, 0, None), (9, 0, 4, 9, 0, None), (9, 1, 4, 9, 0, None),
    ]),
    (JUMPING_COUNT, ON_CLOSE, [
        (3, 0, 1, 3, 1, 1), (3, 1, 1, 3, 1, 2), (9, 0, 4, 9, 1, 4), (9, 1, 4, 9, 1, 8), (12, 0, 12, 12, 1, 16),
    ]),
    (JUMPING_COUNT, every(5), [(5, 0, 4, 4, 1, 4), (15, 0, 12, 12, 1, 16)]),
    (JUMPING_COUNT, every_events(3), [(4, 0, 4, 4, 1, 4)]),
    (LANDMARK, ON_EVENT, [
        (1, 0, 1, 1, 1, 1), (3, 1, 1, 3, 1, 2), (4, 0, 1, 4, 2, 5), (9, 1, 1, 9, 2, 10), (12, 0, 1, 12, 3, 21),
    ]),
    (LANDMARK, ON_EXPIRY, []),
    (LANDMARK, ON_CLOSE, [(12, 0, 1, 12, 3, 21), (12, 1, 1, 12, 2, 10)]),
    (LANDMARK, every(10), [(10, 0, 1, 9, 2, 5), (10, 1, 1, 9, 2, 10), (20, 0, 1, 12, 3, 21), (20, 1, 1, 12, 2, 10)]),
    (LANDMARK, every_events(4), [(9, 0, 1, 9, 2, 5), (9, 1, 1, 9, 2, 10)]),
    (SESSION, ON_EVENT, [
        (1, 0, 1, 4, 1, 1), (3, 1, 1, 6, 1, 2), (4, 0, 1, 7, 2, 5), (9, 1, 9, 12, 1, 8), (12, 0, 9, 15, 1, 16),
    ]),
    (SESSION, ON_EXPIRY, [(7, 0, 1, 7, 0, None), (7, 1, 1, 7, 0, None)]),
    (SESSION, ON_CLOSE, [(7, 0, 1, 7, 2, 5), (7, 1, 1, 7, 1, 2), (15, 0, 9, 15, 1, 16), (15, 1, 9, 15, 1, 8)]),
    (SESSION, every(5), [
        (5, 0, 1, 7, 2, 5), (5, 1, 1, 7, 1, 2), (10, 1, 9, 12, 1, 8), (15, 0, 9, 15, 1, 16), (15, 1, 9, 15, 1, 8),
    ]),
    (SESSION, every_events(2), [(3, 0, 1, 6, 1, 1), (3, 1, 1, 6, 1, 2), (9, 1, 9, 12, 1, 8)]),
    (SEMANTIC, ON_EVENT, [(3, 1, 3, 3, 1, 2), (4, 0, 3, 4, 1, 4), (9, 1, 9, 9, 1, 8), (12, 0, 9, 12, 1, 16)]),
    (SEMANTIC, ON_EXPIRY, [(4, 0, 3, 4, 0, None), (4, 1, 3, 4, 0, None)]),
    (SEMANTIC, ON_CLOSE, [(4, 0, 3, 4, 1, 4), (4, 1, 3, 4, 1, 2), (12, 0, 9, 12, 1, 16), (12, 1, 9, 12, 1, 8)]),
    (SEMANTIC, every(5), [(10, 1, 9, 9, 1, 8), (15, 0, 9, 12, 1, 16), (15, 1, 9, 12, 1, 8)]),
    (SEMANTIC, every_events(2), [(3, 1, 3, 3, 1, 2), (9, 1, 9, 9, 1, 8)]),
    (HOPPING_SEMANTIC, ON_EVENT, [
        (1, 0, 1, 1, 1, 1), (3, 1, 1, 3, 1, 2), (3, 1, 3, 3, 1, 2), (4, 0, 1, 4, 2, 5), (4, 0, 3, 4, 1, 4),
        (9, 1, 9, 9, 1, 8),
        (12, 0, 9, 12, 1, 16),
    ]),
    (HOPPING_SEMANTIC, ON_EXPIRY, [(4, 0, 1, 4, 0, None), (4, 1, 1, 4, 0, None)]),
    (HOPPING_SEMANTIC, ON_CLOSE, [
        (4, 0, 1, 4, 2, 5), (4, 1, 1, 4, 1, 2), (4, 0, 3, 4, 1, 4), (4, 1, 3, 4, 1, 2), (12, 0, 9, 12, 1, 16),
        (12, 1, 9, 12, 1, 8),
    ]),
    (HOPPING_SEMANTIC, every(5), [(10, 1, 9, 9, 1, 8), (15, 0, 9, 12, 1, 16), (15, 1, 9, 12, 1, 8)]),
    (HOPPING_SEMANTIC, every_events(3), [
        (4, 0, 1, 4, 2, 5), (4, 1, 1, 4, 1, 2), (4, 0, 3, 4, 1, 4), (4, 1, 3, 4, 1, 2),
    ]),
    (FROM_P, ON_EVENT, [(3, 1, 3, 3, 1, 2), (4, 0, 3, 4, 1, 4), (9, 1, 3, 9, 2, 10), (12, 0, 3, 12, 2, 20)]),
    (FROM_P, ON_EXPIRY, []),
    (FROM_P, ON_CLOSE, [(12, 0, 3, 12, 2, 20), (12, 1, 3, 12, 2, 10)]),
    (FROM_P, every(10), [(10, 0, 3, 9, 1, 4), (10, 1, 3, 9, 2, 10), (20, 0, 3, 12, 2, 20), (20, 1, 3, 12, 2, 10)]),
    (FROM_P, every_events(2), [(3, 1, 3, 3, 1, 2), (9, 0, 3, 9, 1, 4), (9, 1, 3, 9, 2, 10)]),
]  # fmt: skip


def run_rows(run: Callable[..., list[list[Row]]], program: WindowProgram, events: WindowEvents = STREAM) -> list[Row]:
    """Rows of one program; those of one evaluation in no particular order."""
    (rows,) = run((program,), events)
    return sorted(rows, key=lambda row: (row.evaluation, row.start, row.group, row.event, row.sign))


def show(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row.moment, row.group, row.start, row.end, *row.values) for row in rows]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("with_list", [False, True], ids=["parts", "events"])
@pytest.mark.parametrize(("window", "evaluation", "expected"), CASES)
def test_rows_calculated_by_hand(
    window: Window,
    evaluation: Evaluation,
    expected: list[Expected],
    with_list: bool,
    run: Callable[..., list[list[Row]]],
) -> None:
    """With a list among the aggregates events are kept, without it parts of sums will do."""
    program = WindowProgram(
        window=window, evaluation=evaluation, aggregates=(COUNT, SUM, LIST) if with_list else (COUNT, SUM)
    )
    rows = run_rows(run, program)
    assert [row[:6] for row in show(rows)] == expected
    for row in rows if with_list else ():
        assert (row.values[2] or ()) == tuple(x for x in X if (row.values[1] or 0) & x)
    looked_at = [(row.evaluation, row.moment) for row in rows]
    assert looked_at == sorted(looked_at)


@pytest.mark.parametrize("room", [16, 64])
def test_sheets_of_any_size_give_the_same_rows(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_rows, "ROOM", room)
    for window, evaluation, expected in CASES:
        for aggregates in ((COUNT, SUM), (COUNT, SUM, LIST)):
            program = WindowProgram(window=window, evaluation=evaluation, aggregates=aggregates)
            assert [row[:6] for row in show(run_rows(run_whole, program))] == expected


@pytest.mark.parametrize(
    ("window", "evaluation", "expected"),
    [
        (SLIDING_COUNT, ON_EVENT, [0, 1, 2, 3, 4]),
        (SLIDING_COUNT, ON_EXPIRY, [2, 3, 4]),
        (SLIDING_TIME, ON_EXPIRY, [-1, -1, -1]),
        (HOPPING_COUNT, ON_CLOSE, [2, 2, 4, 4, -1]),
        (SEMANTIC, ON_CLOSE, [2, 2, -1, -1]),
        (SESSION, ON_CLOSE, [-1] * 4),
        (SESSION, every_events(2), [1, 1, 3]),
        (JUMPING_TIME, every(4), [-1, -1, -1]),
    ],
)
def test_rows_name_the_event_at_which_they_came_out(
    window: Window, evaluation: Evaluation, expected: list[int]
) -> None:
    program = WindowProgram(window=window, evaluation=evaluation, aggregates=(COUNT,))
    assert [row.event for row in run_rows(run_whole, program)] == expected


@pytest.mark.parametrize("run", RUNS)
def test_each_key_has_windows_and_looks_of_its_own(run: Callable[..., list[list[Row]]]) -> None:
    """Key 1 is silent from 2 to 30: its look at 20 would be told when it comes back, but its window is empty then."""
    events = make_events([1, 2, 12, 30, 31], [0, 1, 0, 1, 0], [[0, 1, 0, 1, 0]], x=X)
    program = WindowProgram(window=Window(kind="time", size=15), evaluation=every(10), aggregates=(COUNT, SUM))
    rows = sorted(run_rows(run, program, events), key=lambda row: (row.group, row.moment))
    assert show(rows) == [
        (10, 0, -5, 10, 1, 1), (20, 0, 5, 20, 1, 4), (40, 0, 25, 40, 1, 16), (10, 1, -5, 10, 1, 2),
        (30, 1, 15, 30, 1, 8),
    ]  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
def test_an_event_leaves_when_those_of_that_moment_are_in(run: Callable[..., list[list[Row]]]) -> None:
    events = make_events([1, 6, 6], [0] * 3, [[0] * 3], x=[1, 2, 4])
    program = WindowProgram(window=SLIDING_TIME, evaluation=ON_EXPIRY, aggregates=(COUNT, SUM))
    assert show(run_rows(run, program, events)) == [(6, 0, 1, 6, 2, 6)]


@pytest.mark.parametrize("run", RUNS)
def test_peers_are_seen_together_and_the_frame_has_both_ends(run: Callable[..., list[list[Row]]]) -> None:
    events = make_events([1, 1, 6, 6, 7], [0] * 5, [[0] * 5], x=X)
    window = Window(kind="time", size=5, inclusive=True, peers=True)
    program = WindowProgram(window=window, evaluation=ON_EVENT, aggregates=(COUNT, SUM))
    assert show(run_rows(run, program, events)) == [
        (1, 0, -4, 1, 2, 3), (1, 0, -4, 1, 2, 3), (6, 0, 1, 6, 4, 15), (6, 0, 1, 6, 4, 15), (7, 0, 2, 7, 3, 28),
    ]  # fmt: skip
    since = WindowProgram(window=Window(kind="time", peers=True), evaluation=ON_EVENT, aggregates=(SUM,))
    assert [row.values for row in run_rows(run, since, events)] == [(3,), (3,), (15,), (15,), (31,)]


def members(window: Window, evaluation: Evaluation, **more: Any) -> WindowProgram:
    return WindowProgram(window=window, evaluation=evaluation, members=True, **more)


ALONE = make_events(TIMES, [0] * 5, [[0] * 5], x=X, p=[0, 1, 0, 1, 0], q=[0, 0, 1, 0, 0])


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("window", "evaluation", "expected"),
    [
        (SLIDING_TIME, ON_EVENT, [(1, 0), (3, 1), (4, 2), (9, 3), (12, 4)]),
        (SLIDING_TIME, ON_EXPIRY, [(6, 0), (8, 1), (9, 2)]),
        (SLIDING_COUNT, ON_CLOSE, [(12, 3), (12, 4)]),
        (SLIDING_TIME, every(5), [(5, 0), (5, 1), (5, 2), (10, 3), (15, 4)]),
        (JUMPING_COUNT, ON_CLOSE, [(3, 0), (3, 1), (9, 2), (9, 3), (12, 4)]),
        (JUMPING_TIME, ON_EXPIRY, [(5, 0), (5, 1), (5, 2), (10, 3)]),
        (SEMANTIC, ON_EVENT, [(3, 1), (4, 2), (9, 3), (12, 4)]),
    ],
)
def test_without_aggregates_rows_are_events(
    window: Window, evaluation: Evaluation, expected: list[tuple[int, int]], run: Callable[..., list[list[Row]]]
) -> None:
    rows = run_rows(run, members(window, evaluation), ALONE)
    assert [(row.moment, row.event) for row in rows] == expected


@pytest.mark.parametrize("run", RUNS)
def test_all_shows_the_whole_relation_at_every_event(run: Callable[..., list[list[Row]]]) -> None:
    program = WindowProgram(window=SLIDING_COUNT, evaluation=ON_EVENT, aggregates=(SUM,), shows="all")
    rows = [(row.evaluation, row.group, *row.values) for row in run_rows(run, program)]
    assert rows == [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 0, 4), (2, 1, 2), (3, 0, 4), (3, 1, 8), (4, 0, 16), (4, 1, 8)]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("window", "evaluation", "expected"),
    [
        (SLIDING_COUNT, ON_EVENT, [
            (1, 0, 1, 1), (3, 1, 1, 2), (4, 0, -1, 1), (4, 0, 1, 4), (9, 1, -1, 2), (9, 1, 1, 8), (12, 0, -1, 4),
            (12, 0, 1, 16),
        ]),
        (SLIDING_TIME, every(5), [
            (5, 0, 1, 5), (5, 1, 1, 2), (10, 0, -1, 5), (10, 1, -1, 2), (10, 1, 1, 8), (15, 0, 1, 16), (15, 1, -1, 8),
        ]),
        (JUMPING_COUNT, ON_CLOSE, [
            (3, 0, 1, 1), (3, 1, 1, 2), (9, 0, -1, 1), (9, 0, 1, 4), (9, 1, -1, 2), (9, 1, 1, 8), (12, 0, -1, 4),
            (12, 0, 1, 16),
            (12, 1, -1, 8),
        ]),
        (JUMPING_TIME, ON_EVENT, [
            (1, 0, 1, 1), (3, 1, 1, 2), (4, 0, -1, 1), (4, 0, 1, 5), (9, 0, -1, 5), (9, 1, -1, 2), (9, 1, 1, 8),
            (12, 0, 1, 16),
            (12, 1, -1, 8),
        ]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("with_list", [False, True], ids=["parts", "events"])
def test_changes_show_groups_as_they_were_and_as_they_are(
    window: Window,
    evaluation: Evaluation,
    expected: list[tuple[int, ...]],
    with_list: bool,
    run: Callable[..., list[list[Row]]],
) -> None:
    aggregates = (SUM, LIST) if with_list else (SUM,)
    program = WindowProgram(window=window, evaluation=evaluation, aggregates=aggregates, shows="changes")
    rows = run_rows(run, program)
    assert sorted((row.moment, row.group, row.sign, row.values[0]) for row in rows) == expected
    for row in rows if with_list else ():
        assert row.values[1] == tuple(x for x in X if row.values[0] & x)


@pytest.mark.parametrize("run", RUNS)
def test_members_that_enter_and_leave_are_changes(run: Callable[..., list[list[Row]]]) -> None:
    rows = run_rows(run, members(SLIDING_TIME, every(5), shows="changes"), ALONE)
    told = sorted((row.moment, row.event, row.sign) for row in rows)
    assert told == [
        (5, 0, 1),
        (5, 1, 1),
        (5, 2, 1),
        (10, 0, -1),
        (10, 1, -1),
        (10, 2, -1),
        (10, 3, 1),
        (15, 3, -1),
        (15, 4, 1),
    ]


@pytest.mark.parametrize("shows", ["concerned", "changes"])
@pytest.mark.parametrize(
    ("window", "evaluation"),
    [
        (SLIDING_TIME, every(1)),
        (SLIDING_TIME, ON_EXPIRY),
        (HOPPING_TIME, ON_CLOSE),
        (HOPPING_TIME, ON_EVENT),
        (JUMPING_TIME, every(1)),
        (SESSION, every(1)),
        (SEMANTIC, every(1)),
    ],
)
@pytest.mark.parametrize("aggregates", [(SUM,), (SUM, LIST)], ids=["parts", "events"])
def test_long_gaps_are_not_walked(
    window: Window, evaluation: Evaluation, shows: Any, aggregates: tuple[WindowedAggregate, ...]
) -> None:
    """Thirty years between two events: walking them by microseconds would not end."""
    late = 10**15
    events = make_events([1, 2, late, late + 1], [0] * 4, [[0] * 4], x=X[:4], p=[1, 0, 0, 0], q=[0, 1, 0, 0])
    program = WindowProgram(window=window, evaluation=evaluation, aggregates=aggregates, shows=shows)
    assert len(run_rows(run_whole, program, events)) < 50


def test_without_need_of_events_none_are_kept() -> None:
    programs = tuple(
        WindowProgram(window=window, evaluation=evaluation, aggregates=(COUNT, SUM))
        for window, evaluation in [
            (HOPPING_TIME, ON_CLOSE), (SLIDING_TIME, every(5)), (JUMPING_COUNT, ON_CLOSE), (SESSION, ON_CLOSE),
            (LANDMARK, ON_EVENT),
        ]
    )  # fmt: skip
    events = make_events(TIMES, [0] * 5, [[0, 1, 0, 1, 0]] * 5, x=X)
    run = Run(programs, events)
    for time in TIMES:
        run.feed(1, time)
        assert run.operator._store.count == 1
    assert not run.operator.needed(12).any()
    assert [row.event for row in run.rows[4]] == [0, 1, 2, 3, 4]


def test_events_that_no_window_can_hold_any_more_are_not_needed() -> None:
    run = Run((WindowProgram(window=SLIDING_TIME, evaluation=ON_EVENT, aggregates=(LIST,)),), STREAM)
    run.feed(5, 12)
    assert run.operator.needed(12).tolist() == [False, False, False, True, True]
    assert run.operator.needed(14).tolist() == [False, False, False, False, True]


def test_programs_share_a_store_and_part_their_groups() -> None:
    """Two programs see the same groups, until a batch gives them different ones."""
    program = WindowProgram(window=LANDMARK, evaluation=ON_EVENT, aggregates=(SUM, LIST))
    both = make_events([1, 2], [0, 0], [[0, 1]], x=[1, 2])
    operator = CompiledWindows((program, program), Interner())
    operator.step(WindowEvents(both.times, both.keys, (both.groups[0], both.groups[0]), both.columns), 2)
    operator.step(make_events([], [], [[], []], x=[]), 2)
    assert len(operator._store._groups) == 1
    parted = make_events([3, 4], [0, 0], [[0, 1], [1, 0]], x=[4, 8])
    first, second = operator.step(parted, 4)
    assert first.values[0].values.tolist() == [5, 10]  # type: ignore[union-attr]
    assert second.values[0].values.tolist() == [6, 9]  # type: ignore[union-attr]


def test_evaluations_are_numbered_on_after_a_restore() -> None:
    run = Run((WindowProgram(window=SLIDING_COUNT, evaluation=ON_EVENT, aggregates=(SUM,)),), STREAM)
    run.feed(3, 4)
    run.restore(4, Random(1))
    run.feed(2, 12, final=True)
    assert [row.evaluation for row in run.rows[0]] == [0, 1, 2, 3, 4]


def test_only_what_time_brings_about_is_waited_for() -> None:
    for window, evaluation, waits in [
        (SLIDING_COUNT, ON_EVENT, False), (JUMPING_TIME, ON_CLOSE, True), (JUMPING_TIME, ON_EVENT, False),
        (SESSION, ON_CLOSE, True), (SLIDING_TIME, every(5), True), (JUMPING_COUNT, ON_CLOSE, False),
    ]:  # fmt: skip
        run = Run((WindowProgram(window=window, evaluation=evaluation, aggregates=(SUM,)),), STREAM)
        run.feed(1, 1)
        assert run.operator.is_waiting() == waits


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("aggregates", [(SUM,), (SUM, LIST)], ids=["parts", "events"])
@pytest.mark.parametrize(
    ("window", "evaluation", "expected"),
    [
        (SLIDING_TIME, ON_EVENT, [(5, 1), (10, 2), (10, 6), (15, 8)]),
        (SLIDING_TIME, every(5), [(5, 1), (10, 6), (15, 8)]),
        (SLIDING_TIME, ON_EXPIRY, [(10, 6), (15, 8)]),
        (HOPPING_TIME, ON_CLOSE, [(10, 1), (15, 7), (20, 14), (25, 8)]),
        (HOPPING_TIME, ON_EXPIRY, [(15, 6)]),
        (JUMPING_TIME, ON_CLOSE, [(10, 1), (15, 6), (20, 8)]),
        (JUMPING_TIME, every(5), [(5, 1), (10, 6), (15, 8)]),
        (Window(kind="session", size=5), ON_CLOSE, [(20, 15)]),
        (Window(kind="session", size=4), ON_CLOSE, [(9, 1), (14, 6), (19, 8)]),
    ],
)
def test_events_on_the_edges_of_windows(
    window: Window,
    evaluation: Evaluation,
    expected: list[tuple[int, int]],
    aggregates: tuple[WindowedAggregate, ...],
    run: Callable[..., list[list[Row]]],
) -> None:
    events = make_events([5, 10, 10, 15], [0] * 4, [[0] * 4], x=X[:4])
    program = WindowProgram(window=window, evaluation=evaluation, aggregates=aggregates)
    assert [(row.moment, row.values[0]) for row in run_rows(run, program, events)] == expected
