"""Joins of streams from their definition: look at every earlier event whether it is in its window.

Leavers are found as over whole tables: an event comes out with nulls if no row of the whole answer has it.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from cepheid.kernel.columns import Int64s
from cepheid.kernel.join import Accept, JoinEvents, JoinProgram, JoinRows, last_chance

Row = tuple[int, ...]


class ReferenceJoin:
    """The operator: rows come out when the input has ended."""

    def __init__(self, program: JoinProgram) -> None:
        self._program = program
        self._times: list[int] = []
        self._keys: list[int] = []
        self._streams: list[int] = []
        self._partitions: list[int] = []

    def step(self, events: JoinEvents, final: bool = False, accept: Accept | None = None) -> JoinRows:
        """Take in events; at the end, give out all rows."""
        self._times += events.times.tolist()
        self._keys += events.keys.tolist()
        self._streams += events.streams.tolist()
        self._partitions += events.partitions.tolist()
        return self._join(accept) if final else _as_rows([], len(self._program.inputs))

    def _join(self, accept: Accept | None) -> JoinRows:
        found_rows: list[tuple[float, Row]] = []
        partnered: set[int] = set()
        for trigger, time in enumerate(self._times):
            found = [row for row in self._list_candidates(trigger) if accept is None or _accepts(accept, row)]
            if not found and self._program.outer == "arrival" and self._is_preserved(trigger):
                found = [self._without_partner(trigger)]
            found_rows += [(time, row) for row in found]
            partnered.update(event for row in found for event in row)
        if self._program.outer == "leaving":
            alone = [event for event in range(len(self._times)) if self._is_preserved(event) and event not in partnered]
            alone.sort(key=self._find_leaving)
            found_rows += [(self._find_leaving(event), self._without_partner(event)) for event in alone]
            found_rows.sort(
                key=lambda moment_row: moment_row[0]
            )  # stable: triggers come before leavers of the same moment
            found_rows = [(self._times[-1] if moment == math.inf else moment, row) for moment, row in found_rows]
        return _as_rows(found_rows, len(self._program.inputs))

    def _list_candidates(self, trigger: int) -> list[Row]:
        windows = [
            [trigger] if number == self._streams[trigger] else self._list_window(number, trigger)
            for number in range(len(self._program.inputs))
        ]
        if not self._program.keyed:
            return list(product(*windows))
        key = self._keys[trigger]
        return [] if key < 0 else list(product(*([e for e in window if self._keys[e] == key] for window in windows)))

    def _list_window(self, number: int, trigger: int) -> list[int]:
        """Events of an input that are in its window when the trigger arrives, oldest first."""
        window = self._program.inputs[number]
        earlier = [event for event in range(trigger) if self._streams[event] == number]
        if window.size is None:
            return earlier
        if window.kind == "time":
            edge = self._times[trigger] - window.size
            return [e for e in earlier if self._times[e] > edge or (window.inclusive and self._times[e] == edge)]
        if not window.partitioned:
            return earlier[-window.size :]
        last = {p: [e for e in earlier if self._partitions[e] == p][-window.size :] for p in set(self._partitions)}
        return sorted(event for events in last.values() for event in events)

    def _is_preserved(self, event: int) -> bool:
        return self._program.preserved[self._streams[event]]

    def _without_partner(self, event: int) -> Row:
        return tuple(event if number == self._streams[event] else -1 for number in range(len(self._program.inputs)))

    def _find_leaving(self, event: int) -> float:
        moment = last_chance(self._program.inputs[self._streams[event]], self._times[event])
        return math.inf if moment is None else moment


def _accepts(accept: Accept, row: Row) -> bool:
    return bool(accept(np.array([row], dtype=np.int64))[0])


def _as_rows(found_rows: list[tuple[float, Row]], inputs: int) -> JoinRows:
    rows: Int64s = np.array([row for _, row in found_rows], dtype=np.int64).reshape(-1, inputs)
    return JoinRows(rows, np.array([moment for moment, _ in found_rows], dtype=np.int64))
