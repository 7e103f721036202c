"""Late events put right where they are: what they touch is computed again, and nothing else.

    late events ─▶ spans around them ─▶ events of their scopes in there, the late ones among them
                                                     │ under new epochs (scopes.py)
    rows given out in the spans  ◀── compared with ──┴── rows that the operator gives for them

If the operator may still ask for what it knew of a scope, the scope goes on in its new epoch: then all its events that
matter from there on were given again.  What is older than that leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.event_time import order_values
from cepheid.execution.changing.change_log import ChangeLog
from cepheid.execution.changing.change_rows import Int64s
from cepheid.execution.changing.given_rows import Difference, GivenRows, Places
from cepheid.execution.changing.scopes import Scopes
from cepheid.execution.changing.spans import Spans
from cepheid.graph.reach import Reach, pays_alone

Step = Callable[[pa.Table], list[pa.Table]]
"""Gives events in order to the live operator, at the horizon that it knows: the rows of each vertex."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Where something has come or gone: int64[n] each, whose and when."""

    scopes: Int64s
    times: Int64s

    def unite(self, other: Touched | None) -> Touched:
        if other is None:
            return self
        return Touched(np.concatenate([self.scopes, other.scopes]), np.concatenate([self.times, other.times]))


@dataclass(frozen=True, slots=True)
class Correction:
    """What is to be done: late events with their places; scopes and epochs in which they go on; by vertex, what is
    different."""

    late: pa.Table
    where: Touched
    moved: tuple[Int64s, Int64s]
    differences: list[Difference]

    @property
    def takes_back(self) -> bool:
        """Does it change what was given out?"""
        return any(len(difference.lost) for difference in self.differences)


class LocalCorrection:
    def __init__(
        self,
        reach: Reach,
        scopes: Scopes,
        log: ChangeLog,
        given: list[GivenRows],
        order: Callable[[pa.Table], Int64s | None],
        take_from_base: Callable[[Int64s, Int64s], int],
        began: Callable[[], int],
    ) -> None:
        """order: of events; None: they are in order.  take_from_base: tells the live operator what a base knows of
        scopes, as of new epochs; how many events that is.  began: since when the log has all events."""
        self._reach, self._scopes, self._log, self._given, self._order = reach, scopes, log, given, order
        self._take_from_base, self._began = take_from_base, began
        self.fed_again = 0  # events that the operator was given more than once, since it began
        self._counted = 0  # of these, those that were told

    def begin_again(self) -> None:
        """The operator has."""
        self.fed_again = self._counted = 0

    def take_count(self) -> int:
        """How many events the operator was given more than once, since this was asked."""
        fresh, self._counted = self.fed_again - self._counted, self.fed_again
        return fresh

    def remove(self, retracted: pa.Table) -> Touched:
        """Take events out of the log, as far as they are there."""
        return Touched(*self._log.remove(retracted, self._scopes, self._reach.stretch_us))

    def find(self, late: pa.Table, removed: Touched | None, computed: int, step: Step) -> Correction | None:
        """What late events change, and those that were taken out; None: it is cheaper to go back.  computed: the
        horizon that the operator knows."""
        scopes, span = self._scopes, self._reach.span_us
        where = Touched(scopes.of_events(late), order_values(late.column("_time"))[0])
        touched = where.unite(removed)
        matters = touched.times >= computed - span  # may the operator still ask for it?
        ends = np.where(matters, np.maximum(touched.times + span, computed) + 1, touched.times + span + 1)
        numbers = self._log.find(
            Spans.unite(touched.scopes, touched.times - span, ends), scopes, self._reach.stretch_us
        )
        if not pays_alone(len(numbers) + len(late), len(self._log)):
            return None
        known, known_scopes = self._log.take(numbers)
        events, of_events = pa.concat_tables([known, late]), np.concatenate([known_scopes, where.scopes])
        order = self._order(events)
        if order is not None:
            events, of_events = events.take(pa.array(order)), of_events[order]
        self.fed_again += len(events)
        whose = np.unique(touched.scopes)
        epochs = scopes.open_epochs(len(whose))
        if self._reach.is_endless:
            self.fed_again += self._take_from_base(whose, epochs)
        rows = step(scopes.mark(events, epochs[np.searchsorted(whose, of_events)]))
        reached = Spans.unite(
            touched.scopes, touched.times - self._reach.fore_us, touched.times + self._reach.back_us + 1
        )
        differences = [
            given.compare(*self._pick(table, int(epochs[0]), reached), given.find(reached))
            for given, table in zip(self._given, rows, strict=True)
        ]
        moves = np.isin(whose, touched.scopes[matters])
        return Correction(late, where, (whose[moves], epochs[moves]), differences)

    def take(self, correction: Correction) -> list[pa.Table]:
        """So it is from now on: the changes of each vertex."""
        self._log.insert(correction.late, correction.where.scopes, correction.where.times)
        self._scopes.go_on_in(*correction.moved)
        changes = zip(self._given, correction.differences, strict=True)
        return [given.take(difference) for given, difference in changes]

    def _pick(self, rows: pa.Table, first: int, reached: Spans) -> tuple[pa.Table, Places]:
        """The rows of new epochs that are in these spans, and where they are: those beside them are about events that
        were not asked for."""
        scopes, times = places = self._scopes.of_rows(rows)
        if not len(rows):
            return rows, places
        is_meant = reached.hold(scopes, times) & (self._scopes.epochs_of(rows) >= first)
        return (
            (rows, places)
            if is_meant.all()
            else (
                rows.filter(pa.array(is_meant)),
                (scopes[is_meant], times[is_meant]),
            )
        )

    def _gather(self, late: pa.Table, where: Touched, spans: Spans, numbers: Int64s) -> tuple[pa.Table, Int64s, Int64s]:
        """All events of the spans in order, their times, and in which span each is."""
        known, known_scopes = self._log.take(numbers)
        events, scopes = pa.concat_tables([known, late]), np.concatenate([known_scopes, where.scopes])
        order = self._order(events)
        if order is not None:
            events, scopes = events.take(pa.array(order)), scopes[order]
        times, _ = order_values(events.column("_time"))
        return events, times, spans.find(scopes, times)
