"""Late events among matches that hang together (MATCH_RECOGNIZE), put right between two events at which searches begin.

    events of a key        1  2  3  4  5  6  7  8  9                late one   ▼
    searches began at      1     3        6     8  9            without it    3        6     8  9
    so it is computed            └────────┬─────┘ from 3 on     with it       3  4  4'    7  8      the same from 8 on

Where searches began is seen from the matches that were given out (graph/match_chain.py).  If what was looked at is not
enough to see where both meet again, more is; if that is not seen before the present, the key goes on in its new epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from cepheid.event_time import order_values
from cepheid.execution.changing.change_rows import Flags, Int64s
from cepheid.execution.changing.local_correction import Correction, LocalCorrection, Step, Touched
from cepheid.execution.changing.row_identity import EVENT
from cepheid.execution.changing.spans import Spans
from cepheid.graph.reach import REACHES, pays_alone

NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Links:
    """The events of some spans, by span and in order, and the late ones among them.  events, whose, times: int64[n],
    who they are, in which span, and when; begins, ends: int64[spans], the places of their events."""

    events: Int64s
    whose: Int64s
    times: Int64s
    begins: Int64s
    ends: Int64s
    _sorter: Int64s

    @staticmethod
    def tie(events: Int64s, whose: Int64s, times: Int64s, spans: int) -> Links:
        """Of events in the order of spans."""
        bounds = np.searchsorted(whose, np.arange(spans + 1))
        return Links(events, whose, times, bounds[:-1], bounds[1:], np.argsort(events, kind="stable"))

    def place(self, events: Int64s) -> Int64s:
        """int64[n]: where these events are; -1: not here."""
        found = np.searchsorted(self.events[self._sorter], events)
        places = self._sorter[np.minimum(found, len(self._sorter) - 1)]
        return np.where(self.events[places] == events, places, -1)

    def are_apart(self) -> bool:
        """Is no event there twice?"""
        told = self.events[self._sorter]
        return bool((told[1:] != told[:-1]).all())

    def find_starts(self, firsts: Int64s, lasts: Int64s, whose: Int64s) -> Flags:
        """bool[events]: does a search begin there, as far as is seen from matches?  firsts, lasts: where they are;
        whose: in which span they begin.  A last event that is not here comes behind."""
        lasts = np.where(lasts < 0, self.ends[whose] - 1, lasts)
        inside = np.zeros(len(self.events) + 1, dtype=np.int64)
        np.add.at(inside, firsts + 1, 1)
        np.add.at(inside, lasts + 1, -1)
        is_start: Flags = np.cumsum(inside[:-1]) == 0
        return is_start

    def count_until(self, times: Int64s) -> Int64s:
        """int64[spans]: the place behind the events up to a time of each span."""
        until = np.bincount(self.whose[self.times <= times[self.whose]], minlength=len(self.begins))
        return self.begins + until


class ChainedCorrection(LocalCorrection):
    def find(self, late: pa.Table, removed: Touched | None, computed: int, step: Step) -> Correction | None:
        chain = cast("int", self._reach.chain_us)
        where = Touched(self._scopes.of_events(late), order_values(late.column("_time"))[0])
        begins = where.times - REACHES * chain
        if removed is not None or (begins <= self._began()).any():
            return super().find(late, removed, computed, step)
        behind = np.full(len(late), REACHES * chain + 1)
        while True:
            ends = np.maximum(np.minimum(where.times + behind, computed), where.times) + 1
            spans = Spans.unite(where.scopes, begins, ends)
            numbers = self._log.find(spans, self._scopes, self._reach.stretch_us)
            if not pays_alone(len(numbers) + len(late), len(self._log)):
                return None
            found = self._compute(late, where, spans, numbers, computed, step)
            if found is None:
                return super().find(late, removed, computed, step)
            if isinstance(found, Correction):
                return found
            behind = np.where(found[spans.find(where.scopes, where.times)], 2 * behind, behind)

    def _compute(
        self, late: pa.Table, where: Touched, spans: Spans, numbers: Int64s, computed: int, step: Step
    ) -> Correction | Flags | None:
        """bool[spans]: of which more must be seen; None: it cannot be told who is who."""
        chain, scopes, given = cast("int", self._reach.chain_us), self._scopes, self._given[0]
        events, times, whose = self._gather(late, where, spans, numbers)
        in_spans = np.argsort(whose, kind="stable")
        links = Links.tie(events.column(EVENT).to_numpy()[in_spans], whose[in_spans], times[in_spans], len(spans))
        rows = given.find(spans)
        row_scopes, row_times, *matches = given.where(rows)
        firsts, lasts = (links.place(each) for each in matches)
        if not links.are_apart() or (firsts < 0).any():
            return None
        began = links.find_starts(firsts, lasts, spans.find(row_scopes, row_times))

        of_late = spans.find(where.scopes, where.times)
        first, last = np.full(len(spans), NOWHERE), np.full(len(spans), -NOWHERE)
        np.minimum.at(first, of_late, where.times)
        np.maximum.at(last, of_late, where.times)
        places = np.arange(len(links.events))
        is_before = places <= links.count_until(first - chain - 1)[links.whose]
        is_seen = links.times >= (spans.begins + chain)[links.whose]  # longer ago, a match may have begun unseen
        chosen = np.flatnonzero(began & is_before & is_seen)
        start = np.full(len(spans), -1)
        np.maximum.at(start, links.whose[chosen], chosen)
        if (start < 0).any():
            return None

        fed = np.empty(len(events), dtype=np.bool_)
        fed[in_spans] = places >= start[links.whose]
        epochs = scopes.open_epochs(len(spans))
        self.fed_again += int(fed.sum())
        fresh = step(scopes.mark(events.filter(pa.array(fed)), epochs[whose[fed]]))[0]
        of_fresh = scopes.epochs_of(fresh) - epochs[0]
        if (of_fresh < 0).any():
            fresh, of_fresh = fresh.filter(pa.array(of_fresh >= 0)), of_fresh[of_fresh >= 0]
        new_firsts, new_lasts = (links.place(each) for each in scopes.matches_of(fresh))
        begins_again = began & links.find_starts(new_firsts, new_lasts, of_fresh)

        # where both begin, all before is decided, and was
        decided = np.minimum(spans.ends, computed) - chain
        meets = begins_again & (links.times > last[links.whose]) & (links.times < decided[links.whose])
        chosen = np.flatnonzero(meets)
        end = np.full(len(spans), NOWHERE)
        np.minimum.at(end, links.whose[chosen], chosen)
        behind_last = links.count_until(last)
        is_empty = (links.count_until(decided - 1) == behind_last) & (last + chain < decided)
        end = np.where((end == NOWHERE) & is_empty, behind_last, end)
        goes_on = (end == NOWHERE) & (spans.ends > computed)
        if ((end == NOWHERE) & ~goes_on).any():
            return (end == NOWHERE) & ~goes_on
        of_rows = links.whose[firsts]
        rows = rows[(firsts >= start[of_rows]) & (firsts < end[of_rows])]
        is_meant = new_firsts < end[of_fresh]
        fresh = fresh.filter(pa.array(is_meant))
        difference = given.compare(fresh, scopes.of_rows(fresh), rows)
        return Correction(late, where, (spans.scopes[goes_on], epochs[goes_on]), [difference])
