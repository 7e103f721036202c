"""Answers of the general evaluator, kept where the matcher can look them up.

    (which call, events of its cells, the match so far if it reads that) ─▶ value

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
from cepheid.kernel.matches import Paths

Evaluate = Callable[[HostCall, list[Int64s], Paths | None], Column]
"""The values of a call for rows of events: one array of events for each argument, -1 where there is none; and the
matches so far, where the call reads facts of them."""

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
        self.width = max([1, *map(count_words, calls)])
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

    def learn(self, number: int, events: list[Int64s], paths: Paths | None = None) -> None:
        """Ask for a call over many rows of events, and keep the answers."""
        assert self._evaluate is not None, "somebody evaluates what the kernel cannot"
        call = self._calls[number]
        found = self._evaluate(call, events, paths)
        words = events if paths is None else [*events, *hash_paths(paths)]
        count = len(words[0])
        cells = np.zeros((count, 1 + self.width), dtype=np.int64)
        cells[:, 0] = number
        for place, column in enumerate(words):
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


def count_words(call: HostCall) -> int:
    """What tells its answers apart: an event for each cell, and two words for the match so far."""
    return len(call.arguments) + (2 if call.facts else 0)


def hash_paths(paths: Paths) -> tuple[Int64s, Int64s]:
    """The two words of each match so far, as the search computes them."""
    matches = paths.matches
    lows, highs = _hash_paths(matches.events, matches.labels, paths.begins, paths.ends, paths.numbers)
    return lows, highs


@njit()
def hash_row(low: int, high: int, event: int, label: int) -> tuple[int, int]:
    """Two words of 64 bits for all rows so far, from those for the rows before: equal for equal rows, else hardly ever.

    (One collision among a million paths has a chance of some 10^-27.)
    """
    value = event * 64 + label
    low = (low ^ value) * -7046029254386353131
    low ^= (low >> 32) & 0xFFFFFFFF
    low *= -4417276706812531889
    low ^= (low >> 29) & 0x7FFFFFFFF
    high = (high + value) * -8796714831421723037
    high ^= (high >> 31) & 0x1FFFFFFFF
    high *= -7723592293110705685
    high ^= (high >> 33) & 0x7FFFFFFF
    return low, high


@njit()
def _hash_paths(events: Int64s, labels: Int64s, begins: Int64s, ends: Int64s, numbers: Int64s) -> Any:
    lows = np.zeros(begins.shape[0], dtype=np.int64)
    highs = np.zeros(begins.shape[0], dtype=np.int64)
    for path in range(begins.shape[0]):
        low, high = numbers[path], ~numbers[path]
        for place in range(begins[path], ends[path]):
            low, high = hash_row(low, high, events[place], labels[place])
        lows[path], highs[path] = low, high
    return lows, highs


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
