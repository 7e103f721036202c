"""Windows that move with their events: one window for each key, one slot for each group.

    event -> what is due by time -> the oldest members leave -> it enters -> the window is evaluated

Sliding windows by time or count, landmarks, and hopping ones that are evaluated on close or on expiry: when [k s, k s
+ w) closes, what has entered is just that window, so one slot is enough for all that are open.  A slot has the number
of its group.

The members of a key hang together through `nexts`, oldest first; groups that have members hang together by key, and
so do those touched since the last evaluation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled.njit_options import njit_no_refcount, njit_no_refcount_inline
from cepheid.kernel.compiled.step_buffer import (
    DONE,
    EVALUATION_COUNT,
    FULL,
    LINK,
    ROW_COUNT,
    StepBuffer,
    has_room,
    put_answer,
    put_row,
    put_step,
    settle_rows,
)  # fmt: skip
from cepheid.kernel.compiled.window_clock import FAR, call_last, next_multiple, pop_key, push_key
from cepheid.kernel.compiled.window_steps import LEAVE

# what the plan says
(
    KIND,
    STAY,
    SIZE,
    SLIDE,
    WHEN,
    EVERY,
    SHOWS,
    MEMBERS,
    STEP,
    LISTS,
    TOUCHES,
    SCRIPTED,
    CHAINED,
    PEERS,
    OPENS,
    CLOCKED,
    OWN,
    ORDERED,
) = range(18)
BY_TIME, BY_COUNT, LANDMARK = range(3)
ON_EVENT, ON_EXPIRY, ON_CLOSE, EVERY_TIME, EVERY_COUNT = range(5)
CONCERNED, ALL, CHANGES = range(3)

# what is known of a key
(
    FIRST,
    LAST,
    COUNT,
    SEEN,
    LAST_TIME,
    NEXT,
    LIMIT,
    QUEUED,
    BEGAN,
    LIVE,
    LIVE_COUNT,
    TOUCHED,
    TOUCHED_COUNT,
    PENDING,
    WAS_START,
    WAS_END,
) = range(16)
# what is known of a group
G_COUNT, G_AFTER, G_BEFORE, G_TOUCHED = range(4)
# numbers of the policy
CURSOR, PHASE, HEAP, CLOSED_START, CLOSED_END, LOST = range(6)

NONE = -FAR
"""No time."""
OUTSIDE = -3
"""In `nexts` of a landmark whose events only wait for their peers: the event does not wait."""
UNTOUCHED = -2


class Sliding(NamedTuple):
    """plan, numbers: int64[..]; times, groups: of the store; nexts: int64[events]; key_table: int64[keys, 16];
    group_table: int64[groups, 4]; heap: see window_clock; order: likewise."""

    plan: Int64s
    numbers: Int64s
    times: Int64s
    groups: Int64s
    nexts: Int64s
    key_table: Int64s
    group_table: Int64s
    heap: Int64s
    order: Int64s


@njit_no_refcount
def _touch(s: Sliding, buffer: StepBuffer, key: int, group: int) -> None:
    """A group is about to change: begin the row that says how it was, once between two evaluations."""
    if s.group_table[group, G_TOUCHED] != UNTOUCHED:
        return
    if s.plan[SHOWS] == CHANGES and s.group_table[group, G_COUNT] > 0:
        start, end = s.key_table[key, WAS_START], s.key_table[key, WAS_END]
        place = put_answer(buffer, group, key, group, -1, 0, start, end, -1, -1)
        buffer.rows[LINK, place] = s.key_table[key, PENDING]
        s.key_table[key, PENDING] = place
    s.group_table[group, G_TOUCHED] = s.key_table[key, TOUCHED]
    s.key_table[key, TOUCHED] = group
    s.key_table[key, TOUCHED_COUNT] += 1


@njit_no_refcount
def _begin_row(s: Sliding, buffer: StepBuffer, key: int, group: int, event: int, sign: int) -> None:
    """A row that is an event, emitted at the next evaluation."""
    place = put_row(buffer, key, group, event, 0, s.key_table[key, WAS_START], s.key_table[key, WAS_END], -1, sign)
    buffer.rows[LINK, place] = s.key_table[key, PENDING]
    s.key_table[key, PENDING] = place


@njit_no_refcount_inline
def _leave(s: Sliding, buffer: StepBuffer, key: int) -> None:
    """The oldest member leaves; at most two steps and two rows."""
    event = s.key_table[key, FIRST]
    group = s.groups[event]
    if s.plan[TOUCHES] != 0:
        if s.plan[MEMBERS] == 0:
            _touch(s, buffer, key, group)
        else:
            _begin_row(s, buffer, key, group, event, -1 if s.plan[SHOWS] == CHANGES else 0)
    s.key_table[key, COUNT] -= 1
    if s.key_table[key, COUNT] > 0:
        s.key_table[key, FIRST] = s.nexts[event]
    else:  # what hangs behind it may have been hung there by another program, whose time goes ahead
        s.key_table[key, FIRST] = -1
        s.key_table[key, LAST] = -1
    if s.plan[SCRIPTED] != 0:
        put_step(buffer, LEAVE, group, event)
    if s.plan[LISTS] != 0:
        s.group_table[group, G_COUNT] -= 1
        if s.group_table[group, G_COUNT] == 0:
            before, behind = s.group_table[group, G_BEFORE], s.group_table[group, G_AFTER]
            if before >= 0:
                s.group_table[before, G_AFTER] = behind
            else:
                s.key_table[key, LIVE] = behind
            if behind >= 0:
                s.group_table[behind, G_BEFORE] = before
            s.key_table[key, LIVE_COUNT] -= 1


@njit_no_refcount_inline
def _enter(s: Sliding, buffer: StepBuffer, key: int, event: int) -> None:
    group = s.groups[event]
    if s.plan[SHOWS] == CHANGES:
        if s.plan[MEMBERS] == 0:
            _touch(s, buffer, key, group)
        else:
            _begin_row(s, buffer, key, group, event, 1)
    _join(s, key, group, event)
    if s.plan[SCRIPTED] != 0:
        put_step(buffer, s.plan[STEP], group, event)


@njit_no_refcount_inline
def _join(s: Sliding, key: int, group: int, event: int) -> None:
    """Write an event down as the newest member."""
    if s.plan[CHAINED] != 0:
        if s.plan[CHAINED] == 2:
            s.nexts[event] = -1  # else it is the last until another one comes, whoever hung something there
        last = s.key_table[key, LAST]
        if last >= 0:
            s.nexts[last] = event
        else:
            s.key_table[key, FIRST] = event
        s.key_table[key, LAST] = event
    s.key_table[key, COUNT] += 1
    if s.plan[LISTS] != 0:
        s.group_table[group, G_COUNT] += 1
        if s.group_table[group, G_COUNT] == 1:
            head = s.key_table[key, LIVE]
            s.group_table[group, G_AFTER] = head
            s.group_table[group, G_BEFORE] = -1
            if head >= 0:
                s.group_table[head, G_BEFORE] = group
            s.key_table[key, LIVE] = group
            s.key_table[key, LIVE_COUNT] += 1


@njit_no_refcount
def _evaluate(s: Sliding, buffer: StepBuffer, key: int, moment: int, event: int, start: int, end: int) -> None:
    """One evaluation; needs as much room as `_has_room_to_evaluate` says."""
    rows_before = buffer.sizes[ROW_COUNT]
    number = buffer.sizes[EVALUATION_COUNT]
    emits = False
    if s.key_table[key, PENDING] >= 0:
        settle_rows(buffer, s.key_table[key, PENDING], event, moment, start, end, s.plan[MEMBERS])
        s.key_table[key, PENDING] = -1
        emits = True
    if s.plan[TOUCHES] != 0:
        sign = 1 if s.plan[SHOWS] == CHANGES else 0
        group = s.key_table[key, TOUCHED]
        while group >= 0:
            after = s.group_table[group, G_TOUCHED]
            s.group_table[group, G_TOUCHED] = UNTOUCHED
            if sign == 0 or s.group_table[group, G_COUNT] > 0:
                put_answer(buffer, group, key, group, event, moment, start, end, number, sign)
            group = after
        s.key_table[key, TOUCHED] = -1
        s.key_table[key, TOUCHED_COUNT] = 0
    else:
        group = s.key_table[key, LIVE]
        while group >= 0:
            put_answer(buffer, group, key, group, event, moment, start, end, number, 0)
            group = s.group_table[group, G_AFTER]
    s.key_table[key, WAS_START] = start
    s.key_table[key, WAS_END] = end
    if emits or buffer.sizes[ROW_COUNT] > rows_before:
        buffer.sizes[EVALUATION_COUNT] = number + 1


@njit_no_refcount_inline
def _evaluate_for(s: Sliding, buffer: StepBuffer, key: int, event: int, start: int, end: int) -> None:
    """One evaluation for the group of one event, or for that event."""
    number, group, moment = buffer.sizes[EVALUATION_COUNT], s.groups[event], s.times[event]
    if s.plan[MEMBERS] != 0:
        put_row(buffer, key, group, event, moment, start, end, number, 0)
    else:
        put_answer(buffer, group, key, group, event, moment, start, end, number, 0)
    buffer.sizes[EVALUATION_COUNT] = number + 1


@njit_no_refcount
def _has_room_to_evaluate(s: Sliding, buffer: StepBuffer, key: int) -> bool:
    return has_room(buffer, 8 + s.key_table[key, LIVE_COUNT] + s.key_table[key, TOUCHED_COUNT])


@njit_no_refcount_inline
def _start(s: Sliding, key: int, moment: int) -> int:
    """window_start at an evaluation."""
    if s.plan[KIND] == BY_TIME:
        return moment - s.plan[SIZE]
    if s.plan[KIND] == LANDMARK:
        return s.key_table[key, BEGAN]
    first = s.key_table[key, FIRST]
    return s.times[first] if first >= 0 else moment


@njit_no_refcount_inline
def _end(s: Sliding, key: int, moment: int) -> int:
    """window_end at an evaluation."""
    if s.plan[KIND] == BY_TIME:
        return moment
    return s.key_table[key, LAST_TIME]


@njit_no_refcount_inline
def _leaves_at(s: Sliding, time: int) -> int:
    """When an event leaves a window by time."""
    if s.plan[SLIDE] == 0:
        return time + s.plan[STAY]
    return time // s.plan[SLIDE] * s.plan[SLIDE] + s.plan[SIZE]


@njit_no_refcount
def _emit_tick(s: Sliding, buffer: StepBuffer, key: int) -> bool:
    """The evaluation at NEXT, the next multiple of t; False: no room (what is done is done, call again)."""
    moment, every = s.key_table[key, NEXT], s.plan[EVERY]
    if s.plan[KIND] == BY_TIME:
        while s.key_table[key, FIRST] >= 0 and s.times[s.key_table[key, FIRST]] + s.plan[STAY] <= moment:
            if not has_room(buffer, 4):
                return False
            _leave(s, buffer, key)
    if not _has_room_to_evaluate(s, buffer, key):
        return False
    if s.key_table[key, COUNT] > 0 or s.plan[SHOWS] == CHANGES:
        _evaluate(s, buffer, key, moment, -1, _start(s, key, moment), _end(s, key, moment))
    following = moment + every
    if s.key_table[key, COUNT] == 0:  # nothing to see until the next event
        following = max(following, s.key_table[key, LIMIT])
    elif s.plan[SHOWS] == CHANGES:  # nothing changes until something leaves
        quiet = s.key_table[key, LIMIT]
        if s.plan[KIND] == BY_TIME:
            quiet = min(quiet, next_multiple(s.times[s.key_table[key, FIRST]] + s.plan[STAY], every))
        following = max(following, quiet)
    s.key_table[key, NEXT] = following
    return True


@njit_no_refcount
def _emit_expiry(s: Sliding, buffer: StepBuffer, key: int) -> bool:
    """All that leave at the same moment as the oldest member do, and the window is evaluated; False: no room."""
    if s.numbers[PHASE] == 0:
        s.numbers[LOST] = _leaves_at(s, s.times[s.key_table[key, FIRST]])
        s.numbers[PHASE] = 2
    moment = s.numbers[LOST]
    while s.key_table[key, FIRST] >= 0 and _leaves_at(s, s.times[s.key_table[key, FIRST]]) == moment:
        if not has_room(buffer, 4):
            return False
        _leave(s, buffer, key)
    if not _has_room_to_evaluate(s, buffer, key):
        return False
    _evaluate(s, buffer, key, moment, -1, moment - s.plan[SIZE], moment)
    s.numbers[PHASE] = 0
    return True


@njit_no_refcount
def _close_hop(s: Sliding, buffer: StepBuffer, key: int) -> bool:
    """The window from NEXT on closes, and what is before the one after it leaves; False: no room."""
    start = s.key_table[key, NEXT]
    if s.numbers[PHASE] == 0:
        if not _has_room_to_evaluate(s, buffer, key):
            return False
        _evaluate(s, buffer, key, start + s.plan[SIZE], -1, start, start + s.plan[SIZE])
        s.numbers[PHASE] = 2
    while s.key_table[key, FIRST] >= 0 and s.times[s.key_table[key, FIRST]] < start + s.plan[SLIDE]:
        if not has_room(buffer, 4):
            return False
        _leave(s, buffer, key)
    s.numbers[PHASE] = 0
    s.key_table[key, NEXT] = start + s.plan[SLIDE]
    return True


@njit_no_refcount
def _emit_peers(s: Sliding, buffer: StepBuffer, key: int) -> bool:
    """An evaluation for each event of the last moment, now that all of them are in; False: no room."""
    event = s.key_table[key, LIMIT]
    while event >= 0:
        if not _has_room_to_evaluate(s, buffer, key):
            return False
        moment = s.times[event]
        start, end = _start(s, key, moment), _end(s, key, moment)
        if s.plan[OWN] != 0:
            _evaluate_for(s, buffer, key, event, start, end)
        else:
            _evaluate(s, buffer, key, moment, event, start, end)
        following = s.nexts[event] if event != s.key_table[key, LAST] else -1
        if s.plan[CHAINED] == 2:  # it hung there only to wait
            s.nexts[event] = OUTSIDE
            s.key_table[key, LAST] = -1
        event = following
        s.key_table[key, LIMIT] = event
    return True


@njit_no_refcount
def _queue(s: Sliding, key: int) -> None:
    """Put a key on the clock, if time alone will bring something about."""
    if s.key_table[key, QUEUED] != 0:
        return
    rank = FAR
    if s.plan[WHEN] == EVERY_TIME:
        if s.key_table[key, NEXT] <= s.key_table[key, LIMIT]:
            rank = 2 * s.key_table[key, NEXT] + 1
    elif s.plan[WHEN] == ON_EXPIRY:
        first = s.key_table[key, FIRST]
        if first >= 0:
            moment = _leaves_at(s, s.times[first])
            if moment <= s.key_table[key, LAST_TIME]:
                rank = 2 * moment + 1
    elif s.plan[WHEN] == ON_CLOSE:
        if s.key_table[key, COUNT] > 0:
            rank = 2 * (s.key_table[key, NEXT] + s.plan[SIZE])
    elif s.key_table[key, LIMIT] >= 0:
        rank = 2 * s.key_table[key, LAST_TIME] + 1
    if rank < FAR:
        s.numbers[HEAP] = push_key(s.heap, s.numbers[HEAP], rank, key)
        s.key_table[key, QUEUED] = 1


@njit_no_refcount
def _act(s: Sliding, buffer: StepBuffer) -> bool:
    """What is first on the clock; False: no room."""
    key = s.heap[0, 1]
    if s.plan[WHEN] == EVERY_TIME:
        done = _emit_tick(s, buffer, key)
    elif s.plan[WHEN] == ON_EXPIRY:
        done = _emit_expiry(s, buffer, key)
    elif s.plan[WHEN] == ON_CLOSE:
        done = _close_hop(s, buffer, key)
    else:
        done = _emit_peers(s, buffer, key)
    if done:
        s.numbers[HEAP] = pop_key(s.heap, s.numbers[HEAP])
        s.key_table[key, QUEUED] = 0
        _queue(s, key)
    return done


@njit_no_refcount
def _catch_up(s: Sliding, buffer: StepBuffer, key: int, time: int) -> bool:
    """What the next event of a key brings about before it is taken in; False: no room."""
    if s.plan[WHEN] == EVERY_TIME:
        if s.key_table[key, LAST_TIME] == NONE:
            s.key_table[key, NEXT] = next_multiple(time, s.plan[EVERY])
            s.key_table[key, LIMIT] = s.key_table[key, NEXT]
        elif time > s.key_table[key, LIMIT]:
            s.key_table[key, LIMIT] = next_multiple(time, s.plan[EVERY])
        while s.key_table[key, NEXT] < time:
            if not _emit_tick(s, buffer, key):
                return False
    elif s.plan[WHEN] == ON_EXPIRY and s.plan[KIND] == BY_TIME:
        early = 1 if s.plan[SLIDE] == 0 else 0  # a hopping window closes before the events of that moment are taken in
        while s.numbers[PHASE] == 2 or (
            s.key_table[key, FIRST] >= 0 and _leaves_at(s, s.times[s.key_table[key, FIRST]]) + early <= time
        ):
            if not _emit_expiry(s, buffer, key):
                return False
    return True


@njit_no_refcount
def slide_events(s: Sliding, keys: Int64s, opens: Flags, begin: int, end: int, now: int, buffer: StepBuffer) -> int:
    """Take in the events from CURSOR to `end`, and emit what is due at the rank `now`.

    opens: uint8, from `begin` on, for landmarks that begin with an event for which something holds.
    """
    kind, when, own = s.plan[KIND], s.plan[WHEN], s.plan[OWN] != 0
    clocked, catches = s.plan[CLOCKED] != 0, when in (EVERY_TIME, ON_EXPIRY)
    size, stay, slide, every = s.plan[SIZE], s.plan[STAY], s.plan[SLIDE], s.plan[EVERY]
    slides_by_time = kind == BY_TIME and slide == 0 and not catches
    slides_by_count, ordered = kind == BY_COUNT and slide == 0, s.plan[ORDERED] != 0
    event = s.numbers[CURSOR]
    while event < end:
        key, time = keys[event], s.times[event]
        if s.numbers[PHASE] != 1:
            if clocked:
                while s.numbers[HEAP] > 0 and s.heap[0, 0] <= 2 * time:
                    if not _act(s, buffer):
                        s.numbers[CURSOR] = event
                        return FULL
            if catches and not _catch_up(s, buffer, key, time):
                s.numbers[CURSOR] = event
                return FULL
            if ordered:
                call_last(s.order, key)
            if slides_by_time:
                first = s.key_table[key, FIRST]
                while first >= 0 and s.times[first] + stay <= time:
                    if not has_room(buffer, 4):
                        s.numbers[CURSOR] = event
                        return FULL
                    _leave(s, buffer, key)
                    first = s.key_table[key, FIRST]
            if not has_room(buffer, 12 if own else 12 + s.key_table[key, LIVE_COUNT] + s.key_table[key, TOUCHED_COUNT]):
                s.numbers[CURSOR] = event
                return FULL
            lost = False
            if slides_by_count and s.key_table[key, COUNT] == size:
                _leave(s, buffer, key)
                lost = True
            s.key_table[key, SEEN] += 1
            s.key_table[key, LAST_TIME] = time
            inside = True
            if kind == LANDMARK and s.key_table[key, BEGAN] == NONE:
                if s.plan[OPENS] == 0 or opens[event - begin] != 0:
                    s.key_table[key, BEGAN] = time
                else:
                    inside = False
            if inside:
                _enter(s, buffer, key, event)
            elif s.plan[CHAINED] == 2:
                s.nexts[event] = OUTSIDE
            if when == ON_EVENT:
                if s.plan[PEERS] != 0:
                    if s.key_table[key, LIMIT] < 0 and inside:
                        s.key_table[key, LIMIT] = event
                elif own:
                    if inside:
                        _evaluate_for(s, buffer, key, event, _start(s, key, time), _end(s, key, time))
                elif inside:
                    _evaluate(s, buffer, key, time, event, _start(s, key, time), _end(s, key, time))
            elif when == EVERY_COUNT:
                if s.key_table[key, SEEN] % every == 0 and s.key_table[key, COUNT] > 0:
                    _evaluate(s, buffer, key, time, event, _start(s, key, time), _end(s, key, time))
            elif lost and when == ON_EXPIRY:
                _evaluate(s, buffer, key, time, event, _start(s, key, time), _end(s, key, time))
            if slide > 0:
                if kind == BY_TIME:
                    if when == ON_CLOSE and s.key_table[key, QUEUED] == 0:
                        s.key_table[key, NEXT] = max(s.key_table[key, NEXT], ((time - size) // slide + 1) * slide)
                elif s.key_table[key, COUNT] == size:
                    s.numbers[CLOSED_START], s.numbers[CLOSED_END] = s.times[s.key_table[key, FIRST]], time
                    if when == ON_CLOSE:
                        _evaluate(s, buffer, key, time, event, s.numbers[CLOSED_START], time)
                    s.numbers[PHASE] = 1
            if clocked:
                _queue(s, key)
        if s.numbers[PHASE] == 1:
            while s.key_table[key, COUNT] > size - slide:
                if not has_room(buffer, 4):
                    s.numbers[CURSOR] = event
                    return FULL
                _leave(s, buffer, key)
            if when == ON_EXPIRY:
                if not _has_room_to_evaluate(s, buffer, key):
                    s.numbers[CURSOR] = event
                    return FULL
                _evaluate(s, buffer, key, time, event, s.numbers[CLOSED_START], s.numbers[CLOSED_END])
            s.numbers[PHASE] = 0
        event += 1
    s.numbers[CURSOR] = event
    while s.numbers[HEAP] > 0 and s.heap[0, 0] <= now:
        if not _act(s, buffer):
            return FULL
    return DONE


@njit_no_refcount
def close_at_end(s: Sliding, keys: Int64s, buffer: StepBuffer) -> int:
    """The input has ended: evaluate what is open, key by key, from keys[CURSOR] on."""
    while s.numbers[CURSOR] < keys.shape[0]:
        key = keys[s.numbers[CURSOR]]
        moment = s.key_table[key, LAST_TIME]
        while s.numbers[PHASE] == 1 or s.key_table[key, COUNT] > 0:
            if s.numbers[PHASE] == 0:
                if not _has_room_to_evaluate(s, buffer, key):
                    return FULL
                _evaluate(s, buffer, key, moment, -1, _start(s, key, moment), _end(s, key, moment))
                if s.plan[SLIDE] == 0:
                    break
                s.numbers[PHASE] = 1
                s.numbers[LOST] = max(0, s.key_table[key, COUNT] - s.plan[SLIDE])
            while s.key_table[key, COUNT] > s.numbers[LOST]:
                if not has_room(buffer, 4):
                    return FULL
                _leave(s, buffer, key)
            s.numbers[PHASE] = 0
        s.numbers[CURSOR] += 1
    return DONE


@njit_no_refcount
def rejoin(s: Sliding, keys: Int64s, joins: npt.NDArray[np.bool_], begin: int, buffer: StepBuffer) -> int:
    """Enter again the events which were members when a snapshot was taken, from `begin` on; gives where the buffer was
    full."""
    for event in range(begin, joins.shape[0]):
        if not joins[event]:
            if s.plan[CHAINED] == 2:
                s.nexts[event] = OUTSIDE
            continue
        if not has_room(buffer, 2):
            return event
        _join(s, keys[event], s.groups[event], event)
        if s.plan[CHAINED] == 2:  # it only waits, the slots hold it
            s.key_table[keys[event], COUNT] -= 1
            if s.plan[LISTS] != 0:
                s.group_table[s.groups[event], G_COUNT] -= 1
        elif s.plan[SCRIPTED] != 0:
            put_step(buffer, s.plan[STEP], s.groups[event], event)
    return -1


@njit_no_refcount
def list_groups(s: Sliding, keys: Int64s, touched: bool, found_keys: Int64s, found_groups: Int64s) -> int:
    """The groups of these keys that have members, or those touched since the last evaluation, in the order of their
    chains."""
    count = 0
    for key in keys:
        group = s.key_table[key, TOUCHED] if touched else s.key_table[key, LIVE]
        while group >= 0:
            found_keys[count], found_groups[count] = key, group
            count += 1
            group = s.group_table[group, G_TOUCHED] if touched else s.group_table[group, G_AFTER]
    return count


@njit_no_refcount
def chain_groups(s: Sliding, keys: Int64s, groups: Int64s, touched: bool) -> None:
    """The same again: the last of a chain is put in first."""
    for place in range(keys.shape[0] - 1, -1, -1):
        key, group = keys[place], groups[place]
        if touched:
            s.group_table[group, G_TOUCHED] = s.key_table[key, TOUCHED]
            s.key_table[key, TOUCHED] = group
            s.key_table[key, TOUCHED_COUNT] += 1
        else:
            head = s.key_table[key, LIVE]
            s.group_table[group, G_AFTER] = head
            s.group_table[group, G_BEFORE] = -1
            if head >= 0:
                s.group_table[head, G_BEFORE] = group
            s.key_table[key, LIVE] = group
            s.key_table[key, LIVE_COUNT] += 1


@njit_no_refcount
def order_live(s: Sliding, keys: Int64s, groups: Int64s) -> None:
    """Bring the groups in the windows of keys into this order; of some, all members may have been over already."""
    for key in keys:
        s.key_table[key, LIVE] = -1
        s.key_table[key, LIVE_COUNT] = 0
    for place in range(keys.shape[0] - 1, -1, -1):
        if s.group_table[groups[place], G_COUNT] > 0:
            chain_groups(s, keys[place : place + 1], groups[place : place + 1], False)


@njit_no_refcount
def queue_keys(s: Sliding, keys: Int64s) -> None:
    """keys: by their last events."""
    for key in keys:
        call_last(s.order, key)
        if s.plan[CLOCKED] != 0:
            _queue(s, key)
