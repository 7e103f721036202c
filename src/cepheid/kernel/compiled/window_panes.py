"""Windows made of panes: what is known of the events of a short time is put together, the events themselves are not
kept.

    hopping [k s, k s + w), on close     panes [j p, (j + 1) p),  p = gcd(w, s)
    sliding (T - w, T], every t          panes (j p, (j + 1) p],  p = gcd(w, t)

An event is added to the slot of its group in the newest pane.  At an evaluation, panes that came since enter the slot
of the group in the window, and those that have expired leave it.  So the cost of an event does not depend on how long
the window is, nor how often it is evaluated."""

from __future__ import annotations

from typing import NamedTuple

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit_no_refcount, njit_no_refcount_inline
from cepheid.kernel.compiled.step_buffer import (
    DONE,
    EVALUATION_COUNT,
    FULL,
    LINK,
    NEEDS_SLOTS,
    NEEDS_WINDOWS,
    ROW_COUNT,
    StepBuffer,
    has_room,
    put_answer,
    put_step,
    settle_rows,
)  # fmt: skip
from cepheid.kernel.compiled.window_clock import FAR, call_last, next_multiple, pop_key, push_key
from cepheid.kernel.compiled.window_steps import ADD, CLEAR, ENTER_PANE, LEAVE_PANE

# what the plan says; EVERY 0: hopping, evaluated on close
SIZE, SLIDE, EVERY, CHANGES, LENGTH = range(5)

# what is known of a key; FRESH: the oldest pane that has not entered the window
(
    OLDEST,
    NEWEST,
    LAST_TIME,
    NEXT,
    LIMIT,
    QUEUED,
    PENDING,
    LIVE,
    LIVE_COUNT,
    TOUCHED,
    TOUCHED_COUNT,
    WAS_START,
    WAS_END,
    FRESH,
) = range(14)
# of a pane
P_KEY, P_BEGIN, P_SLOTS, P_SLOT_COUNT, P_NEWER, P_ENTERED = range(6)
# of the slot of a group in a pane
S_GROUP, S_AFTER = range(2)
# of a group: how many panes of it are in the window, neighbours, its slot in the window, its slot in the newest pane
G_COUNT, G_AFTER, G_BEFORE, G_TOUCHED, G_WINDOW, G_SLOT, G_PANE = range(7)
# numbers of the policy
CURSOR, PHASE, HEAP, FREE_SLOT, FREE_SLOTS, SLOT_TOP, FREE_PANE, FREE_PANES, PANE_TOP = range(9)

NONE = -FAR
UNTOUCHED = -2


class Panes(NamedTuple):
    """plan, numbers: int64[..]; key_table: int64[keys, 14]; panes: int64[.., 6]; slots: int64[.., 2]; group_table:
    int64[groups, 7]; heap, order: see window_clock."""

    plan: Int64s
    numbers: Int64s
    key_table: Int64s
    panes: Int64s
    slots: Int64s
    group_table: Int64s
    heap: Int64s
    order: Int64s


@njit_no_refcount
def _take_slot(s: Panes) -> int:
    if s.numbers[FREE_SLOTS] > 0:
        slot = s.numbers[FREE_SLOT]
        s.numbers[FREE_SLOT] = s.slots[slot, S_AFTER]
        s.numbers[FREE_SLOTS] -= 1
        return slot
    s.numbers[SLOT_TOP] += 1
    return s.numbers[SLOT_TOP] - 1


@njit_no_refcount
def _free_slot(s: Panes, buffer: StepBuffer, slot: int) -> None:
    put_step(buffer, CLEAR, slot, 0)
    s.slots[slot, S_GROUP] = -1
    s.slots[slot, S_AFTER] = s.numbers[FREE_SLOT]
    s.numbers[FREE_SLOT] = slot
    s.numbers[FREE_SLOTS] += 1


@njit_no_refcount
def _touch(s: Panes, buffer: StepBuffer, key: int, group: int) -> None:
    """A group is about to change: begin the row that says how it was, once between two evaluations."""
    if s.plan[CHANGES] == 0 or s.group_table[group, G_TOUCHED] != UNTOUCHED:
        return
    if s.group_table[group, G_COUNT] > 0:
        start, end = s.key_table[key, WAS_START], s.key_table[key, WAS_END]
        place = put_answer(buffer, s.group_table[group, G_WINDOW], key, group, -1, 0, start, end, -1, -1)
        buffer.rows[LINK, place] = s.key_table[key, PENDING]
        s.key_table[key, PENDING] = place
    s.group_table[group, G_TOUCHED] = s.key_table[key, TOUCHED]
    s.key_table[key, TOUCHED] = group
    s.key_table[key, TOUCHED_COUNT] += 1


