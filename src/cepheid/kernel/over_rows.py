"""OVER over arrays: what each row picks, as soon as that is settled, and which rows must be kept for it.

Each row knows its place among the rows of its key (`pos`), and, for each sequence of rows that a function counts
(all, or those with a value in a column), how many of them came before it.  These numbers count from the first row of
the key, also once it is forgotten.  So a function asks for a member of a sequence by its number, and finds it among
those of its key that are kept: a few from the beginning, and all from some place on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cepheid.event_time import END
from cepheid.kernel.columns import Int64s
from cepheid.kernel.over import Flags, OverEvents, OverFrame, OverFunction, OverProgram, SettledRows

Arrays = dict[str, Int64s]
Value = TypeVar("Value", bound=np.generic)
NEVER = np.int64(2**63 - 1)
SPARE = 4096  # rows that are not worth forgetting
OF_EACH_ROW = ("_times", "_keys", "_pos", "_rank", "_dense", "_done", "_numbers")
FARTHEST = 2**60  # rows: no stream has as many, and numbers beyond it would not fit


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Rows of some keys, by key, then in order.  rows: int64[m]; firsts, ends: int64[m], where those of the same key
    begin and end."""

    rows: Int64s
    firsts: Int64s
    ends: Int64s

    def find(self, places: Int64s, wanted: Int64s, numbers: Int64s) -> Int64s:
        """int64[places]: where the row with the wanted number of the same key stands, -1 if it is not there.  numbers:
        int64[m], ascending within a key, without gaps but for one."""
        if not len(self.rows):
            return np.full(len(places), -1, dtype=np.int64)
        first, end = self.firsts[places], self.ends[places]
        found = np.full(len(places), -1, dtype=np.int64)
        for guess in (end - 1 - (numbers[end - 1] - wanted), first + wanted):  # from the end, from the beginning
            inside = (guess >= first) & (guess < end)
            safe = np.where(inside, guess, first)
            found = np.where(inside & (numbers[safe] == wanted), safe, found)
        return found


