"""Windows that open and close: a slot for each group of each window.

    event -> windows it opens -> into all that are open -> they are evaluated -> those it closes, and on it goes

Jumping windows, sessions, semantic windows, and hopping ones that are evaluated while they are open.  The windows of
a key close in the order in which they opened, and an event enters all that are open.  So the slots of a group, oldest
first, are those of the oldest windows of its key: walking along both chains finds every slot without a search."""

from __future__ import annotations

from typing import NamedTuple

from cepheid.kernel.columns import Flags, Int64s
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
    put_row,
    put_step,
    settle_rows,
)  # fmt: skip
from cepheid.kernel.compiled.window_clock import FAR, call_last, next_multiple, pop_key, push_key
from cepheid.kernel.compiled.window_steps import ADD, CLEAR

# what the plan says
KIND, SIZE, SLIDE, WHEN, EVERY, SHOWS, MEMBERS, SCRIPTED, CLOSES, ORDERED = range(10)
BY_TIME, BY_COUNT, SESSION, SEMANTIC = range(4)
ON_EVENT, ON_EXPIRY, ON_CLOSE, EVERY_TIME, EVERY_COUNT = range(5)
CONCERNED, ALL, CHANGES = range(3)

# what is known of a key
OLDEST, NEWEST, OPEN, SEEN, LAST_TIME, NEXT, LIMIT, QUEUED, PENDING, OPENINGS, SLOTS = range(11)
# of a window
W_KEY, W_START, W_END, W_FIRST, W_SLOTS, W_SLOT_COUNT, W_NEWER, W_TOUCHED, W_WAS_END, W_NUMBER = range(10)
# of a slot
S_GROUP, S_AFTER, S_NEWER, S_TOUCHED = range(4)
# numbers of the policy
CURSOR, HEAP, FREE_SLOT, FREE_SLOTS, SLOT_TOP, FREE_WINDOW, FREE_WINDOWS, WINDOW_TOP = range(8)

NONE = -FAR
UNTOUCHED = -2


class Instances(NamedTuple):
    """plan, numbers: int64[..]; key_table: int64[keys, 11]; windows: int64[.., 10]; slots: int64[.., 4];
    oldest_slots: int64[groups], -1 if the group is in no window; heap, order: see window_clock."""

    plan: Int64s
    numbers: Int64s
    key_table: Int64s
    windows: Int64s
    slots: Int64s
    oldest_slots: Int64s
    heap: Int64s
    order: Int64s


@njit_no_refcount
def _open(s: Instances, key: int, start: int, end: int, number: int, event: int) -> None:
    if s.numbers[FREE_WINDOWS] > 0:
        window = s.numbers[FREE_WINDOW]
        s.numbers[FREE_WINDOW] = s.windows[window, W_NEWER]
        s.numbers[FREE_WINDOWS] -= 1
    else:
        window = s.numbers[WINDOW_TOP]
        s.numbers[WINDOW_TOP] += 1
    s.windows[window, W_KEY] = key
    s.windows[window, W_START] = start
    s.windows[window, W_END] = end
    s.windows[window, W_FIRST] = event
    s.windows[window, W_SLOTS] = -1
    s.windows[window, W_SLOT_COUNT] = 0
    s.windows[window, W_NEWER] = -1
    s.windows[window, W_TOUCHED] = -1
    s.windows[window, W_WAS_END] = end
    s.windows[window, W_NUMBER] = number
    newest = s.key_table[key, NEWEST]
    if newest >= 0:
        s.windows[newest, W_NEWER] = window
    else:
        s.key_table[key, OLDEST] = window
    s.key_table[key, NEWEST] = window
    s.key_table[key, OPEN] += 1


