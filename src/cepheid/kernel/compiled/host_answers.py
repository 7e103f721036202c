"""Answers of the general evaluator, kept where the matcher can look them up.

    (which call, events of its cells) ─▶ value

The matcher asks for one answer and stops; whoever runs it asks the SQL engine for that one and for those it will
want next (the following events of the key under test), and lets it go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Floats, Int64s
from cepheid.kernel.compiled.key_index import KeyIndex, find_row
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.expression import HostCall

Evaluate = Callable[[HostCall, list[Int64s]], Column]
"""The values of a call for rows of events: one array of events for each argument, -1 where there is none."""

MOST_KEPT = 1_000_000


class Answers(NamedTuple):
    """What `look_up` needs."""

    slots: Int64s
    rows: Any  # int64[n, 2 + arguments]
    integers: Int64s
    floats: Floats
    valid: Flags
    wanted: Int64s  # [2 + arguments] what was not found: 1 + the call, and the events


class HostAnswers:
    """The calls of one program and what is known of them."""

    def __init__(self, calls: list[HostCall], evaluate: Evaluate | None) -> None:
        self._calls = calls
        self._evaluate = evaluate
        self.width = max([1, *(len(call.arguments) for call in calls)])
        self._forget()

    def _forget(self) -> None:
        self._index = KeyIndex(1 + self.width)
        self._integers = np.zeros(64, dtype=np.int64)
        self._floats = np.zeros(64, dtype=np.float64)
        self._valid = np.zeros(64, dtype=np.uint8)
        self._wanted = np.zeros(1 + self.width, dtype=np.int64)

    def answers(self) -> Answers:
        if len(self._index) > MOST_KEPT:
            self._forget()
        slots, rows = self._index.table
        return Answers(slots, rows, self._integers, self._floats, self._valid, self._wanted)

    def wanted(self) -> tuple[int, Int64s]:
        """The call that was asked for last, and its events."""
        call = int(self._wanted[0]) - 1
        return call, self._wanted[1 : 1 + len(self._calls[call].arguments)].copy()

    def learn(self, number: int, events: list[Int64s]) -> None:
        """Ask for a call over many rows of events, and keep the answers."""
        assert self._evaluate is not None, "somebody evaluates what the kernel cannot"
        call = self._calls[number]
        found = self._evaluate(call, events)
        count = len(events[0])
        cells = np.zeros((count, 1 + self.width), dtype=np.int64)
        cells[:, 0] = number
        for place, column in enumerate(events):
            cells[:, 1 + place] = column
        columns = [Column(np.ascontiguousarray(cells[:, place])) for place in range(1 + self.width)]
        numbers, _ = self._index.number_rows(columns, count)
        self._grow(len(self._index))
        self._valid[numbers] = 1 if found.valid is None else found.valid
        if call.kind == "float":
            self._floats[numbers] = found.values
        else:
            self._integers[numbers] = found.values

    def _grow(self, count: int) -> None:
        size = len(self._valid)
        if count > size:
            more = max(count, 2 * size) - size
            self._integers = np.concatenate([self._integers, np.zeros(more, dtype=np.int64)])
            self._floats = np.concatenate([self._floats, np.zeros(more, dtype=np.float64)])
            self._valid = np.concatenate([self._valid, np.zeros(more, dtype=np.uint8)])


def no_answers() -> HostAnswers:
    return HostAnswers([], None)


@njit()
def look_up(
    answers: Answers, call: int, row: npt.NDArray[Any], slot: int, facts_i: Int64s, facts_f: Floats, facts_valid: Flags
) -> bool:
    """Write the answer into the facts; False if it is not known: then it is wanted."""
    number = find_row(row, answers.slots, answers.rows)
    if number < 0:
        answers.wanted[0] = call + 1
        for place in range(1, answers.wanted.shape[0]):
            answers.wanted[place] = row[place]
        return False
    facts_i[slot] = answers.integers[number]
    facts_f[slot] = answers.floats[number]
    facts_valid[slot] = answers.valid[number]
    return True
