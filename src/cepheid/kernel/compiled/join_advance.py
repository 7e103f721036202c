"""Let events arrive one by one: each looks for partners in the windows of the other inputs, then enters its own.

    heads[k, j]     newest event of input j with key k ─links▶ the one before it ─links▶ ...
    oldest[j]       first event of input j ─follows▶ the next one ─follows▶ ...
    gone[p, j]      newest event that has left the window of program p over input j

A partner is found along the links of its key, newest first, up to the first one that is gone: what has left costs
nothing, however long the window is.  All programs look at what is found on one walk.  Where partitions count by
themselves, events do not leave in order; the first walk that meets one that is in no window any more takes it out.

What is found are *candidates*: the rest of the condition is asked later, for many at once.  Then `settle` knows who is
without a partner.  So that it need not look at events again, an event that comes out with nulls at its arrival is put
behind its candidates as a *marker*: nothing but this event.  Who leaves is reported in `settle` alone, by their times.

If there is no room for the next candidate, `advance` stops and says so; it goes on from there when called again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cepheid.kernel.compiled.njit_options import njit

TIME, COUNT, PARTITIONED, ENDLESS = range(4)
NOTHING = -1
NEVER = np.iinfo(np.int64).max

DONE, NEEDS_WIDTH = -1, -2
"""What `advance` gives, besides the number of a program that has no room."""

EVENT, STAGE, PROGRAM, _TOUCHED = range(4)
"""Where `advance` stopped: int64[4].  The last one means nothing: what is written nowhere is not fetched either."""

_BLOCK = 32

_ARRIVING, _GATHERING, _CHOOSING, _LISTING, _CLOSING = range(5)


class Log(NamedTuple):
    """What is kept of every event.  Only windows that count by partition need the last two (else: capacity 1)."""

    times: Any  # int64[capacity]
    links: Any  # int64[capacity]: the event before it with its key, of its input
    follows: Any  # int64[capacity]: the next event of its input
    parts: Any  # int64[capacity]
    ordinals: Any  # int64[capacity]: how many events of its input and partition came before it


class Ends(NamedTuple):
    """Where chains begin and end, and what was counted."""

    heads: Any  # int64[keys, inputs]
    oldest: Any  # int64[inputs]
    newest: Any  # int64[inputs]
    counts: Any  # int64[inputs]
    tallies: Any  # int64[partitions, inputs]


class Arrivals(NamedTuple):
    """The batch at hand."""

    streams: Any  # int64[n]
    keys: Any  # int64[n]
    partitions: Any  # int64[n]


class Plan(NamedTuple):
    """The programs as tables."""

    kinds: Any  # int64[programs, inputs]: TIME, COUNT, PARTITIONED or ENDLESS
    reaches: Any  # int64[programs, inputs]: TIME: the greatest age in the window; else how many events it holds
    preserved: Any  # int64[programs, inputs]: 1 if events come out without a partner
    leavers: Any  # int64[programs]: its row in `matched` if it emits leavers, else NOTHING
    widest: Any  # int64[inputs]: the greatest reach of PARTITIONED windows, 0 if there is none
    emits_arrivals: int  # does any program give nulls at arrival?


class JoinScratch(NamedTuple):
    """Where programs are, and the event at hand."""

    gone: Any  # int64[programs, inputs]
    gone_counts: Any  # int64[programs, inputs]: how many have left, for COUNT
    reported: Any  # int64[programs, inputs]: newest event whose leaving is dealt with, as are all before it
    triggers: Any  # int64[programs]: of the last row
    gathered: Any  # int64[inputs, width]: newest first, for all programs
    gathered_counts: Any  # int64[inputs]
    chosen: Any  # int64[inputs, width]: oldest first, for one program
    chosen_counts: Any  # int64[inputs]
    picks: Any  # int64[inputs]: which of the chosen make up the next candidate
    cursor: Any  # int64[4]


class Found(NamedTuple):
    """Candidates and markers, until they are settled."""

    rows: Any  # int64[programs, room, inputs]
    used: Any  # int64[programs]
    matched: Any  # uint8[programs that emit leavers, at least 1; capacity]


@njit()
def advance(
    log: Log, ends: Ends, arrivals: Arrivals, plan: Plan, scratch: JoinScratch, found: Found,
    base: int, stop: int, only_enters: bool,
) -> int:  # fmt: skip
    """Take in events base to stop.

    only_enters: the events met each other before, nothing is to be found.

    One long function of plain names: an array handed to another function, or taken out of a tuple, has its references
    counted, and a few dozen of these per event took four fifths of the time.
    """
    times, links, follows, parts, ordinals = log
    heads, oldest, newest, counts, tallies = ends
    streams, keys, partitions = arrivals
    kinds, reaches, preserved, leavers, widest = plan.kinds, plan.reaches, plan.preserved, plan.leavers, plan.widest
    emits_arrivals = plan.emits_arrivals
    gone, gone_counts, cursor, picks = scratch.gone, scratch.gone_counts, scratch.cursor, scratch.picks
    gathered, gathered_counts = scratch.gathered, scratch.gathered_counts
    chosen, chosen_counts = scratch.chosen, scratch.chosen_counts
    rows, used = found.rows, found.used
    programs, inputs = kinds.shape
    room, width = rows.shape[1], gathered.shape[1]
    event, stage, program = cursor[EVENT], cursor[STAGE], cursor[PROGRAM]
    outcome = DONE
    touched = 0
    while True:
        if stage == _ARRIVING:
            if (event - base) % _BLOCK == 0 and not only_enters:
                # Keys are scattered: fetching for many events at once, the waits for memory overlap.
                for later in range(event, min(event + _BLOCK, stop)):
                    key = keys[later - base]
                    for j in range(inputs):
                        if key >= 0 and j != streams[later - base] and heads[key, j] != NOTHING:
                            touched += links[heads[key, j]]
            if event == stop:
                break
            stage, program = (_CHOOSING, programs) if only_enters else (_GATHERING, 0)
        stream, key = streams[event - base], keys[event - base]

        if stage == _GATHERING:
            count = 0
            for j in range(inputs):
                if j == stream or key < 0:
                    continue
                # Windows lose events.  Those up to `bound` are in none, except where partitions count by themselves.
                bound = NEVER
                for p in range(programs):
                    kind, last = kinds[p, j], gone[p, j]
                    if kind == TIME:
                        edge = times[event] - reaches[p, j]
                        following = oldest[j] if last == NOTHING else follows[last]
                        while following != NOTHING and times[following] < edge:
                            last = following
                            following = follows[last]
                        gone[p, j] = last
                    elif kind == COUNT:
                        while gone_counts[p, j] < counts[j] - reaches[p, j]:
                            last = oldest[j] if last == NOTHING else follows[last]
                            gone_counts[p, j] += 1
                        gone[p, j] = last
                    if kind != PARTITIONED:
                        bound = min(bound, last)
                # Walk along the key, newest first.
                count = 0
                newer, partner = NOTHING, heads[key, j]
                while partner != NOTHING:
                    if partner <= bound:
                        if widest[j] == 0:
                            break
                        if tallies[parts[partner], j] - ordinals[partner] > widest[j]:
                            partner = links[partner]
                            if newer == NOTHING:
                                heads[key, j] = partner
                            else:
                                links[newer] = partner
                            continue
                    if count == width:
                        outcome = NEEDS_WIDTH
                        break
                    gathered[j, count] = partner
                    count += 1
                    newer, partner = partner, links[partner]
                gathered_counts[j] = count
                if count == 0 or outcome == NEEDS_WIDTH:
                    break
            if outcome == NEEDS_WIDTH:
                break
            if count == 0:  # one input has nothing: so there is no row, whatever the others have
                for j in range(inputs):
                    gathered_counts[j] = 0
            program = 0 if count > 0 or emits_arrivals else programs
            stage = _CHOOSING

        while program < programs:
            if stage == _CHOOSING:
                # Of what was gathered, what is in the windows of this program, oldest first.
                stage = _LISTING
                for j in range(inputs):
                    if j == stream:
                        continue
                    count = 0
                    by_partition, reach, bound = kinds[program, j] == PARTITIONED, reaches[program, j], gone[program, j]
                    by_time = kinds[program, j] == TIME
                    for place in range(gathered_counts[j] - 1, -1, -1):
                        partner = gathered[j, place]
                        if by_partition:
                            if tallies[parts[partner], j] - ordinals[partner] > reach:
                                continue
                        elif partner <= bound or (by_time and times[partner] < times[event] - reach):
                            continue  # by its time: a new key may come with events that are behind those of others
                        chosen[j, count] = partner
                        count += 1
                    chosen_counts[j] = count
                    picks[j] = 0
                    if count == 0:
                        stage = _CLOSING
                        break
            if stage == _LISTING:
                # All combinations: the rightmost input moves on first, as the last digit of a counter.
                fastest = inputs - 2 if stream == inputs - 1 else inputs - 1
                place = used[program]
                while stage == _LISTING:
                    first = picks[fastest]
                    end = min(chosen_counts[fastest], first + room - place)
                    for pick in range(first, end):
                        for j in range(fastest):
                            rows[program, place, j] = event if j == stream else chosen[j, picks[j]]
                        rows[program, place, fastest] = chosen[fastest, pick]
                        if fastest == inputs - 2:
                            rows[program, place, inputs - 1] = event
                        place += 1
                    picks[fastest] = end
                    if end < chosen_counts[fastest]:
                        break
                    picks[fastest] = 0
                    stage = _CLOSING
                    for j in range(fastest - 1, -1, -1):
                        if j != stream:
                            picks[j] += 1
                            if picks[j] < chosen_counts[j]:
                                stage = _LISTING
                                break
                            picks[j] = 0
                used[program] = place
                if stage == _LISTING:
                    break
            if preserved[program, stream] and leavers[program] == NOTHING:
                if used[program] == room:
                    break
                for j in range(inputs):
                    rows[program, used[program], j] = event if j == stream else NOTHING
                used[program] += 1
            stage = _CHOOSING
            program += 1
        if program < programs:
            outcome = program
            break

        if key >= 0:
            links[event] = heads[key, stream]
            heads[key, stream] = event
        follows[event] = NOTHING
        if newest[stream] == NOTHING:
            oldest[stream] = event
        else:
            follows[newest[stream]] = event
        newest[stream] = event
        counts[stream] += 1
        if widest[stream]:
            partition = partitions[event - base]
            parts[event] = partition
            ordinals[event] = tallies[partition, stream]
            tallies[partition, stream] += 1
        event += 1
        stage = _ARRIVING
    cursor[EVENT], cursor[STAGE], cursor[PROGRAM], cursor[_TOUCHED] = event, stage, program, touched
    return outcome


@njit()
def settle(
    log: Log, ends: Ends, plan: Plan, scratch: JoinScratch, found: Found, program: int, accepted: Any,
    asks: bool, until: int,
    last: int, rows: Any, moments: Any,
) -> int:  # fmt: skip
    """Write down candidates that are accepted, and events without a partner: how many rows.

    accepted: uint8[candidates], markers left out, if `asks`; until: events that leave before it are reported (NEVER:
    all who are left); last: the time of the last event, at which endless windows are said to lose theirs.
    """
    times, follows, oldest, reported, triggers = log.times, log.follows, ends.oldest, scratch.reported, scratch.triggers
    kinds, reaches, preserved = plan.kinds, plan.reaches, plan.preserved
    candidates, matched = found.rows, found.matched
    inputs = kinds.shape[1]
    leavers = plan.leavers[program]
    used = found.used[program]
    count = place = answer = 0
    while True:
        moment = until
        trigger = NOTHING
        while place < used and trigger == NOTHING:
            newest, eldest = candidates[program, place, 0], candidates[program, place, 0]
            for j in range(1, inputs):
                newest, eldest = max(newest, candidates[program, place, j]), min(eldest, candidates[program, place, j])
            if eldest == NOTHING:
                if newest != triggers[program]:
                    trigger = newest
            else:
                if not asks or accepted[answer]:
                    trigger = newest
                answer += 1
            place += 1
        if trigger != NOTHING:
            moment = times[trigger]
            triggers[program] = trigger

        while leavers != NOTHING:  # those before the trigger, of all sides together in order
            leaver, side, leaving = NOTHING, NOTHING, moment
            for j in range(inputs):
                if preserved[program, j]:
                    event = oldest[j] if reported[program, j] == NOTHING else follows[reported[program, j]]
                    while event != NOTHING and matched[leavers, event]:
                        reported[program, j] = event
                        event = follows[event]
                    if event != NOTHING:
                        over = times[event] + reaches[program, j] if kinds[program, j] == TIME else NEVER - 1
                        if over < leaving or (over == leaving and event < leaver):
                            leaver, side, leaving = event, j, over
            if leaver == NOTHING:
                break
            reported[program, side] = leaver
            for j in range(inputs):
                rows[count, j] = leaver if j == side else NOTHING
            moments[count] = leaving if kinds[program, side] == TIME else last
            count += 1

        if trigger == NOTHING:
            break
        for j in range(inputs):
            rows[count, j] = candidates[program, place - 1, j]
            if leavers != NOTHING:
                matched[leavers, candidates[program, place - 1, j]] = 1
        moments[count] = moment
        count += 1
    found.used[program] = 0
    return count