@njit_no_refcount_inline
def _take_slot(s: Instances, key: int, window: int, group: int) -> int:
    if s.numbers[FREE_SLOTS] > 0:
        slot = s.numbers[FREE_SLOT]
        s.numbers[FREE_SLOT] = s.slots[slot, S_AFTER]
        s.numbers[FREE_SLOTS] -= 1
    else:
        slot = s.numbers[SLOT_TOP]
        s.numbers[SLOT_TOP] += 1
    s.slots[slot, S_GROUP] = group
    s.slots[slot, S_AFTER] = s.windows[window, W_SLOTS]
    s.slots[slot, S_NEWER] = -1
    s.slots[slot, S_TOUCHED] = UNTOUCHED
    s.windows[window, W_SLOTS] = slot
    s.windows[window, W_SLOT_COUNT] += 1
    s.key_table[key, SLOTS] += 1
    return slot


@njit_no_refcount_inline
def _end_of(s: Instances, key: int, window: int) -> int:
    """window_end, as it is now."""
    if s.plan[KIND] == BY_TIME:
        return s.windows[window, W_END]
    if s.plan[KIND] == SESSION:
        return s.key_table[key, LAST_TIME] + s.plan[SIZE]
    return s.key_table[key, LAST_TIME]


@njit_no_refcount
def _begin_answer(s: Instances, buffer: StepBuffer, key: int, window: int, slot: int) -> None:
    """Begin the row that says how a slot was."""
    start, end = s.windows[window, W_START], s.windows[window, W_WAS_END]
    place = put_answer(buffer, slot, key, s.slots[slot, S_GROUP], -1, 0, start, end, -1, -1)
    buffer.rows[LINK, place] = s.key_table[key, PENDING]
    s.key_table[key, PENDING] = place


@njit_no_refcount
def _settle(s: Instances, buffer: StepBuffer, key: int, event: int, moment: int) -> bool:
    """Give the rows that were begun their evaluation; False: there are none."""
    if s.key_table[key, PENDING] < 0:
        return False
    settle_rows(buffer, s.key_table[key, PENDING], event, moment, -1, -2, s.plan[MEMBERS])
    s.key_table[key, PENDING] = -1
    return True


@njit_no_refcount
def _evaluate(s: Instances, buffer: StepBuffer, key: int, moment: int, event: int) -> None:
    """One evaluation of all open windows of a key, by their start."""
    number, rows_before = buffer.sizes[EVALUATION_COUNT], buffer.sizes[ROW_COUNT]
    emits = _settle(s, buffer, key, event, moment)
    changes = s.plan[SHOWS] == CHANGES
    window = s.key_table[key, OLDEST]
    while window >= 0:
        start, end = s.windows[window, W_START], _end_of(s, key, window)
        if changes:
            slot = s.windows[window, W_TOUCHED]
            while slot >= 0:
                put_answer(buffer, slot, key, s.slots[slot, S_GROUP], event, moment, start, end, number, 1)
                after = s.slots[slot, S_TOUCHED]
                s.slots[slot, S_TOUCHED] = UNTOUCHED
                slot = after
            s.windows[window, W_TOUCHED] = -1
        else:
            slot = s.windows[window, W_SLOTS]
            while slot >= 0:
                put_answer(buffer, slot, key, s.slots[slot, S_GROUP], event, moment, start, end, number, 0)
                slot = s.slots[slot, S_AFTER]
        s.windows[window, W_WAS_END] = end
        window = s.windows[window, W_NEWER]
    if emits or buffer.sizes[ROW_COUNT] > rows_before:
        buffer.sizes[EVALUATION_COUNT] = number + 1