class OverRowsKernel:
    """The operator.  Rows are numbered as they come, from 0; those that nobody asks for any more are forgotten here,
    though whoever has them may keep them: so what a step costs does not grow with them."""

    def __init__(self, program: OverProgram) -> None:
        self._program = program
        self._sequences = program.sequences
        self._times: Int64s = np.zeros(0, dtype=np.int64)
        self._keys: Int64s = np.zeros(0, dtype=np.int64)
        self._pos: Int64s = np.zeros(0, dtype=np.int64)
        self._rank: Int64s = np.zeros(0, dtype=np.int64)
        self._dense: Int64s = np.zeros(0, dtype=np.int64)
        self._done: Flags = np.zeros(0, dtype=np.bool_)
        self._member: list[Flags] = [np.zeros(0, dtype=np.bool_) for _ in self._sequences]
        self._before: list[Int64s] = [np.zeros(0, dtype=np.int64) for _ in self._sequences]
        self._last: Int64s = np.zeros(0, dtype=np.int64)  # by key: its newest row, -1
        self._numbers: Int64s = np.zeros(0, dtype=np.int64)  # of the rows that are here
        self._count = 0  # rows so far
        self._enough = SPARE  # rows, beyond which some may be forgotten

    def step(self, events: OverEvents, horizon: int, final: bool) -> SettledRows:
        self._append(events)
        chosen = self._sort_keys(self._find_concerned(events.keys, horizon, final))
        waiting = np.flatnonzero(~self._done[chosen.rows])
        answers, settled = [], _Settled.at_once(chosen.rows[waiting], self._times)
        for function in self._program.functions:
            answer, also = self._answer(function, chosen, waiting)
            answers.append(answer)
            settled = settled.later_of(also)
        if self._program.spans:
            settled = settled.later_of(self._settle_frame(self._program.frame, chosen, waiting))
        ready = settled.is_over(horizon, final)
        rows = chosen.rows[waiting[ready]]
        self._done[rows] = True
        settled = settled.take(ready)
        order = np.lexsort((rows, settled.triggers, settled.by_time, settled.moments))
        triggers = np.where(settled.by_time | (settled.moments >= END), -1, settled.triggers)
        found = SettledRows(
            self._number(rows[order]),
            tuple(
                self._number(answer[ready][order]) if function.picks else answer[ready][order]
                for function, answer in zip(self._program.functions, answers, strict=True)
            ),
            settled.moments[order],
            self._number(triggers[order]),
            self._list_frames(chosen, waiting[ready][order]) if self._program.spans else None,
        )
        if not final:
            self._forget(horizon)
        return found

    def _number(self, rows: Int64s) -> Int64s:
        """int64[n]: the numbers of rows; of -1, itself."""
        return rows if not len(self._numbers) else np.where(rows >= 0, self._numbers[rows], -1)

    def _forget(self, horizon: int) -> None:
        if len(self._times) <= self._enough:
            return
        needed = self._find_needed(horizon)
        self._enough = 2 * int(needed.sum()) + SPARE
        if len(self._times) <= self._enough:
            return
        for name in OF_EACH_ROW:
            setattr(self, name, getattr(self, name)[needed])
        self._member = [each[needed] for each in self._member]
        self._before = [each[needed] for each in self._before]
        self._last = np.where(self._last >= 0, (np.cumsum(needed) - 1)[self._last], -1)

    def is_waiting(self) -> bool:
        return not bool(self._done.all())

    def floor(self, horizon: int) -> int:
        waiting = self._times[~self._done]
        return min(horizon, int(waiting.min())) if len(waiting) else horizon

    # --- rows in -------------------------------------------------------------------------------------------
    def _append(self, events: OverEvents) -> None:
        if not len(events):
            return
        known = len(self._times)
        order = np.argsort(events.keys, kind="stable")
        keys, times = events.keys[order], events.times[order]
        if int(keys[-1]) >= len(self._last):
            more = np.full(int(keys[-1]) + 1 - len(self._last), -1, dtype=np.int64)
            self._last = np.concatenate([self._last, more])
        begins = np.ones(len(keys), dtype=np.bool_)
        begins[1:] = keys[1:] != keys[:-1]
        first = np.flatnonzero(begins)
        of_first = np.cumsum(begins) - 1
        base = self._last[keys[first]]
        before = np.concatenate([[0], times[:-1]])
        before[first] = np.where(base >= 0, self._take(self._times, base), times[first] - 1)
        pos = np.arange(len(keys)) - first[of_first] + (self._take(self._pos, base, -1) + 1)[of_first]
        fresh = times != before
        rank = np.where(fresh, pos, np.where(begins, self._take(self._rank, base)[of_first], -1))
        rank = rank[np.maximum.accumulate(np.where(rank >= 0, np.arange(len(keys)), 0))]
        dense = _count_within(fresh, first, of_first) + self._take(self._dense, base)[of_first]
        self._extend("_numbers", np.arange(self._count, self._count + len(keys)))
        self._count += len(keys)
        self._extend("_times", events.times)
        self._extend("_keys", events.keys)
        for name, values in (("_pos", pos), ("_rank", rank), ("_dense", dense)):
            self._extend(name, _put_back(values, order))
        about = self._program.about
        done = np.zeros(len(keys), dtype=np.bool_) if about is None else ~events.with_value[about]
        self._done = np.concatenate([self._done, done])
        for number, column in enumerate(self._sequences):
            member = np.ones(len(keys), dtype=np.bool_) if column is None else events.with_value[column][order]
            counted = self._take(self._before[number], base) + self._take(self._member[number], base)
            passed = _count_within(member, first, of_first) - member + counted[of_first]
            self._before[number] = np.concatenate([self._before[number], _put_back(passed, order)])
            self._member[number] = np.concatenate([self._member[number], _put_back(member, order)])
        self._last[events.keys] = np.arange(known, known + len(keys))  # of several, the one written last stays

    def _extend(self, name: str, values: Int64s) -> None:
        setattr(self, name, np.concatenate([getattr(self, name), values]))

    def _take(self, values: Int64s | Flags, rows: Int64s, otherwise: int = 0) -> Int64s:
        if not len(values):
            return np.full(len(rows), otherwise, dtype=np.int64)
        return np.where(rows >= 0, values[rows], otherwise).astype(np.int64)

    # --- rows out ------------------------------------------------------------------------------------------
    def _find_concerned(self, fresh: Int64s, horizon: int, final: bool) -> Int64s:
        """All rows of keys of which some row may be settled now."""
        if final:
            return np.arange(len(self._times))
        concerned = np.zeros(len(self._last), dtype=np.bool_)
        concerned[fresh] = True
        frame = self._program.frame
        if self._program.waits and frame.kind == "range":
            due = ~self._done & (self._times < horizon - frame.end)
            concerned[self._keys[due]] = True
        return np.flatnonzero(concerned[self._keys])

    def _sort_keys(self, rows: Int64s) -> _Sorted:
        keys = self._keys[rows]
        order = np.argsort(keys, kind="stable")
        return _sort(rows[order], keys[order])

    def _answer(self, function: OverFunction, chosen: _Sorted, waiting: Int64s) -> tuple[Int64s, _Settled]:
        rows = chosen.rows[waiting]
        now = _Settled.at_once(rows, self._times)
        match function.function:
            case "row_number":
                return self._pos[rows] + 1, now
            case "rank":
                return self._rank[rows] + 1, now
            case "dense_rank":
                return self._dense[rows], now
        if function.function in ("lag", "lead") and not function.number:
            return rows, now
        number = self._sequences.index(function.column)
        passed, settled = self._before[number][rows], now
        offset = min(function.number, FARTHEST)
        if function.function == "lag":
            wanted = passed - offset
        elif function.function == "lead":
            wanted = passed + self._member[number][rows] + offset - 1
        else:
            low, high = self._bound(chosen, waiting, number)
            place = {"first": low, "last": high - 1, "nth": low + offset - 1}[function.function]
            wanted = np.where((place >= low) & (place < high), place, -1)
            settled = self._settle_frame(self._program.frame, chosen, waiting)
        picked = self._pick(chosen, waiting, wanted, number)
        if function.function == "lead":
            settled = _Settled.by_rows(picked, self._times)
        return picked, settled

    def _pick(self, chosen: _Sorted, waiting: Int64s, wanted: Int64s, number: int) -> Int64s:
        """The members of a sequence with the wanted numbers, of the keys of the rows that wait; -1: there is none."""
        is_member = self._member[number][chosen.rows]
        places = np.cumsum(is_member)
        rows = chosen.rows[is_member]
        if not len(rows):
            return np.full(len(waiting), -1, dtype=np.int64)
        members = _sort(rows, self._keys[rows])
        last = places[chosen.ends[waiting] - 1] - 1  # the last member of the key, or of one before it
        has_any = (last >= 0) & (self._keys[rows[np.maximum(last, 0)]] == self._keys[chosen.rows[waiting]])
        found = members.find(np.maximum(last, 0), wanted, self._before[number][rows])
        return np.where(has_any & (wanted >= 0) & (found >= 0), rows[np.maximum(found, 0)], -1)

    def _bound(self, chosen: _Sorted, waiting: Int64s, number: int) -> tuple[Int64s, Int64s]:
        """The numbers of the first member of a sequence in the frame, and of the first one behind it."""
        before, member = self._before[number], self._member[number]
        newest = chosen.rows[chosen.ends[waiting] - 1]
        total = before[newest] + member[newest]
        low, high = self._search_frame(chosen, waiting)
        ends = chosen.ends[waiting]
        counts = [
            np.zeros(len(waiting), dtype=np.int64)
            if places is None
            else np.where(places < ends, before[chosen.rows[np.minimum(places, ends - 1)]], total)
            for places in (low, high)
        ]
        return counts[0], counts[1]

    def _search_frame(self, chosen: _Sorted, waiting: Int64s) -> tuple[Int64s | None, Int64s]:
        """Where the first row of the frame stands, None: it is the first of the key, and the first one behind it."""
        frame, rows = self._program.frame, chosen.rows[waiting]
        places = self._times if frame.kind == "range" else self._pos
        sought, own = places[chosen.rows], places[rows]
        low = None if frame.start is None else _search(chosen, waiting, own + frame.start, sought)
        return low, _search(chosen, waiting, own + frame.end + 1, sought)

    def _list_frames(self, chosen: _Sorted, waiting: Int64s) -> tuple[Int64s, Int64s]:
        low, high = self._search_frame(chosen, waiting)
        assert low is not None, "rows of a frame without bound are not kept"
        sizes = np.maximum(high - low, 0)
        begins = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) + np.repeat(low - begins, sizes)
        return self._number(chosen.rows[places]), sizes

    def _settle_frame(self, frame: OverFrame, chosen: _Sorted, waiting: Int64s) -> _Settled:
        rows = chosen.rows[waiting]
        if frame.kind == "range":
            if frame.end < 0:
                return _Settled.at_once(rows, self._times)
            moments = self._times[rows] + frame.end
            return _Settled(moments, np.ones(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.int64))
        if frame.end <= 0:
            return _Settled.at_once(rows, self._times)
        last = chosen.find(waiting, self._pos[rows] + frame.end, self._pos[chosen.rows])
        picked = np.where(last >= 0, chosen.rows[np.maximum(last, 0)], -1)
        return _Settled.by_rows(picked, self._times)

    # --- what is kept --------------------------------------------------------------------------------------
    def needed(self, horizon: int) -> Flags:
        """bool[n]: may a row that is not yet settled, or one to come, ask for it?"""
        needed = np.zeros(self._count, dtype=np.bool_)
        needed[self._numbers] = self._find_needed(horizon)
        return needed

    def _find_needed(self, horizon: int) -> Flags:
        """Of those that are here."""
        needed = ~self._done
        needed[self._last[self._last >= 0]] = True  # it knows how many came before
        frame, framed = self._program.frame, self._program.framed
        first = self._find_first(self._pos)
        reach = max([0, *(-bound for bound in (frame.start, frame.end) if bound is not None)])
        if framed and frame.kind == "rows" and reach:
            needed |= self._pos >= first[self._keys] - reach
        if framed and frame.kind == "range" and frame.start is not None:
            times = np.minimum(self._find_first(self._times, end=horizon), horizon)
            needed |= self._times >= times[self._keys] + frame.start
        for function in self._program.functions:
            if not function.picks or function.function == "lead":
                continue
            number = self._sequences.index(function.column)
            member, before = self._member[number], self._before[number]
            after = self._find_first(before, newest=before + member)[self._keys]
            if function.function == "lag":
                needed |= member & (before >= after - min(function.number, FARTHEST))
            elif frame.start is None:
                head = {"first": 1, "nth": min(function.number, FARTHEST), "last": 0}[function.function]
                needed |= member & (before < head)
                if function.function == "last" or function.column is not None:
                    needed |= member & (before >= after - 1 - max(-frame.end, 0))
        return needed

    def _find_first(self, values: Int64s, newest: Int64s | None = None, end: int | None = None) -> Int64s:
        """By key: the value of its first row that waits; if none does, that of the one to come."""
        found = np.full(len(self._last), NEVER, dtype=np.int64)
        waiting = ~self._done
        np.minimum.at(found, self._keys[waiting], values[waiting])
        last = self._last
        follows = values + 1 if newest is None else newest
        known = np.where(last >= 0, follows[last] if len(follows) else 0, 0)
        return np.where(found < NEVER, found, known if end is None else end)

    def keep(self, needed: Flags) -> Arrays:
        arrays = {"pos": self._pos, "rank": self._rank, "dense": self._dense, "done": self._done.astype(np.int64)}
        arrays |= {f"before{number}": each for number, each in enumerate(self._before)}
        here = needed[self._numbers]
        return {name: values[here] for name, values in arrays.items()}

    def restore(self, events: OverEvents, arrays: Arrays) -> None:
        self._append(events)
        self._pos, self._rank, self._dense = arrays["pos"], arrays["rank"], arrays["dense"]
        self._done = arrays["done"].astype(np.bool_)
        self._before = [arrays[f"before{number}"] for number in range(len(self._sequences))]