@njit_no_refcount
def _enter_pane(s: Panes, buffer: StepBuffer, key: int, pane: int) -> None:
    slot = s.panes[pane, P_SLOTS]
    while slot >= 0:
        group = s.slots[slot, S_GROUP]
        _touch(s, buffer, key, group)
        s.group_table[group, G_COUNT] += 1
        if s.group_table[group, G_COUNT] == 1:
            s.group_table[group, G_WINDOW] = _take_slot(s)
            head = s.key_table[key, LIVE]
            s.group_table[group, G_AFTER] = head
            s.group_table[group, G_BEFORE] = -1
            if head >= 0:
                s.group_table[head, G_BEFORE] = group
            s.key_table[key, LIVE] = group
            s.key_table[key, LIVE_COUNT] += 1
        put_step(buffer, ENTER_PANE, s.group_table[group, G_WINDOW], slot)
        slot = s.slots[slot, S_AFTER]
    s.panes[pane, P_ENTERED] = 1


@njit_no_refcount
def _leave_pane(s: Panes, buffer: StepBuffer, key: int, pane: int) -> None:
    """The oldest pane leaves, and is free; needs four steps for each of its slots."""
    slot, entered = s.panes[pane, P_SLOTS], s.panes[pane, P_ENTERED] != 0
    while slot >= 0:
        group = s.slots[slot, S_GROUP]
        if entered:
            _touch(s, buffer, key, group)
            put_step(buffer, LEAVE_PANE, s.group_table[group, G_WINDOW], slot)
            s.group_table[group, G_COUNT] -= 1
            if s.group_table[group, G_COUNT] == 0:
                _free_slot(s, buffer, s.group_table[group, G_WINDOW])
                before, behind = s.group_table[group, G_BEFORE], s.group_table[group, G_AFTER]
                if before >= 0:
                    s.group_table[before, G_AFTER] = behind
                else:
                    s.key_table[key, LIVE] = behind
                if behind >= 0:
                    s.group_table[behind, G_BEFORE] = before
                s.key_table[key, LIVE_COUNT] -= 1
        after = s.slots[slot, S_AFTER]
        _free_slot(s, buffer, slot)
        slot = after
    if s.key_table[key, FRESH] == pane:  # evaluations are farther apart than the window is long
        s.key_table[key, FRESH] = s.panes[pane, P_NEWER]
    newer = s.panes[pane, P_NEWER]
    s.key_table[key, OLDEST] = newer
    if newer < 0:
        s.key_table[key, NEWEST] = -1
    s.panes[pane, P_KEY] = -1
    s.panes[pane, P_NEWER] = s.numbers[FREE_PANE]
    s.numbers[FREE_PANE] = pane
    s.numbers[FREE_PANES] += 1


@njit_no_refcount
def _leave_before(s: Panes, buffer: StepBuffer, key: int, start: int) -> int:
    while s.key_table[key, OLDEST] >= 0 and s.panes[s.key_table[key, OLDEST], P_BEGIN] < start:
        pane = s.key_table[key, OLDEST]
        if not has_room(buffer, 4 * s.panes[pane, P_SLOT_COUNT] + 4):
            return FULL
        _leave_pane(s, buffer, key, pane)
    return DONE


@njit_no_refcount
def _enter_new(s: Panes, buffer: StepBuffer, key: int) -> int:
    """All panes that have not entered do: there is no event yet behind the moment of the evaluation."""
    pane = s.key_table[key, FRESH]
    while pane >= 0:
        if not has_room(buffer, 2 * s.panes[pane, P_SLOT_COUNT] + 4):
            return FULL
        if s.numbers[FREE_SLOTS] + s.slots.shape[0] - s.numbers[SLOT_TOP] < s.panes[pane, P_SLOT_COUNT]:
            return NEEDS_SLOTS
        _enter_pane(s, buffer, key, pane)
        pane = s.panes[pane, P_NEWER]
        s.key_table[key, FRESH] = pane
    return DONE