@njit_no_refcount
def _close(s: Instances, buffer: StepBuffer, key: int, moment: int, event: int, emits: bool) -> None:
    """The oldest window of a key closes; needs room for four steps and two rows for each of its slots."""
    window = s.key_table[key, OLDEST]
    when, shows, members = s.plan[WHEN], s.plan[SHOWS], s.plan[MEMBERS] != 0
    start, end = s.windows[window, W_START], _end_of(s, key, window)
    number = buffer.sizes[EVALUATION_COUNT]
    if when == ON_CLOSE:
        _settle(s, buffer, key, event, moment)
        slot = s.windows[window, W_SLOTS]
        while slot >= 0:
            sign = 1 if shows == CHANGES else 0
            put_answer(buffer, slot, key, s.slots[slot, S_GROUP], event, moment, start, end, number, sign)
            slot = s.slots[slot, S_AFTER]
        s.windows[window, W_WAS_END] = end
        buffer.sizes[EVALUATION_COUNT] = number + 1
    expires = when == ON_EXPIRY and shows == CONCERNED and emits
    slot = s.windows[window, W_SLOTS]
    while slot >= 0:
        group = s.slots[slot, S_GROUP]
        # members that came since the last evaluation would be emitted as inserted and as deleted: nothing
        if shows == CHANGES and when != ON_EXPIRY and (s.slots[slot, S_TOUCHED] == UNTOUCHED or members):
            _begin_answer(s, buffer, key, window, slot)
        if expires and members:
            put_answer(buffer, slot, key, group, event, moment, start, end, number, 0)
        if s.plan[SCRIPTED] != 0:
            put_step(buffer, CLEAR, slot, 0)
        if expires and not members:
            put_answer(buffer, slot, key, group, event, moment, start, end, number, 0)
        s.oldest_slots[group] = s.slots[slot, S_NEWER]
        after = s.slots[slot, S_AFTER]
        s.slots[slot, S_AFTER] = s.numbers[FREE_SLOT]
        s.numbers[FREE_SLOT] = slot
        s.numbers[FREE_SLOTS] += 1
        slot = after
    if expires:
        buffer.sizes[EVALUATION_COUNT] = number + 1
    s.key_table[key, SLOTS] -= s.windows[window, W_SLOT_COUNT]
    newer = s.windows[window, W_NEWER]
    s.key_table[key, OLDEST] = newer
    if newer < 0:
        s.key_table[key, NEWEST] = -1
    s.key_table[key, OPEN] -= 1
    s.windows[window, W_KEY] = -1
    s.windows[window, W_NEWER] = s.numbers[FREE_WINDOW]
    s.numbers[FREE_WINDOW] = window
    s.numbers[FREE_WINDOWS] += 1


@njit_no_refcount_inline
def _close_rank(s: Instances, key: int) -> int:
    """When time closes the oldest window of a key."""
    if s.key_table[key, OPEN] == 0:
        return FAR
    if s.plan[KIND] == BY_TIME:
        return 2 * s.windows[s.key_table[key, OLDEST], W_END]
    if s.plan[KIND] == SESSION:
        return 2 * (s.key_table[key, LAST_TIME] + s.plan[SIZE]) + 1
    return FAR


@njit_no_refcount
def _advance(s: Instances, buffer: StepBuffer, key: int, until: int) -> bool:
    """Closes and evaluations of one key, in order, up to a rank; False: no room."""
    while True:
        close = _close_rank(s, key)
        tick = FAR
        if s.plan[WHEN] == EVERY_TIME:
            if s.key_table[key, OPEN] == 0 and s.key_table[key, PENDING] < 0:  # nothing to see until the next event
                s.key_table[key, NEXT] = max(s.key_table[key, NEXT], s.key_table[key, LIMIT])
            if s.key_table[key, NEXT] <= s.key_table[key, LIMIT]:
                tick = 2 * s.key_table[key, NEXT] + 1
            elif close == until and (until & 1) == 1:  # the next event decides whether there is one more evaluation
                return True
        if min(close, tick) > until:
            return True
        if not has_room(buffer, 8 + 4 * s.key_table[key, SLOTS]):
            return False
        if tick <= close:
            moment, every = s.key_table[key, NEXT], s.plan[EVERY]
            _evaluate(s, buffer, key, moment, -1)
            following = moment + every
            if s.plan[SHOWS] == CHANGES:  # nothing changes until a window closes
                quiet = s.key_table[key, LIMIT]
                if close < FAR:
                    quiet = min(quiet, next_multiple((close + 1) >> 1, every))
                following = max(following, quiet)
            s.key_table[key, NEXT] = following
        else:
            _close(s, buffer, key, close >> 1, -1, True)