@dataclass(frozen=True, slots=True)
class _Settled:
    """When rows are settled.  by_time: once the moment has passed; else by a row, the trigger."""

    moments: Int64s
    by_time: Flags
    triggers: Int64s

    @classmethod
    def at_once(cls, rows: Int64s, times: Int64s) -> _Settled:
        return cls(times[rows], np.zeros(len(rows), dtype=np.bool_), rows)

    @classmethod
    def by_rows(cls, rows: Int64s, times: Int64s) -> _Settled:
        """-1: at the end of the input."""
        missing = rows < 0
        moments = np.where(missing, END, times[np.maximum(rows, 0)] if len(times) else END)
        return cls(moments, np.zeros(len(rows), dtype=np.bool_), np.maximum(rows, 0))

    def later_of(self, other: _Settled) -> _Settled:
        later = other.moments > self.moments
        equal = other.moments == self.moments
        later |= equal & other.by_time & ~self.by_time
        later |= equal & (other.by_time == self.by_time) & (other.triggers > self.triggers)
        return _Settled(
            np.where(later, other.moments, self.moments),
            np.where(later, other.by_time, self.by_time),
            np.where(later, other.triggers, self.triggers),
        )

    def is_over(self, horizon: int, final: bool) -> Flags:
        if final:
            return np.ones(len(self.moments), dtype=np.bool_)
        over: Flags = np.where(self.by_time, self.moments < horizon, self.moments < END)
        return over

    def take(self, chosen: Flags) -> _Settled:
        return _Settled(self.moments[chosen], self.by_time[chosen], self.triggers[chosen])


