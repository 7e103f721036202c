"""The buffer on which policies write: steps for the banks, and what is known of the rows before their values are.

A row may be begun before it is known at which evaluation it comes out (how a group was, before it changed): it hangs
on its key until then, through LINK."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit_no_refcount, njit_no_refcount_inline
from cepheid.kernel.compiled.window_steps import EMIT

GROUP, EVENT, MOMENT, START, END, EVALUATION, SIGN, KEY, ANSWER, LINK = range(10)
"""Rows of `StepBuffer.rows`.  EVALUATION -1: not yet known; ANSWER: number of the EMIT, -1 if the row is an event and
needs none. The last four are written only if some row may wait, or be an event (PLAIN is 0)."""
STEP_COUNT, ROW_COUNT, ANSWER_COUNT, EVALUATION_COUNT, PLAIN = range(5)

DONE, FULL, NEEDS_SLOTS, NEEDS_WINDOWS = range(4)
"""Why a policy stopped writing."""

ROOM = 1 << 16
"""Steps of a buffer: small enough to be read while it is in the cache, large enough to make calls cheap."""


class StepBuffer(NamedTuple):
    """steps: uint8[room]; slots, items: int64[room]; rows: int64[10, room]; sizes: int64[5]."""

    steps: npt.NDArray[np.uint8]
    slots: Int64s
    items: Int64s
    rows: Int64s
    sizes: Int64s


def make_step_buffer(steps: int, rows: int, sizes: Int64s) -> StepBuffer:
    return StepBuffer(
        np.empty(steps, dtype=np.uint8), np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64),
        np.empty((LINK + 1, rows), dtype=np.int64), sizes,
    )  # fmt: skip


@njit_no_refcount_inline
def has_room(buffer: StepBuffer, count: int) -> bool:
    """For so many steps and as many rows?"""
    return (
        buffer.sizes[STEP_COUNT] + count <= buffer.steps.shape[0]
        and buffer.sizes[ROW_COUNT] + count <= buffer.rows.shape[1]
    )


@njit_no_refcount_inline
def put_step(buffer: StepBuffer, step: int, slot: int, item: int) -> None:
    place = buffer.sizes[STEP_COUNT]
    buffer.steps[place] = step
    buffer.slots[place] = slot
    buffer.items[place] = item
    buffer.sizes[STEP_COUNT] = place + 1


@njit_no_refcount_inline
def put_row(
    buffer: StepBuffer, key: int, group: int, event: int, moment: int, start: int, end: int, number: int, sign: int
) -> int:
    """A row that needs no answer of the banks; gives its place."""
    place = buffer.sizes[ROW_COUNT]
    buffer.rows[GROUP, place] = group
    buffer.rows[EVENT, place] = event
    buffer.rows[MOMENT, place] = moment
    buffer.rows[START, place] = start
    buffer.rows[END, place] = end
    buffer.rows[EVALUATION, place] = number
    if buffer.sizes[PLAIN] == 0:
        buffer.rows[SIGN, place] = sign
        buffer.rows[KEY, place] = key
        buffer.rows[ANSWER, place] = -1
    buffer.sizes[ROW_COUNT] = place + 1
    return place


@njit_no_refcount_inline
def put_answer(
    buffer: StepBuffer,
    slot: int,
    key: int,
    group: int,
    event: int,
    moment: int,
    start: int,
    end: int,
    number: int,
    sign: int,
) -> int:
    """A row with what a slot holds now; gives its place."""
    place = put_row(buffer, key, group, event, moment, start, end, number, sign)
    answer = buffer.sizes[ANSWER_COUNT]
    put_step(buffer, EMIT, slot, answer)
    if buffer.sizes[PLAIN] == 0:
        buffer.rows[ANSWER, place] = answer
    buffer.sizes[ANSWER_COUNT] = answer + 1
    return place


@njit_no_refcount
def settle_rows(buffer: StepBuffer, first: int, event: int, moment: int, start: int, end: int, members: int) -> None:
    """Give the rows that hang together from `first` on their evaluation; those with sign -1 show the window as it was.

    start -1 and end -2: the rows know their window.
    """
    place = first
    while place >= 0:
        buffer.rows[MOMENT, place] = moment
        buffer.rows[EVALUATION, place] = buffer.sizes[EVALUATION_COUNT]
        if members == 0:
            buffer.rows[EVENT, place] = event
        if buffer.rows[SIGN, place] != -1 and start - end != 1:
            buffer.rows[START, place] = start
            buffer.rows[END, place] = end
        place = buffer.rows[LINK, place]


@njit_no_refcount
def hang_rows(rows: Int64s, count: int, key_table: Int64s, field: int) -> None:
    """Hang the first `count` rows on their keys again."""
    for place in range(count):
        key = rows[KEY, place]
        rows[LINK, place] = key_table[key, field]
        key_table[key, field] = place


@njit_no_refcount
def take_off_rows(rows: Int64s, count: int, key_table: Int64s, field: int) -> None:
    """No row hangs on these keys any more."""
    for place in range(count):
        key_table[rows[KEY, place], field] = -1