@njit_no_refcount_inline
def _queue(s: Instances, key: int) -> None:
    """Put a key on the clock, if time alone will bring something about."""
    if s.key_table[key, QUEUED] != 0 or s.plan[WHEN] == ON_EXPIRY:
        return
    if s.plan[WHEN] == EVERY_TIME:
        rank = 2 * s.key_table[key, NEXT] + 1 if s.key_table[key, NEXT] <= s.key_table[key, LIMIT] else FAR
    else:
        rank = _close_rank(s, key)
    if rank < FAR:
        s.numbers[HEAP] = push_key(s.heap, s.numbers[HEAP], rank, key)
        s.key_table[key, QUEUED] = 1


@njit_no_refcount
def _act(s: Instances, buffer: StepBuffer) -> bool:
    """What is first on the clock, unless it has been put off (a session went on); False: no room."""
    rank, key = s.heap[0, 0], s.heap[0, 1]
    if not _advance(s, buffer, key, rank):
        return False
    s.numbers[HEAP] = pop_key(s.heap, s.numbers[HEAP])
    s.key_table[key, QUEUED] = 0
    _queue(s, key)
    return True


@njit_no_refcount_inline
def _count_openings(s: Instances, key: int, time: int, opens: bool) -> int:
    """How many windows an event opens."""
    kind, newest = s.plan[KIND], s.key_table[key, NEWEST]
    if kind == BY_TIME:
        if newest >= 0 and time < s.windows[newest, W_START] + s.plan[SLIDE]:
            return 0
        first = (time - s.plan[SIZE]) // s.plan[SLIDE] + 1
        if newest >= 0:
            first = max(first, s.windows[newest, W_NUMBER] + 1)
        return time // s.plan[SLIDE] - first + 1
    if kind == BY_COUNT:  # the slide is at most the size: a window is open unless the next one is just to begin
        return 1 if newest < 0 or s.key_table[key, SEEN] - s.windows[newest, W_NUMBER] == s.plan[SLIDE] else 0
    if kind == SESSION:
        return 1 if s.key_table[key, OPEN] == 0 else 0
    if not opens:
        return 0
    if s.plan[SLIDE] == 0:
        return 1 if s.key_table[key, OPEN] == 0 else 0
    return 1 if s.key_table[key, OPENINGS] % s.plan[SLIDE] == 0 else 0


@njit_no_refcount_inline
def _add(s: Instances, buffer: StepBuffer, key: int, group: int, event: int, time: int) -> None:
    """Into all open windows, and a row for each if every event has one."""
    own = s.plan[WHEN] == ON_EVENT and s.plan[SHOWS] == CONCERNED
    touches = s.plan[SHOWS] == CHANGES and s.plan[WHEN] != ON_CLOSE and s.plan[WHEN] != ON_EXPIRY
    members, scripted = s.plan[MEMBERS] != 0, s.plan[SCRIPTED] != 0
    number = buffer.sizes[EVALUATION_COUNT]
    window, slot, before = s.key_table[key, OLDEST], s.oldest_slots[group], -1
    while window >= 0:
        is_new = slot < 0
        if is_new:
            slot = _take_slot(s, key, window, group)
            if before >= 0:
                s.slots[before, S_NEWER] = slot
            else:
                s.oldest_slots[group] = slot
        if touches:
            if members:
                start, end = s.windows[window, W_START], _end_of(s, key, window)
                place = put_row(buffer, key, group, event, 0, start, end, -1, 1)
                buffer.rows[LINK, place] = s.key_table[key, PENDING]
                s.key_table[key, PENDING] = place
            elif s.slots[slot, S_TOUCHED] == UNTOUCHED:
                if not is_new:
                    _begin_answer(s, buffer, key, window, slot)
                s.slots[slot, S_TOUCHED] = s.windows[window, W_TOUCHED]
                s.windows[window, W_TOUCHED] = slot
        if scripted:
            put_step(buffer, ADD, slot, event)
        if own:
            start, end = s.windows[window, W_START], _end_of(s, key, window)
            if members:
                put_row(buffer, key, group, event, time, start, end, number, 0)
            else:
                put_answer(buffer, slot, key, group, event, time, start, end, number, 0)
        before, slot = slot, s.slots[slot, S_NEWER]
        window = s.windows[window, W_NEWER]
    if own and before >= 0:
        buffer.sizes[EVALUATION_COUNT] = number + 1