def _sort(rows: Int64s, keys: Int64s) -> _Sorted:
    """keys: of the rows, ascending."""
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = keys[1:] != keys[:-1]
    first = np.flatnonzero(begins)
    of_first = np.cumsum(begins) - 1
    return _Sorted(rows, first[of_first], np.append(first[1:], len(rows))[of_first])


def _search(chosen: _Sorted, waiting: Int64s, moments: Int64s, times: Int64s) -> Int64s:
    """int64[waiting]: where the first row of the same key at or behind a moment stands, or its end; `times` ascend
    within a key."""
    firsts = chosen.firsts
    ranks = np.concatenate([firsts[waiting], firsts])
    whens = np.concatenate([moments, times])
    is_row = np.concatenate([np.zeros(len(waiting), dtype=np.int64), np.ones(len(times), dtype=np.int64)])
    order = np.lexsort((is_row, whens, ranks))
    passed = np.cumsum(is_row[order])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = passed
    found: Int64s = places[: len(waiting)]
    return found


def _count_within(flags: Flags, first: Int64s, of_first: Int64s) -> Int64s:
    """int64[n]: how many hold up to each, since the beginning of its key."""
    counts: Int64s = np.cumsum(flags)
    before: Int64s = counts[first] - flags[first]
    found: Int64s = counts - before[of_first]
    return found


def _put_back(values: npt.NDArray[Value], order: Int64s) -> npt.NDArray[Value]:
    back = np.empty_like(values)
    back[order] = values
    return back
