"""Joins of streams: worked examples on both twins, then compiled = reference on random events, however they are cut.

An event of a step_list is its time, the number of its input, its key and its partition: "3 0 k p"; "-" is a null key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.join import CompiledJoin
from cepheid.kernel.join import Accept, JoinEvents, JoinInput, JoinProgram, JoinRows
from cepheid.kernel.reference.join import ReferenceJoin

LAST = JoinInput(kind="count", size=2)
SPAN = JoinInput(kind="time", size=10)
ENDLESS = JoinInput(kind="count")


def join(*inputs: JoinInput, preserved: tuple[bool, ...] | None = None, **more: Any) -> JoinProgram:
    return JoinProgram(inputs=inputs, preserved=preserved or (False,) * len(inputs), **more)


def step_list(*lines: str) -> JoinEvents:
    fields = [line.split() for line in lines]
    times, streams = ([int(field[place]) for field in fields] for place in (0, 1))
    keys = [-1 if field[2] == "-" else ord(field[2]) - ord("a") for field in fields]
    partitions = [ord(field[3]) - ord("a") if len(field) > 3 else 0 for field in fields]
    return JoinEvents(*(np.array(column, dtype=np.int64) for column in (times, keys, streams, partitions)))


def both(program: JoinProgram, events: JoinEvents, accept: Accept | None = None) -> list[tuple[int, ...]]:
    """The rows by hand-made events, which both twins must agree on."""
    compiled = CompiledJoin((program,)).step(events, 0, final=True, accepts=(accept,))[0]
    expected = ReferenceJoin(program).step(events, final=True, accept=accept)
    assert compiled.rows.tolist() == expected.rows.tolist()
    assert compiled.moments.tolist() == expected.moments.tolist()
    return [tuple(row) for row in compiled.rows.tolist()]


def test_count_windows_hold_the_last_events_of_their_input() -> None:
    events = step_list("0 0 k", "1 1 k", "2 0 k", "3 0 m", "4 1 k")
    assert both(join(LAST, LAST), events) == [(0, 1), (2, 1), (2, 4)]


def test_time_window_has_lost_an_event_of_just_its_size_ago() -> None:
    events = step_list("0 0 k", "1 0 k", "10 1 k", "11 1 k")
    assert both(join(SPAN, SPAN), events) == [(1, 2)]
    inclusive = replace(SPAN, inclusive=True)
    assert both(join(inclusive, SPAN), events) == [(0, 2), (1, 2), (1, 3)]


def test_partners_come_oldest_first_and_leftmost_input_slowest() -> None:
    events = step_list("0 0 k", "0 1 k", "1 0 k", "1 1 k", "2 2 k")
    expected = [(0, 1, 4), (0, 3, 4), (2, 1, 4), (2, 3, 4)]
    assert both(join(ENDLESS, ENDLESS, ENDLESS), events) == expected


def test_trigger_in_the_middle_joins_left_and_right() -> None:
    events = step_list("0 0 k", "0 2 k", "1 0 k", "1 2 k", "2 1 k", "3 1 -")
    expected = [(0, 4, 1), (0, 4, 3), (2, 4, 1), (2, 4, 3)]
    assert both(join(ENDLESS, ENDLESS, ENDLESS), events) == expected


def test_null_key_joins_nothing_but_counts() -> None:
    events = step_list("0 0 k", "1 0 -", "2 0 -", "3 1 k", "4 1 -", "5 0 k")
    assert both(join(LAST, ENDLESS), events) == [(5, 3)]


def test_partitions_count_by_themselves() -> None:
    one = JoinInput(kind="count", size=1, partitioned=True)
    events = step_list("0 0 k a", "1 0 k b", "2 0 k b", "3 0 k b", "4 1 k a", "5 0 m a", "6 1 k b")
    assert both(join(one, ENDLESS), events) == [(0, 4), (3, 4), (3, 6)]


def test_without_keys_the_whole_window_is_joined() -> None:
    events = step_list("0 0 a", "1 0 -", "2 0 b", "3 1 c")
    assert both(join(LAST, LAST, keyed=False), events) == [(1, 3), (2, 3)]
    assert both(join(LAST, LAST, keyed=False), events, lambda rows: rows[:, 0] == 2) == [(2, 3)]


def test_left_join_of_windows_gives_nulls_at_arrival() -> None:
    events = step_list("0 0 k", "1 1 k", "2 0 k", "3 0 -", "4 1 m")
    left, full = (True, False), (True, True)
    assert both(join(LAST, LAST, preserved=left), events) == [(0, -1), (0, 1), (2, 1), (3, -1)]
    assert both(join(LAST, LAST, preserved=full), events) == [(0, -1), (0, 1), (2, 1), (3, -1), (-1, 4)]


def test_left_join_of_windows_asks_the_condition_first() -> None:
    events = step_list("0 1 k", "1 1 k", "2 0 k", "3 0 k")
    program = join(LAST, LAST, preserved=(True, False))
    assert both(program, events, lambda rows: (rows[:, 0] == 3) & (rows[:, 1] == 1)) == [(2, -1), (3, 1)]


def interval(lo: int, hi: int, preserved: tuple[bool, ...]) -> JoinProgram:
    """y.ts BETWEEN x.ts - lo AND x.ts + hi."""
    x, y = (JoinInput(kind="time", size=size, inclusive=True) for size in (hi, lo))
    return join(x, y, preserved=preserved, outer="leaving")


def test_interval_join_tells_leavers_between_the_rows() -> None:
    events = step_list("0 0 k", "1 0 m", "6 1 m", "6 1 n", "7 1 k", "20 0 n")
    # x waits 5 for its partners: e0 until 5, e1 until 6; y waits 2: e3 until 8, e4 until 9.
    assert both(interval(2, 5, (True, False)), events) == [(0, -1), (1, 2), (5, -1)]
    assert both(interval(2, 5, (True, True)), events) == [(0, -1), (1, 2), (-1, 3), (-1, 4), (5, -1)]


def test_leavers_come_out_once_the_horizon_has_passed() -> None:
    operator = CompiledJoin((interval(2, 5, (True, True)),))
    nothing = step_list()
    assert len(operator.step(step_list("0 0 k", "1 0 m"), 1)[0]) == 0
    assert operator.is_waiting()
    assert len(operator.step(nothing, 5)[0]) == 0  # a partner of time 5 may still come
    told = operator.step(nothing, 6)[0]
    assert told.rows.tolist() == [[0, -1]]
    assert told.moments.tolist() == [5]
    assert operator.step(step_list("6 1 m"), 6)[0].rows.tolist() == [[1, 2]]
    assert not operator.is_waiting()
    assert len(operator.step(nothing, 0, final=True)[0]) == 0


def test_the_last_time_outlives_its_event() -> None:
    """What an endless window holds leaves at the time of the last event, even if a snapshot no longer has that one."""
    x, y = JoinInput(kind="time"), JoinInput(kind="time", size=2)
    program = join(x, y, preserved=(True, False), outer="leaving")
    operator = CompiledJoin((program,))
    events = step_list("0 0 k", "50 1 m")
    operator.step(events, 100)
    assert operator.needed(100).tolist() == [True, False]
    restored = CompiledJoin((program,))
    restored.restore(cut(events, 0, 1), operator.keep(100))
    rows = restored.step(step_list(), 100, final=True)[0]
    assert rows.rows.tolist() == [[0, -1]]
    assert rows.moments.tolist() == [50]


def test_interval_join_gives_the_rows_of_whole_tables() -> None:
    random = np.random.default_rng(7)
    for _ in range(20):
        events = make_events(random, 60, 2)
        lo, hi = random.integers(0, 6, 2).tolist()
        xs, ys = (np.flatnonzero(events.streams == number).tolist() for number in (0, 1))
        times, keys = events.times, events.keys
        expected = {
            (x, y) for x in xs for y in ys if keys[x] == keys[y] >= 0 and times[x] - lo <= times[y] <= times[x] + hi
        }
        expected |= {(x, -1) for x in xs if x not in {row[0] for row in expected}}
        expected |= {(-1, y) for y in ys if y not in {row[1] for row in expected}}
        rows = both(interval(lo, hi, (True, True)), events)
        assert len(rows) == len(set(rows))
        assert set(rows) == expected


def test_a_window_that_holds_nothing_is_refused() -> None:
    with pytest.raises(AssertionError, match="holds no event"):
        JoinInput(kind="count", size=0)
    with pytest.raises(AssertionError, match="matter of time"):
        join(LAST, LAST, preserved=(True, False), outer="leaving")


def test_what_left_the_windows_is_not_needed() -> None:
    operator = CompiledJoin((join(LAST, SPAN),))
    operator.step(step_list("0 0 a", "1 1 a", "2 0 a", "5 1 a", "6 0 a"), 14)
    assert operator.needed(14).tolist() == [False, False, True, True, True]
    assert operator.needed(15).tolist() == [False, False, True, False, True]


# -- compiled = reference --------------------------------------------------------------------------------------------


def make_events(random: np.random.Generator, count: int, inputs: int) -> JoinEvents:
    """Few keys, many equal times; in order of time, then input, then arrival."""
    times = np.cumsum(random.integers(0, 3, count) * (random.random(count) < 0.6))
    streams = random.integers(0, inputs, count)
    order = np.lexsort((streams, times))
    keys, partitions = random.integers(-1, 4, count), random.integers(0, 3, count)
    return JoinEvents(
        *(np.array(column, dtype=np.int64) for column in (times[order], keys, streams[order], partitions))
    )


def make_program(random: np.random.Generator, inputs: int, keyed: bool, outer: str) -> JoinProgram:
    windows = []
    for _ in range(inputs):
        kind = "time" if outer == "leaving" or random.random() < 0.4 else "count"
        size = None if random.random() < 0.15 else int(random.integers(1, 9))
        odd = bool(random.random() < 0.5)
        windows.append(
            JoinInput(kind=kind, size=size, partitioned=odd and kind == "count", inclusive=odd and kind == "time")
        )
    preserved = tuple((random.random(inputs) < 0.6).tolist()) if inputs == 2 else (False,) * inputs
    return JoinProgram(inputs=tuple(windows), preserved=preserved, outer=outer, keyed=keyed)


def make_accept(random: np.random.Generator, count: int) -> Accept | None:
    """A condition over all events of a row, or none."""
    if random.random() < 0.4:
        return None
    weights = random.integers(0, 100, count)
    return lambda rows: weights[rows].sum(axis=1) % 3 == 0


def cut(events: JoinEvents, begin: int, end: int) -> JoinEvents:
    return JoinEvents(
        events.times[begin:end], events.keys[begin:end], events.streams[begin:end], events.partitions[begin:end]
    )


class Run:
    """One operator through cuts and restarts; events are told by their place among all events."""

    def __init__(self, programs: tuple[JoinProgram, ...], accepts: list[Accept | None], candidates: int) -> None:
        self._programs = programs
        self._accepts = accepts
        self._candidates = candidates
        self._operator = CompiledJoin(programs, candidates)
        self._places: Int64s = np.zeros(0, dtype=np.int64)
        self._floor: int | None = None
        self.told: list[list[JoinRows]] = [[] for _ in programs]

    def step(self, events: JoinEvents, begin: int, end: int, horizon: int, final: bool) -> None:
        self._places = np.append(self._places, np.arange(begin, end))
        waited = self._operator.is_waiting()
        accepts = [None if accept is None else self._place_first(accept) for accept in self._accepts]
        for told, rows in zip(
            self.told, self._operator.step(cut(events, begin, end), horizon, final, accepts), strict=True
        ):
            assert waited or begin < end or final or not len(rows)
            assert self._floor is None or (rows.moments >= self._floor).all()
            told.append(JoinRows(self._place(rows.rows), rows.moments))
        self._floor = self._operator.floor(horizon)

    def restart(self, random: np.random.Generator, events: JoinEvents, horizon: int) -> None:
        needed = self._operator.needed(horizon)
        state = self._operator.keep(horizon)
        self._places = self._places[needed]
        keys, partitions = random.permutation(4), random.permutation(3)
        old = events.keys[self._places]
        kept = JoinEvents(
            events.times[self._places],
            np.where(old < 0, -1, keys[old]),
            events.streams[self._places],
            partitions[events.partitions[self._places]],
        )
        self._operator = CompiledJoin(self._programs, self._candidates)
        self._operator.restore(kept, state)
        events.keys[:] = np.where(events.keys < 0, -1, keys[events.keys])
        events.partitions[:] = partitions[events.partitions]

    def _place(self, rows: Int64s) -> Int64s:
        return np.where(rows < 0, -1, self._places[rows]) if len(rows) else rows

    def _place_first(self, accept: Accept) -> Accept:
        def placed(rows: Int64s) -> npt.NDArray[np.bool_]:
            assert len(rows) <= self._candidates
            assert (rows >= 0).all()
            return accept(self._places[rows])

        return placed


def compare(random: np.random.Generator, programs: tuple[JoinProgram, ...], count: int, restarts: bool) -> int:
    """Gives how many rows there were."""
    events = make_events(random, count, len(programs[0].inputs))
    accepts = [make_accept(random, count) for _ in programs]
    expected = [
        ReferenceJoin(program).step(events, final=True, accept=accept)
        for program, accept in zip(programs, accepts, strict=True)
    ]
    run = Run(programs, accepts, int(random.choice([1, 7, 1000])) * len(programs))
    done, final = 0, False
    horizon = int(events.times[0]) - 5
    while done < count:
        begin, done = done, min(count, done + int(random.integers(0, 12)))
        earliest = max(horizon, int(events.times[done - 1]) if done else horizon)
        latest = int(events.times[done]) if done < count else int(events.times[-1]) + 9
        horizon = int(random.integers(earliest, latest + 1))
        final = done == count and bool(random.random() < 0.5)
        run.step(events, begin, done, horizon, final)
        if restarts and not final and random.random() < 0.4:
            run.restart(random, events, horizon)
    if not final:
        run.step(events, count, count, horizon, True)
    for told, rows in zip(run.told, expected, strict=True):
        assert np.concatenate([piece.rows for piece in told]).tolist() == rows.rows.tolist()
        assert np.concatenate([piece.moments for piece in told]).tolist() == rows.moments.tolist()
    return sum(len(rows) for rows in expected)


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("outer", ["arrival", "leaving"])
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "theta"])
@pytest.mark.parametrize("inputs", [2, 3])
def test_compiled_equals_reference_however_events_are_cut(inputs: int, keyed: bool, outer: str, restarts: bool) -> None:
    random = np.random.default_rng([inputs, keyed, outer == "leaving", restarts])
    rows = 0
    for _ in range(80):
        programs = tuple(make_program(random, inputs, keyed, outer) for _ in range(int(random.integers(1, 4))))
        count = int(random.integers(1, 80 if inputs == 2 else 50))
        rows += compare(random, programs, count, restarts)
    assert rows > 400


def test_programs_of_both_manners_share_one_operator() -> None:
    random = np.random.default_rng(11)
    for _ in range(60):
        programs = tuple(make_program(random, 2, True, outer) for outer in ("leaving", "arrival", "leaving"))
        assert compare(random, programs, 70, restarts=True)


def test_more_partners_than_expected() -> None:
    """One event with 1,000 partners of each other input: lists grow, and candidates are settled piece by piece."""
    sizes = (1000, 30, 1)
    streams = np.repeat(np.arange(3), sizes)
    numbers = np.zeros(len(streams), dtype=np.int64)
    events = JoinEvents(np.arange(len(streams)), numbers, streams, numbers)
    pieces: list[int] = []

    def accept(rows: Int64s) -> npt.NDArray[np.bool_]:
        pieces.append(len(rows))
        return rows[:, 0] % 10 == 0

    operator = CompiledJoin((join(ENDLESS, ENDLESS, ENDLESS),), candidates=4096)
    rows = operator.step(events, 0, final=True, accepts=(accept,))[0].rows
    assert sum(pieces) == 30_000
    assert max(pieces) <= 4096
    assert rows.tolist() == [[x, y, 1030] for x in range(0, 1000, 10) for y in range(1000, 1030)]


def test_events_lent_by_arrow_may_be_read_only() -> None:
    events = step_list("0 0 k", "1 1 k")
    for column in (events.times, events.keys, events.streams, events.partitions):
        column.flags.writeable = False
    assert both(join(LAST, LAST), events) == [(0, 1)]


def test_expired_events_of_busy_partitions_are_walked_once() -> None:
    """The chain of a key holds what is in a window, not all that ever was: else walks would grow with history."""
    one = JoinInput(kind="count", size=1, partitioned=True)
    count = 2000
    streams = np.arange(count) % 2
    numbers = np.zeros(count, dtype=np.int64)
    operator = CompiledJoin((join(one, one),))
    rows = operator.step(JoinEvents(np.arange(count), numbers, streams, numbers), 0, final=True)[0]
    assert len(rows) == count - 1
    chain, event = [], int(operator._ends.heads[0, 0])
    while event >= 0:
        chain.append(event)
        event = int(operator._log.links[event])
    assert len(chain) <= 2