@njit_no_refcount
def fill_windows(
    s: Instances,
    times: Int64s,
    keys: Int64s,
    groups: Int64s,
    opens: Flags,
    closes: Flags,
    begin: int,
    end: int,
    now: int,
    buffer: StepBuffer,
) -> int:
    """Take in the events from CURSOR to `end`, and emit what is due at the rank `now`.

    opens, closes: uint8, from `begin` on, for semantic windows.
    """
    kind, when, every = s.plan[KIND], s.plan[WHEN], s.plan[EVERY]
    is_semantic, clocked = kind == SEMANTIC, kind in (BY_TIME, SESSION) or when == EVERY_TIME
    own_clock = when in (EVERY_TIME, ON_EXPIRY)
    evaluates_at_event = when == ON_EVENT and s.plan[SHOWS] != CONCERNED
    event = s.numbers[CURSOR]
    while event < end:
        key, time = keys[event], times[event]
        if clocked:
            while s.numbers[HEAP] > 0 and s.heap[0, 0] <= 2 * time:
                if not _act(s, buffer):
                    s.numbers[CURSOR] = event
                    return FULL
        if own_clock:
            if when == EVERY_TIME:
                if s.key_table[key, LAST_TIME] == NONE:
                    s.key_table[key, NEXT] = next_multiple(time, every)
                    s.key_table[key, LIMIT] = s.key_table[key, NEXT]
                elif time > s.key_table[key, LIMIT]:
                    s.key_table[key, LIMIT] = next_multiple(time, every)
            if not _advance(s, buffer, key, 2 * time):
                s.numbers[CURSOR] = event
                return FULL
        if s.plan[ORDERED] != 0:
            call_last(s.order, key)
        is_opening = is_semantic and opens[event - begin] != 0
        is_closing = is_semantic and s.plan[CLOSES] != 0 and closes[event - begin] != 0
        opened = _count_openings(s, key, time, is_opening)
        open_then = s.key_table[key, OPEN] + opened
        if kind == BY_COUNT:
            oldest = s.key_table[key, OLDEST]
            first = s.windows[oldest, W_NUMBER] if oldest >= 0 else s.key_table[key, SEEN]
            is_closing = s.key_table[key, SEEN] + 1 - first == s.plan[SIZE]
        is_counted = when == EVERY_COUNT and (s.key_table[key, SEEN] + 1) % every == 0
        needed = 8 + 4 * open_then
        if is_closing or is_counted or evaluates_at_event:
            needed += 5 * (s.key_table[key, SLOTS] + open_then)
        if not has_room(buffer, needed):
            s.numbers[CURSOR] = event
            return FULL
        if s.numbers[FREE_SLOTS] + s.slots.shape[0] - s.numbers[SLOT_TOP] < open_then:
            s.numbers[CURSOR] = event
            return NEEDS_SLOTS
        if s.numbers[FREE_WINDOWS] + s.windows.shape[0] - s.numbers[WINDOW_TOP] < opened:
            s.numbers[CURSOR] = event
            return NEEDS_WINDOWS
        if opened > 0:
            if kind == BY_TIME:
                last = time // s.plan[SLIDE]
                for number in range(last - opened + 1, last + 1):
                    _open(s, key, number * s.plan[SLIDE], number * s.plan[SLIDE] + s.plan[SIZE], number, event)
            else:
                _open(s, key, time, time, s.key_table[key, SEEN], event)
        if is_opening:
            s.key_table[key, OPENINGS] += 1
        s.key_table[key, SEEN] += 1
        s.key_table[key, LAST_TIME] = time
        if open_then > 0:
            _add(s, buffer, key, groups[event], event, time)
        if evaluates_at_event or is_counted:
            _evaluate(s, buffer, key, time, event)
        if is_closing:
            if is_semantic:
                emits = True  # those that one event closes lose their events together
                while s.key_table[key, OPEN] > 0:
                    _close(s, buffer, key, time, event, emits)
                    emits = False
            else:
                _close(s, buffer, key, time, event, True)
        if clocked:
            _queue(s, key)
        event += 1
    s.numbers[CURSOR] = event
    while s.numbers[HEAP] > 0 and s.heap[0, 0] <= now:
        if not _act(s, buffer):
            return FULL
    return DONE