@njit_no_refcount
def _evaluate(s: Panes, buffer: StepBuffer, key: int, moment: int, start: int) -> None:
    """One evaluation; `moment` is also the end of the window."""
    number, rows_before = buffer.sizes[EVALUATION_COUNT], buffer.sizes[ROW_COUNT]
    emits = False
    if s.key_table[key, PENDING] >= 0:
        settle_rows(buffer, s.key_table[key, PENDING], -1, moment, start, moment, 0)
        s.key_table[key, PENDING] = -1
        emits = True
    if s.plan[CHANGES] != 0:
        group = s.key_table[key, TOUCHED]
        while group >= 0:
            after = s.group_table[group, G_TOUCHED]
            s.group_table[group, G_TOUCHED] = UNTOUCHED
            if s.group_table[group, G_COUNT] > 0:
                put_answer(buffer, s.group_table[group, G_WINDOW], key, group, -1, moment, start, moment, number, 1)
            group = after
        s.key_table[key, TOUCHED] = -1
        s.key_table[key, TOUCHED_COUNT] = 0
    else:
        group = s.key_table[key, LIVE]
        while group >= 0:
            put_answer(buffer, s.group_table[group, G_WINDOW], key, group, -1, moment, start, moment, number, 0)
            group = s.group_table[group, G_AFTER]
    s.key_table[key, WAS_START] = start
    s.key_table[key, WAS_END] = moment
    if emits or buffer.sizes[ROW_COUNT] > rows_before:
        buffer.sizes[EVALUATION_COUNT] = number + 1


@njit_no_refcount
def _emit_tick(s: Panes, buffer: StepBuffer, key: int) -> int:
    """The evaluation at NEXT, the next multiple of t."""
    moment, every, start = s.key_table[key, NEXT], s.plan[EVERY], s.key_table[key, NEXT] - s.plan[SIZE]
    stopped = _leave_before(s, buffer, key, start)
    if stopped == DONE:
        stopped = _enter_new(s, buffer, key)
    if stopped != DONE:
        return stopped
    if not has_room(buffer, 8 + s.key_table[key, LIVE_COUNT] + s.key_table[key, TOUCHED_COUNT]):
        return FULL
    _evaluate(s, buffer, key, moment, start)
    following = moment + every
    oldest = s.key_table[key, OLDEST]
    if oldest < 0:  # nothing to see until the next event
        following = max(following, s.key_table[key, LIMIT])
    elif s.plan[CHANGES] != 0:  # nothing changes until a pane leaves
        leaves = next_multiple(s.panes[oldest, P_BEGIN] + 1 + s.plan[SIZE], every)
        following = max(following, min(s.key_table[key, LIMIT], leaves))
    s.key_table[key, NEXT] = following
    return DONE


@njit_no_refcount
def _close_hop(s: Panes, buffer: StepBuffer, key: int) -> int:
    """The window from NEXT on closes, and the panes before the one after it leave."""
    start = s.key_table[key, NEXT]
    if s.numbers[PHASE] == 0:
        stopped = _enter_new(s, buffer, key)
        if stopped != DONE:
            return stopped
        if not has_room(buffer, 8 + s.key_table[key, LIVE_COUNT] + s.key_table[key, TOUCHED_COUNT]):
            return FULL
        _evaluate(s, buffer, key, start + s.plan[SIZE], start)
        s.numbers[PHASE] = 1
    stopped = _leave_before(s, buffer, key, start + s.plan[SLIDE])
    if stopped != DONE:
        return stopped
    s.numbers[PHASE] = 0
    s.key_table[key, NEXT] = start + s.plan[SLIDE]
    return DONE


@njit_no_refcount_inline
def _queue(s: Panes, key: int) -> None:
    """Put a key on the clock, if time alone will bring something about."""
    if s.key_table[key, QUEUED] != 0:
        return
    rank = FAR
    if s.plan[EVERY] != 0:
        if s.key_table[key, NEXT] <= s.key_table[key, LIMIT]:
            rank = 2 * s.key_table[key, NEXT] + 1
    elif s.key_table[key, OLDEST] >= 0:
        rank = 2 * (s.key_table[key, NEXT] + s.plan[SIZE])
    if rank < FAR:
        s.numbers[HEAP] = push_key(s.heap, s.numbers[HEAP], rank, key)
        s.key_table[key, QUEUED] = 1


@njit_no_refcount
def _act(s: Panes, buffer: StepBuffer) -> int:
    """What is first on the clock."""
    key = s.heap[0, 1]
    stopped = _emit_tick(s, buffer, key) if s.plan[EVERY] != 0 else _close_hop(s, buffer, key)
    if stopped == DONE:
        s.numbers[HEAP] = pop_key(s.heap, s.numbers[HEAP])
        s.key_table[key, QUEUED] = 0
        _queue(s, key)
    return stopped


