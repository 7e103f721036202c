"""Late events put right where rows are about neighbours (graph/neighbours.py): so many events around them are looked at
as are neighbours of theirs.

    ROWS 3        e1  e2  e3  ▼  e4  e5  e6  e7        rows of ▼, e4, e5 are looked at again: from e2 on
    SESSION       e1 e2     e3 e4 ▼ e5     e6          the session of ▼ is: from e3 on, up to e6

How far that is in time is not known: as much is looked at as it takes.  What lies before the log is known to nobody
here: then the engine goes back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.event_time import BEGINNING, END, order_values
from cepheid.execution.changing.change_rows import Flags, Int64s
from cepheid.execution.changing.local_correction import Correction, LocalCorrection, Step, Touched
from cepheid.execution.changing.shelf import DENSE
from cepheid.execution.changing.spans import Spans
from cepheid.graph.neighbours import Neighbours
from cepheid.graph.reach import pays_alone


@dataclass(frozen=True, slots=True)
class Stretches:
    """The events of some spans, by span and in order.  times, whose: int64[n], when they are, and in which span.
    begins, ends: int64[spans], the places of their events.  firsts, lasts: int64[spans], the times between which
    something has come or gone; since, until: those between which all events are there, and is there nothing before,
    or behind?"""

    times: Int64s
    whose: Int64s
    begins: Int64s
    ends: Int64s
    firsts: Int64s
    lasts: Int64s
    since: Int64s
    until: Int64s
    is_beginning: Flags
    is_present: Flags

    @staticmethod
    def part(
        times: Int64s, whose: Int64s, spans: Spans, of: Int64s, touched: Int64s, is_beginning: Flags, is_present: Flags
    ) -> Stretches:
        """touched: int64[m], when something has come or gone; of: in which span."""
        bounds = np.searchsorted(whose, np.arange(len(spans) + 1))
        firsts, lasts = np.full(len(spans), END), np.full(len(spans), BEGINNING)
        np.minimum.at(firsts, of, touched)
        np.maximum.at(lasts, of, touched)
        told = (bounds[:-1], bounds[1:], firsts, lasts, spans.begins, spans.ends)
        return Stretches(times, whose, *told, is_beginning, is_present)

    def count_before(self, times: Int64s) -> Int64s:
        """int64[spans]: the place of the first event of each span that is not older."""
        older = np.bincount(self.whose[self.times < times[self.whose]], minlength=len(self.begins))
        return self.begins + older

    def time_at(self, places: Int64s, otherwise: Int64s) -> Int64s:
        """int64[spans]: the time of the event at a place of each span, if there is one."""
        is_there = (places >= self.begins) & (places < self.ends)
        if not len(self.times):
            return otherwise
        return np.where(is_there, self.times[np.where(is_there, places, 0)], otherwise)


@dataclass(frozen=True, slots=True)
class Zone:
    """int64[spans] each.  begins, ends: the places of the events that the operator is given again; since, until: the
    times between which rows are looked at.  goes_on: may the operator still ask for them?  is_short, is_cut: is more
    needed, before it or behind it?"""

    begins: Int64s
    ends: Int64s
    since: Int64s
    until: Int64s
    goes_on: Flags
    is_short: Flags
    is_cut: Flags


class NeighbourCorrection(LocalCorrection):
    def find(self, late: pa.Table, removed: Touched | None, computed: int, step: Step) -> Correction | None:
        neighbours = self._reach.neighbours
        assert neighbours is not None, "they say how far events reach"
        where = Touched(self._scopes.of_events(late), order_values(late.column("_time"))[0])
        touched = where.unite(removed)
        shelf = self._log.shelve(self._scopes, self._reach.stretch_us)
        beginning, oldest = self._began(), shelf.oldest
        lowest = oldest - 1 if beginning <= BEGINNING else beginning
        width = shelf.stretch * (2 + (neighbours.before + neighbours.behind) // DENSE)
        back = fore = np.full(len(touched.times), width, dtype=np.int64)
        while True:
            begins = np.maximum(touched.times - back, np.minimum(lowest, touched.times))
            ends = np.maximum(np.minimum(touched.times + fore, computed), touched.times) + 1
            spans = Spans.unite(touched.scopes, begins, ends)
            numbers = shelf.find(spans)
            if not pays_alone(len(numbers) + len(late), len(self._log)):
                return None
            events, times, whose = self._gather(late, where, spans, numbers)
            in_spans = np.argsort(whose, kind="stable")
            by_span = whose[in_spans]
            of, is_lowest = spans.find(touched.scopes, touched.times), spans.begins <= lowest
            is_beginning, is_present = is_lowest & (beginning <= BEGINNING), spans.ends > computed
            parted = Stretches.part(times[in_spans], by_span, spans, of, touched.times, is_beginning, is_present)
            zone = find_zone(neighbours, parted)
            if (zone.is_short & is_lowest).any():
                return None
            if zone.is_short.any() or zone.is_cut.any():
                back, fore = np.where(zone.is_short[of], 2 * back, back), np.where(zone.is_cut[of], 2 * fore, fore)
                continue
            places = np.arange(len(events))
            fed = np.empty(len(events), dtype=np.bool_)
            fed[in_spans] = (places >= zone.begins[by_span]) & (places < zone.ends[by_span])
            return self._replace(late, where, spans, zone, events.filter(pa.array(fed)), whose[fed], step)

    def _replace(
        self, late: pa.Table, where: Touched, spans: Spans, zone: Zone, events: pa.Table, whose: Int64s, step: Step
    ) -> Correction:
        epochs = self._scopes.open_epochs(len(spans))
        self.fed_again += len(events)
        rows = step(self._scopes.mark(events, epochs[whose]))
        reached = Spans(spans.scopes, zone.since, zone.until)
        differences = [
            given.compare(*self._pick(table, int(epochs[0]), reached), given.find(reached))
            for given, table in zip(self._given, rows, strict=True)
        ]
        return Correction(late, where, (spans.scopes[zone.goes_on], epochs[zone.goes_on]), differences)


def find_zone(neighbours: Neighbours, events: Stretches) -> Zone:
    return _find_session(neighbours.gap_us, events) if neighbours.gap_us else _count_events(neighbours, events)


def _count_events(neighbours: Neighbours, events: Stretches) -> Zone:
    """So many events before and behind those that have come or gone."""
    first, behind_last = events.count_before(events.firsts), events.count_before(events.lasts + 1)
    earliest = first - neighbours.behind
    since = np.minimum(events.time_at(earliest, events.firsts), events.firsts)
    since = np.where((earliest < events.begins) & events.is_beginning, events.since, since)
    begins = events.count_before(since) - neighbours.before
    is_short = (np.minimum(begins, earliest) < events.begins) & ~events.is_beginning
    latest = behind_last + neighbours.before
    until = np.maximum(events.time_at(latest - 1, events.lasts), events.lasts) + 1
    ends = np.maximum(events.count_before(until), latest) + neighbours.behind
    is_last = ends >= events.ends
    until = np.where(is_last & events.is_present, events.until, until)
    return Zone(
        *(np.maximum(begins, events.begins), np.minimum(ends, events.ends), since, until),
        *(is_last & events.is_present, is_short, is_last & ~events.is_present),
    )


def _find_session(gap_us: int, events: Stretches) -> Zone:
    """From a gap before those that have come or gone to one behind them."""
    times, whose, count = events.times, events.whose, len(events.times)
    places = np.arange(count)
    before = np.empty(count, dtype=np.int64)  # when something was there before
    before[1:] = times[:-1]
    before[events.begins[events.begins < events.ends]] = events.since[events.begins < events.ends] - 1
    is_known = places > events.begins[whose]
    splits = (times - before > gap_us) | (~is_known & events.is_beginning[whose])

    first, behind_last = events.count_before(events.firsts), events.count_before(events.lasts + 1)
    last_before = events.time_at(first - 1, np.where(events.is_beginning, BEGINNING, events.since - 1))
    is_apart = events.firsts - last_before > gap_us
    starts = np.full(len(first), -1, dtype=np.int64)
    chosen = np.flatnonzero(splits & (places < first[whose]))
    np.maximum.at(starts, whose[chosen], chosen)
    begins = np.where(is_apart, first, starts)
    since = np.minimum(events.time_at(begins, events.firsts), events.firsts)

    from_last = np.maximum(before, events.lasts[whose])
    ends = np.full(len(first), count, dtype=np.int64)
    chosen = np.flatnonzero((places >= behind_last[whose]) & (times - from_last > gap_us))
    np.minimum.at(ends, whose[chosen], chosen)
    is_open = ends >= events.ends
    ends = np.minimum(ends, events.ends)
    newest = np.maximum(events.time_at(ends - 1, events.lasts), events.lasts)
    is_cut = is_open & ~events.is_present & (events.until - newest <= gap_us)
    until = np.where(is_open, events.until, events.time_at(ends, events.until))
    return Zone(np.maximum(begins, events.begins), ends, since, until, is_open & events.is_present, begins < 0, is_cut)