@njit_no_refcount
def close_at_end(s: Instances, keys: Int64s, buffer: StepBuffer) -> int:
    """The input has ended: close what is open, key by key, from keys[CURSOR] on."""
    while s.numbers[CURSOR] < keys.shape[0]:
        key = keys[s.numbers[CURSOR]]
        while s.key_table[key, OPEN] > 0:
            if not has_room(buffer, 8 + 4 * s.key_table[key, SLOTS]):
                return FULL
            _close(s, buffer, key, s.key_table[key, LAST_TIME], -1, True)
        s.numbers[CURSOR] += 1
    return DONE


@njit_no_refcount
def readd(s: Instances, keys: Int64s, groups: Int64s, begin: int, end: int, buffer: StepBuffer) -> int:
    """Add events to the windows that held them when a snapshot was taken, from `begin` on; gives where the buffer was
    full."""
    for event in range(begin, end):
        key = keys[event]
        if s.key_table[key, OPEN] == 0:
            continue
        if not has_room(buffer, s.key_table[key, OPEN]):
            return event
        window, slot = s.key_table[key, OLDEST], s.oldest_slots[groups[event]]
        while window >= 0 and slot >= 0:
            if s.windows[window, W_FIRST] <= event:
                put_step(buffer, ADD, slot, event)
            window, slot = s.windows[window, W_NEWER], s.slots[slot, S_NEWER]
    return -1


@njit_no_refcount
def list_windows(s: Instances, keys: Int64s, windows: Int64s, slots: Int64s) -> None:
    """The windows of these keys, oldest first, and their slots: the last of a window first, as they were put in."""
    count, slot_count = 0, 0
    for key in keys:
        window = s.key_table[key, OLDEST]
        while window >= 0:
            windows[count] = window
            count += 1
            slot_count += s.windows[window, W_SLOT_COUNT]
            place = slot_count
            slot = s.windows[window, W_SLOTS]
            while slot >= 0:
                place -= 1
                slots[place] = slot
                slot = s.slots[slot, S_AFTER]
            window = s.windows[window, W_NEWER]


@njit_no_refcount
def rank_touched(s: Instances, windows: Int64s, ranks: Int64s) -> None:
    """ranks: int64[slots], all 0: 1 for the slot of its window that was touched last, 2 for the one before it, ..."""
    for window in windows:
        rank, slot = 0, s.windows[window, W_TOUCHED]
        while slot >= 0:
            rank += 1
            ranks[slot] = rank
            slot = s.slots[slot, S_TOUCHED]


@njit_no_refcount
def touch_slots(s: Instances, windows: Int64s, slots: Int64s) -> None:
    """Of each window that which was touched first comes first."""
    for place in range(slots.shape[0]):
        window, slot = windows[place], slots[place]
        s.slots[slot, S_TOUCHED] = s.windows[window, W_TOUCHED]
        s.windows[window, W_TOUCHED] = slot


@njit_no_refcount
def reopen_windows(
    s: Instances,
    keys: Int64s,
    rows: Int64s,
    slot_counts: Int64s,
    groups: Int64s,
    by_last: Int64s,
) -> None:
    """What `list_windows` found, in a new object; windows and slots are numbered in their order.  by_last: all keys, by
    their last events."""
    place = 0
    for number in range(keys.shape[0]):
        key = keys[number]
        _open(s, key, rows[number, 0], rows[number, 1], rows[number, 4], rows[number, 2])
        window = s.key_table[key, NEWEST]
        s.windows[window, W_WAS_END] = rows[number, 3]
        for _ in range(slot_counts[number]):
            group = groups[place]
            slot = _take_slot(s, key, window, group)
            last = s.oldest_slots[group]
            if last < 0:
                s.oldest_slots[group] = slot
            else:
                while s.slots[last, S_NEWER] >= 0:
                    last = s.slots[last, S_NEWER]
                s.slots[last, S_NEWER] = slot
            place += 1
    for key in by_last:
        call_last(s.order, key)
        _queue(s, key)
