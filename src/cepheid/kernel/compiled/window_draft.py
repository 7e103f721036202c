"""The sheet on which policies write: steps for the banks, and what is known of the rows before their values are.

A row may be begun before it is known at which evaluation it comes out (how a group was, before it changed): it hangs
on its key until then, through LINK."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.uncounted import uncounted, uncounted_inline
from cepheid.kernel.compiled.window_script import EMIT

GROUP, EVENT, MOMENT, START, END, EVALUATION, SIGN, KEY, ANSWER, LINK = range(10)
"""Rows of `Draft.rows`.  EVALUATION -1: not yet known; ANSWER: number of the EMIT, -1 if the row is an event and
needs none. The last four are written only if some row may wait, or be an event (PLAIN is 0)."""
STEP_COUNT, ROW_COUNT, ANSWER_COUNT, EVALUATION_COUNT, PLAIN = range(5)

DONE, FULL, NEEDS_SLOTS, NEEDS_WINDOWS = range(4)
"""Why a policy stopped writing."""

ROOM = 1 << 16
"""Steps of a sheet: small enough to be read while it is in the cache, large enough to make calls cheap."""


class Draft(NamedTuple):
    """steps: uint8[room]; slots, items: int64[room]; rows: int64[10, room]; sizes: int64[5]."""

    steps: npt.NDArray[np.uint8]
    slots: Int64s
    items: Int64s
    rows: Int64s
    sizes: Int64s


def make_draft(steps: int, rows: int, sizes: Int64s) -> Draft:
    return Draft(
        np.empty(steps, dtype=np.uint8), np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64),
        np.empty((LINK + 1, rows), dtype=np.int64), sizes,
    )  # fmt: skip


@uncounted_inline
def has_room(draft: Draft, count: int) -> bool:
    """For so many steps and as many rows?"""
    return (
        draft.sizes[STEP_COUNT] + count <= draft.steps.shape[0]
        and draft.sizes[ROW_COUNT] + count <= draft.rows.shape[1]
    )


@uncounted_inline
def put_step(draft: Draft, step: int, slot: int, item: int) -> None:
    place = draft.sizes[STEP_COUNT]
    draft.steps[place] = step
    draft.slots[place] = slot
    draft.items[place] = item
    draft.sizes[STEP_COUNT] = place + 1


@uncounted_inline
def put_row(
    draft: Draft, key: int, group: int, event: int, moment: int, start: int, end: int, number: int, sign: int
) -> int:
    """A row that needs no answer of the banks; gives its place."""
    place = draft.sizes[ROW_COUNT]
    draft.rows[GROUP, place] = group
    draft.rows[EVENT, place] = event
    draft.rows[MOMENT, place] = moment
    draft.rows[START, place] = start
    draft.rows[END, place] = end
    draft.rows[EVALUATION, place] = number
    if draft.sizes[PLAIN] == 0:
        draft.rows[SIGN, place] = sign
        draft.rows[KEY, place] = key
        draft.rows[ANSWER, place] = -1
    draft.sizes[ROW_COUNT] = place + 1
    return place


@uncounted_inline
def put_answer(
    draft: Draft, slot: int, key: int, group: int, event: int, moment: int, start: int, end: int, number: int, sign: int
) -> int:
    """A row with what a slot holds now; gives its place."""
    place = put_row(draft, key, group, event, moment, start, end, number, sign)
    answer = draft.sizes[ANSWER_COUNT]
    put_step(draft, EMIT, slot, answer)
    if draft.sizes[PLAIN] == 0:
        draft.rows[ANSWER, place] = answer
    draft.sizes[ANSWER_COUNT] = answer + 1
    return place


@uncounted
def settle_rows(draft: Draft, first: int, event: int, moment: int, start: int, end: int, members: int) -> None:
    """Give the rows that hang together from `first` on their evaluation; those with sign -1 show the window as it was.

    start -1 and end -2: the rows know their window.
    """
    place = first
    while place >= 0:
        draft.rows[MOMENT, place] = moment
        draft.rows[EVALUATION, place] = draft.sizes[EVALUATION_COUNT]
        if members == 0:
            draft.rows[EVENT, place] = event
        if draft.rows[SIGN, place] != -1 and start - end != 1:
            draft.rows[START, place] = start
            draft.rows[END, place] = end
        place = draft.rows[LINK, place]


@uncounted
def hang_rows(rows: Int64s, count: int, key_table: Int64s, field: int) -> None:
    """Hang the first `count` rows on their keys again."""
    for place in range(count):
        key = rows[KEY, place]
        rows[LINK, place] = key_table[key, field]
        key_table[key, field] = place


@uncounted
def take_off_rows(rows: Int64s, count: int, key_table: Int64s, field: int) -> None:
    """No row hangs on these keys any more."""
    for place in range(count):
        key_table[rows[KEY, place], field] = -1
