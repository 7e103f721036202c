"""Positions of cells as rows of numbers, and how a matcher finds the event that one stands for.

A row of the table: (variables as bits, 0 for any; single variable or -1; 1 if counted from the first;
offset; shift).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.errors import InvalidQuery
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.expression import Position

MOST_VARIABLES = 62
MISSING = -1  # no such event
UNKNOWN = -2  # not there yet: it may still arrive


def tabulate_positions(positions: list[Position], variables: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """int64[k, 5]."""
    if len(variables) > MOST_VARIABLES:
        told = f"a pattern can have at most {MOST_VARIABLES} variables, this one has {len(variables)}"
        raise InvalidQuery(told, hint="write variables with one condition as one: b{3} instead of b1 b2 b3")
    numbers = {variable: number for number, variable in enumerate(variables)}
    table = np.zeros((max(1, len(positions)), 5), dtype=np.int64)
    for row, position in enumerate(positions):
        members = [numbers[variable] for variable in position.variables]
        table[row] = (
            sum(1 << member for member in members),
            members[0] if len(members) == 1 else -1,
            position.pick == "first",
            position.offset,
            position.shift,
        )
    return table


@njit(forceinline=True)
def find_logical(table: Any, row: int, labels: Any, begin: int, end: int) -> int:
    """Index of the event among labels[begin:end] (the match so far) before the shift; -1 if there is none."""
    members, first, offset = table[row, 0], table[row, 2], table[row, 3]
    if members == 0:
        index = begin + offset if first else end - 1 - offset
        return index if begin <= index < end else MISSING
    left = offset
    if first:
        for index in range(begin, end):
            if (members >> labels[index]) & 1:
                if left == 0:
                    return index
                left -= 1
    else:
        for index in range(end - 1, begin - 1, -1):
            if (members >> labels[index]) & 1:
                if left == 0:
                    return index
                left -= 1
    return MISSING


@njit()
def navigate_matches(table: Any, row: int, labels: Any, begins: Int64s, ends: Int64s) -> Int64s:
    """int64[matches]: for each match, whose events have labels[begins[m]:ends[m]], the index of the event."""
    found = np.empty(begins.shape[0], dtype=np.int64)
    for match in range(begins.shape[0]):
        found[match] = find_logical(table, row, labels, begins[match], ends[match])
    return found


@njit()
def find_in_matches(wanted: Int64s, events: Int64s, begins: Int64s, ends: Int64s) -> Int64s:
    """int64[n]: where among the ascending events[begins[i]:ends[i]] the wanted event is; -1 if it is not there."""
    found = np.full(wanted.shape[0], MISSING, dtype=np.int64)
    for i in range(wanted.shape[0]):
        place = begins[i] + np.searchsorted(events[begins[i] : ends[i]], wanted[i])
        if wanted[i] >= 0 and place < ends[i] and events[place] == wanted[i]:
            found[i] = place
    return found
