"""Joins of streams, compiled: the operator.

    events ─▶ advance: candidates ─▶ accept (the caller: the rest of the condition) ─▶ settle: rows

Several programs over the same events (the same query with windows of other sizes, say) share one log and one set of
chains.  How partners are found is written in join_advance.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.event_time import BEGINNING
from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled.cell_store import GrowingRows
from cepheid.kernel.compiled.join_advance import (
    COUNT,
    DONE,
    ENDLESS,
    EVENT,
    NEEDS_WIDTH,
    NEVER,
    NOTHING,
    PARTITIONED,
    TIME,
    Arrivals,
    Ends,
    Found,
    JoinScratch,
    Log,
    Plan,
    advance,
    settle,
)
from cepheid.kernel.join import Accept, JoinEvents, JoinInput, JoinProgram, JoinRows, last_chance

CANDIDATES = 1 << 20
"""How many candidates wait to be settled at most, of all programs together: 16 MB for two inputs."""

_WIDTH = 64  # partners of one event that there is room for at first


class CompiledJoin:
    """The operator: feed it events in order, get the rows they complete, for each program.

    The programs have the same inputs, and all of them are keyed or none is.
    """

    def __init__(self, programs: tuple[JoinProgram, ...], candidates: int = CANDIDATES) -> None:
        assert programs, "a join has a program"
        assert len({(len(program.inputs), program.keyed) for program in programs}) == 1, "programs share chains"
        self._programs = programs
        self._plan = _tabulate(programs)
        self._counts_partitions = bool(self._plan.widest.any())
        inputs = len(programs[0].inputs)
        self._longs = GrowingRows(5 if self._counts_partitions else 3, np.int64)
        self._streams = GrowingRows(1, np.uint8)
        self._matched = GrowingRows(max(1, sum(program.emits_leavers for program in programs)), np.uint8)
        self._ends = Ends(
            _nothing((64, inputs)),
            _nothing(inputs),
            _nothing(inputs),
            np.zeros(inputs, dtype=np.int64),
            np.zeros((64, inputs), dtype=np.int64),
        )
        shape = (len(programs), inputs)
        self._scratch = JoinScratch(
            gone=_nothing(shape),
            gone_counts=np.zeros(shape, dtype=np.int64),
            reported=_nothing(shape),
            triggers=_nothing(len(programs)),
            gathered=np.empty((inputs, _WIDTH), dtype=np.int64),
            gathered_counts=np.zeros(inputs, dtype=np.int64),
            chosen=np.empty((inputs, _WIDTH), dtype=np.int64),
            chosen_counts=np.zeros(inputs, dtype=np.int64),
            picks=np.zeros(inputs, dtype=np.int64),
            cursor=np.zeros(4, dtype=np.int64),
        )
        self._rows = np.empty((len(programs), max(1, candidates // len(programs)), inputs), dtype=np.int64)
        self._used = np.zeros(len(programs), dtype=np.int64)
        self._last_time = np.zeros(1, dtype=np.int64)  # of the last event

    @property
    def seen(self) -> int:
        """How many events have been taken in; the next one gets this index."""
        return self._longs.used

    def step(
        self, events: JoinEvents, horizon: int, final: bool = False, accepts: Sequence[Accept | None] | None = None
    ) -> list[JoinRows]:
        """Take in events; give out the rows of each program that are settled once `horizon` is known.

        accepts: for each program the rest of its condition, None where there is none.
        """
        base = self.seen
        arrivals = self._append(events)
        self._scratch.cursor[EVENT] = base
        pieces: list[list[JoinRows]] = [[] for _ in self._programs]
        asked = [None] * len(self._programs) if accepts is None else accepts
        while True:
            found = Found(self._rows, self._used, self._matched.data)
            outcome = advance(self._log, self._ends, arrivals, self._plan, self._scratch, found, base, self.seen, False)
            if outcome == NEEDS_WIDTH:
                wider = (self._scratch.gathered.shape[0], 2 * self._scratch.gathered.shape[1])
                self._scratch = self._scratch._replace(
                    gathered=np.empty(wider, dtype=np.int64), chosen=np.empty(wider, dtype=np.int64)
                )
            elif outcome == DONE:
                until = NEVER if final else min(horizon, NEVER - 1)
                for number, accept in enumerate(asked):
                    pieces[number].append(self._settle(found, number, accept, until))
                return [_join_pieces(of_program) for of_program in pieces]
            else:
                pieces[outcome].append(self._settle(found, outcome, asked[outcome], BEGINNING))

    def is_waiting(self) -> bool:
        """May rows come out when only the horizon moves on?"""
        return any(self._list_waiting(TIME))

    def floor(self, horizon: int) -> int:
        """No row still to come has a smaller moment, if `horizon` was reported to the last step."""
        return min(horizon, self._last) if any(self._list_waiting(ENDLESS)) else horizon

    def needed(self, horizon: int) -> npt.NDArray[np.bool_]:
        """bool[seen]: can the event still be in a row?  Or does it count in a window of events?"""
        needed = np.zeros(self.seen, dtype=np.bool_)
        for stream in range(len(self._programs[0].inputs)):
            members = np.flatnonzero(self._streams.view[0] == stream)
            for window in {program.inputs[stream] for program in self._programs}:
                needed[members[self._begin_window(window, stream, members, horizon)]] = True
        return needed

    def keep(self, horizon: int) -> dict[str, npt.NDArray[Any]]:
        """What `restore` must be reported besides the needed events: no key and no partition is named in it.

        settled: uint8[programs that emit leavers, needed events], 1 for events that will not come out with nulls.
        """
        settled = self._matched.view.copy()
        streams = self._streams.view[0]
        for number, row in enumerate(self._plan.leavers):
            for stream, reported in enumerate(self._scratch.reported[number]):
                if row != NOTHING and reported != NOTHING:
                    settled[row, : reported + 1][streams[: reported + 1] == stream] = 1
        return {"settled": settled[:, self.needed(horizon)], "last": self._last_time.copy()}

    def restore(self, events: JoinEvents, state: dict[str, npt.NDArray[Any]]) -> None:
        """On a new operator: the needed events in order (keys and partitions as numbered now), and what was kept."""
        assert self.seen == 0, "only a new operator can be restored"
        arrivals = self._append(events)
        found = Found(self._rows, self._used, self._matched.data)
        advance(self._log, self._ends, arrivals, self._plan, self._scratch, found, 0, self.seen, True)
        self._matched.view[:] = state["settled"]
        self._last_time[0] = state["last"][0]

    @property
    def _last(self) -> int:
        return int(self._last_time[0])

    # --- a few events at a time (join_lane.py) ---------------------------------------------------------------
    @property
    def programs(self) -> tuple[JoinProgram, ...]:
        return self._programs

    @property
    def counts_partitions(self) -> bool:
        return self._counts_partitions

    @property
    def stores(self) -> list[GrowingRows]:
        """All that grows with every event: times first, then streams."""
        return [self._longs, self._streams, self._matched]

    def make_room(self, keys: int) -> None:
        """For keys and partitions below a number."""
        self._ends = self._ends._replace(heads=_widen(self._ends.heads, keys, NOTHING))
        if self._counts_partitions:
            self._ends = self._ends._replace(tallies=_widen(self._ends.tallies, keys, 0))

    def lay_tables(self) -> tuple[Log, Ends, Plan, JoinScratch, Found, Int64s]:
        found = Found(self._rows, self._used, self._matched.data)
        return self._log, self._ends, self._plan, self._scratch, found, self._last_time

    def go_on(self, arrivals: Arrivals, base: int, outcome: int, until: int) -> JoinRows:
        """Of a single program without a condition: what is left to do when `advance` stopped."""
        pieces: list[JoinRows] = []
        while outcome != DONE:
            found = Found(self._rows, self._used, self._matched.data)
            if outcome == NEEDS_WIDTH:
                wider = (self._scratch.gathered.shape[0], 2 * self._scratch.gathered.shape[1])
                self._scratch = self._scratch._replace(
                    gathered=np.empty(wider, dtype=np.int64), chosen=np.empty(wider, dtype=np.int64)
                )
            else:
                pieces.append(self._settle(found, 0, None, BEGINNING))
            outcome = advance(self._log, self._ends, arrivals, self._plan, self._scratch, found, base, self.seen, False)
        found = Found(self._rows, self._used, self._matched.data)
        pieces.append(self._settle(found, 0, None, until))
        return _join_pieces(pieces)

    @property
    def leavers(self) -> list[int]:
        """Of each program the row of `settled` that is about it, negative if there is none."""
        rows: list[int] = self._plan.leavers.tolist()
        return rows

    @property
    def _log(self) -> Log:
        rows = self._longs.data
        unused = rows[0, :1]
        parts, ordinals = (rows[3], rows[4]) if self._counts_partitions else (unused, unused)
        return Log(rows[0], rows[1], rows[2], parts, ordinals)

    def _append(self, events: JoinEvents) -> Arrivals:
        count = len(events)
        self._longs.extend(count)[0] = events.times
        self._streams.extend(count)[0] = events.streams
        self._matched.extend(count)
        partitions = _writable(events.partitions)
        keys = _writable(events.keys) if self._programs[0].keyed else np.zeros(count, dtype=np.int64)
        if count:
            self._last_time[0] = events.times[-1]
            self._ends = self._ends._replace(heads=_widen(self._ends.heads, int(keys.max()) + 1, NOTHING))
            if self._counts_partitions:
                self._ends = self._ends._replace(tallies=_widen(self._ends.tallies, int(partitions.max()) + 1, 0))
        return Arrivals(_writable(events.streams), keys, partitions)

    def _settle(self, found: Found, number: int, accept: Accept | None, until: int) -> JoinRows:
        program = self._programs[number]
        used = int(found.used[number])
        candidates = found.rows[number, :used]
        accepted: Flags = np.zeros(1, dtype=np.uint8)
        if accept is not None:
            if program.outer == "arrival" and any(program.preserved):
                candidates = candidates[candidates.min(axis=1) != NOTHING]
            if len(candidates):
                accepted = np.ascontiguousarray(accept(candidates), dtype=np.uint8)
        most = used
        if program.emits_leavers:  # at most those that came after the first one that waits
            most += self.seen - 1 - int(self._scratch.reported[number][list(program.preserved)].min())
        rows, moments = np.empty((most, len(program.inputs)), dtype=np.int64), np.empty(most, dtype=np.int64)
        asks = accept is not None
        count = settle(
            self._log,
            self._ends,
            self._plan,
            self._scratch,
            found,
            number,
            accepted,
            asks,
            until,
            self._last,
            rows,
            moments,
        )
        return JoinRows(rows, moments) if count == most else JoinRows(rows[:count].copy(), moments[:count].copy())

    def _list_waiting(self, kind: int) -> list[bool]:
        """For each input of that kind whose leavers are reported: is there an event that may have to be?"""
        return [
            self._scratch.reported[number, stream] != self._ends.newest[stream]
            for number, program in enumerate(self._programs)
            for stream, preserved in enumerate(program.preserved)
            if program.emits_leavers and preserved and self._plan.kinds[number, stream] == kind
        ]

    def _begin_window(self, window: JoinInput, stream: int, members: Int64s, horizon: int) -> Any:
        """Which of the members of an input an event at the horizon could still find."""
        if window.size is None:
            return slice(None)
        if window.kind == "time":
            reach = last_chance(window, 0)
            return slice(int(np.searchsorted(self._log.times[members], horizon - (reach or 0))), None)
        if not window.partitioned:
            return slice(max(0, len(members) - window.size), None)
        tallies = self._ends.tallies[self._log.parts[members], stream]
        return tallies - self._log.ordinals[members] <= window.size


def _join_pieces(pieces: list[JoinRows]) -> JoinRows:
    if len(pieces) == 1:
        return pieces[0]
    return JoinRows(
        np.concatenate([piece.rows for piece in pieces]), np.concatenate([piece.moments for piece in pieces])
    )


def _tabulate(programs: tuple[JoinProgram, ...]) -> Plan:
    kinds = np.array([[_kind_of(window) for window in program.inputs] for program in programs], dtype=np.int64)
    reaches = np.array([[_reach_of(window) for window in program.inputs] for program in programs], dtype=np.int64)
    emits = np.array([program.emits_leavers for program in programs])
    return Plan(
        kinds=kinds,
        reaches=reaches,
        preserved=np.array([program.preserved for program in programs], dtype=np.int64),
        leavers=np.where(emits, np.cumsum(emits) - 1, NOTHING).astype(np.int64),
        widest=np.where(kinds == PARTITIONED, reaches, 0).max(axis=0),
        emits_arrivals=int(any(program.outer == "arrival" and any(program.preserved) for program in programs)),
    )


def _kind_of(window: JoinInput) -> int:
    if window.size is None:
        return ENDLESS
    if window.kind == "time":
        return TIME
    return PARTITIONED if window.partitioned else COUNT


def _reach_of(window: JoinInput) -> int:
    reach = last_chance(window, 0) if window.kind == "time" else window.size
    return reach or 0


def _nothing(shape: int | tuple[int, ...]) -> Int64s:
    return np.full(shape, NOTHING, dtype=np.int64)


def _widen(table: Int64s, rows: int, filler: int) -> Int64s:
    if rows <= len(table):
        return table
    wider = np.full((max(rows, 2 * len(table)), table.shape[1]), filler, dtype=np.int64)
    wider[: len(table)] = table
    return wider


def _writable(values: Int64s) -> Int64s:
    """What Arrow lends may not be written to: to Numba a type of its own, and all kernels compiled twice."""
    return np.require(values, dtype=np.int64, requirements=["C", "W"])