@njit_no_refcount
def _open_pane(s: Panes, key: int, begin: int) -> None:
    if s.numbers[FREE_PANES] > 0:
        pane = s.numbers[FREE_PANE]
        s.numbers[FREE_PANE] = s.panes[pane, P_NEWER]
        s.numbers[FREE_PANES] -= 1
    else:
        pane = s.numbers[PANE_TOP]
        s.numbers[PANE_TOP] += 1
    s.panes[pane, P_KEY] = key
    s.panes[pane, P_BEGIN] = begin
    s.panes[pane, P_SLOTS] = -1
    s.panes[pane, P_SLOT_COUNT] = 0
    s.panes[pane, P_NEWER] = -1
    s.panes[pane, P_ENTERED] = 0
    newest = s.key_table[key, NEWEST]
    if newest >= 0:
        s.panes[newest, P_NEWER] = pane
    else:
        s.key_table[key, OLDEST] = pane
    s.key_table[key, NEWEST] = pane
    if s.key_table[key, FRESH] < 0:
        s.key_table[key, FRESH] = pane


@njit_no_refcount
def fill_panes(s: Panes, times: Int64s, keys: Int64s, groups: Int64s, end: int, now: int, buffer: StepBuffer) -> int:
    """Take in the events from CURSOR to `end`, and emit what is due at the rank `now`."""
    length, every, size, slide = s.plan[LENGTH], s.plan[EVERY], s.plan[SIZE], s.plan[SLIDE]
    early = 0 if every == 0 else 1  # (j p, (j + 1) p]
    event = s.numbers[CURSOR]
    while event < end:
        key, time, group = keys[event], times[event], groups[event]
        stopped = DONE
        while s.numbers[HEAP] > 0 and s.heap[0, 0] <= 2 * time and stopped == DONE:
            stopped = _act(s, buffer)
        if every != 0 and stopped == DONE:
            if s.key_table[key, LAST_TIME] == NONE:
                s.key_table[key, NEXT] = next_multiple(time, every)
                s.key_table[key, LIMIT] = s.key_table[key, NEXT]
            elif time > s.key_table[key, LIMIT]:
                s.key_table[key, LIMIT] = next_multiple(time, every)
            while s.key_table[key, NEXT] < time and stopped == DONE:
                stopped = _emit_tick(s, buffer, key)
            call_last(s.order, key)
        if stopped == DONE and not has_room(buffer, 4):
            stopped = FULL
        if stopped == DONE and s.numbers[FREE_SLOTS] + s.slots.shape[0] - s.numbers[SLOT_TOP] < 2:
            stopped = NEEDS_SLOTS
        if stopped == DONE and s.numbers[FREE_PANES] + s.panes.shape[0] - s.numbers[PANE_TOP] < 1:
            stopped = NEEDS_WINDOWS
        if stopped != DONE:
            s.numbers[CURSOR] = event
            return stopped
        s.key_table[key, LAST_TIME] = time
        newest = s.key_table[key, NEWEST]
        if newest < 0 or time - early >= s.panes[newest, P_BEGIN] + length:
            _open_pane(s, key, (time - early) // length * length)
            newest = s.key_table[key, NEWEST]
        begin = s.panes[newest, P_BEGIN]
        if s.group_table[group, G_PANE] != begin:
            slot = _take_slot(s)
            s.slots[slot, S_GROUP] = group
            s.slots[slot, S_AFTER] = s.panes[newest, P_SLOTS]
            s.panes[newest, P_SLOTS] = slot
            s.panes[newest, P_SLOT_COUNT] += 1
            s.group_table[group, G_PANE] = begin
            s.group_table[group, G_SLOT] = slot
        put_step(buffer, ADD, s.group_table[group, G_SLOT], event)
        if s.key_table[key, QUEUED] == 0:
            if every == 0:
                s.key_table[key, NEXT] = max(s.key_table[key, NEXT], ((time - size) // slide + 1) * slide)
            _queue(s, key)
        event += 1
    s.numbers[CURSOR] = event
    while s.numbers[HEAP] > 0 and s.heap[0, 0] <= now:
        stopped = _act(s, buffer)
        if stopped != DONE:
            return stopped
    return DONE


@njit_no_refcount
def list_panes(s: Panes, keys: Int64s, panes: Int64s, slots: Int64s) -> None:
    """The panes of these keys, oldest first, and their slots: the last of a pane first, as they were put in."""
    count, slot_count = 0, 0
    for key in keys:
        pane = s.key_table[key, OLDEST]
        while pane >= 0:
            panes[count] = pane
            count += 1
            slot_count += s.panes[pane, P_SLOT_COUNT]
            place = slot_count
            slot = s.panes[pane, P_SLOTS]
            while slot >= 0:
                place -= 1
                slots[place] = slot
                slot = s.slots[slot, S_AFTER]
            pane = s.panes[pane, P_NEWER]


@njit_no_refcount
def count_panes(s: Panes, keys: Int64s) -> tuple[int, int]:
    """How many panes and slots `list_panes` will find."""
    count, slot_count = 0, 0
    for key in keys:
        pane = s.key_table[key, OLDEST]
        while pane >= 0:
            count += 1
            slot_count += s.panes[pane, P_SLOT_COUNT]
            pane = s.panes[pane, P_NEWER]
    return count, slot_count


@njit_no_refcount
def reopen_panes(s: Panes, keys: Int64s, begins: Int64s, slot_counts: Int64s, groups: Int64s, by_last: Int64s) -> None:
    """What `list_panes` found, in a new object; slots are numbered in their order.  by_last: all keys, by their last
    events."""
    place = 0
    for number in range(keys.shape[0]):
        _open_pane(s, keys[number], begins[number])
        pane = s.key_table[keys[number], NEWEST]
        for _ in range(slot_counts[number]):
            slot, group = _take_slot(s), groups[place]
            s.slots[slot, S_GROUP] = group
            s.slots[slot, S_AFTER] = s.panes[pane, P_SLOTS]
            s.panes[pane, P_SLOTS] = slot
            s.group_table[group, G_PANE] = begins[number]
            s.group_table[group, G_SLOT] = slot
            place += 1
        s.panes[pane, P_SLOT_COUNT] = slot_counts[number]
    for key in by_last:
        call_last(s.order, key)
        _queue(s, key)


@njit_no_refcount
def reenter_panes(s: Panes, keys: Int64s, entered: Int64s, begin: int, buffer: StepBuffer) -> int:
    """Enter panes of these keys into their windows again, so many of each key, from keys[begin] on; gives where the
    buffer was full, -1 if it was not.

    plan[CHANGES] must be 0: nothing changes.
    """
    for place in range(begin, keys.shape[0]):
        key = keys[place]
        while entered[place] > 0:
            pane = s.key_table[key, FRESH]
            if not has_room(buffer, 2 * s.panes[pane, P_SLOT_COUNT] + 4):
                return place
            _enter_pane(s, buffer, key, pane)
            s.key_table[key, FRESH] = s.panes[pane, P_NEWER]
            entered[place] -= 1
    return -1


@njit_no_refcount
def list_groups(s: Panes, keys: Int64s, touched: bool, found_keys: Int64s, found_groups: Int64s) -> None:
    """The groups of these keys that are in the window, or those touched since the last evaluation, in the order of
    their chains."""
    count = 0
    for key in keys:
        group = s.key_table[key, TOUCHED] if touched else s.key_table[key, LIVE]
        while group >= 0:
            found_keys[count], found_groups[count] = key, group
            count += 1
            group = s.group_table[group, G_TOUCHED] if touched else s.group_table[group, G_AFTER]


@njit_no_refcount
def order_live(s: Panes, keys: Int64s, groups: Int64s) -> None:
    """Bring the groups in the windows of keys into this order; the last of a chain is put in first."""
    for key in keys:
        s.key_table[key, LIVE] = -1
    for place in range(keys.shape[0] - 1, -1, -1):
        key, group = keys[place], groups[place]
        head = s.key_table[key, LIVE]
        s.group_table[group, G_AFTER] = head
        s.group_table[group, G_BEFORE] = -1
        if head >= 0:
            s.group_table[head, G_BEFORE] = group
        s.key_table[key, LIVE] = group


@njit_no_refcount
def touch_again(s: Panes, keys: Int64s, groups: Int64s) -> None:
    """What `list_groups` found, in a new object; the last of a chain is put in first."""
    for place in range(keys.shape[0] - 1, -1, -1):
        key, group = keys[place], groups[place]
        s.group_table[group, G_TOUCHED] = s.key_table[key, TOUCHED]
        s.key_table[key, TOUCHED] = group
        s.key_table[key, TOUCHED_COUNT] += 1
