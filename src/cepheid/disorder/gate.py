"""The gate in front of an operator: the only owner of order, horizon and lateness.

    events as they arrive ─▶ late ones set apart ─▶ held back ─▶ in order ─▶ operator

The *horizon* is a promise: no event older than it will be taken any more.  It follows how far time has come on every
input (the slowest counts) and never goes back.  An event that arrives behind the horizon is late.  Events at one time
leave in the order of arrival; if something other than arrival decides ties (a second ORDER BY column, the order of
streams), they leave only once their time has passed for good.

The gate decides, over arrays of times; whoever has the events acts on what it says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.event_time import BEGINNING

Int64s = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Release:
    """Of events that wait, in the order of arrival: ready, bool[n], which may go (None: all of them); order, int64 over
    those that go (None: they are in order)."""

    ready: Flags | None
    order: Int64s | None


class Gate:
    """delays_us: how long events of each input may be overtaken by others; streams: how many make up each input, one if
    it is not given."""

    def __init__(self, delays_us: list[int], ties_by_arrival: bool, streams: list[int] | None = None) -> None:
        self.ties_by_arrival = ties_by_arrival
        self.horizon = BEGINNING
        self.arrivals = 0  # of the next event
        self._delays_us = delays_us
        self.newest = [[BEGINNING] * count for count in streams or [1] * len(delays_us)]
        self.reached = [[BEGINNING] * len(streams) for streams in self.newest]

    # --- time --------------------------------------------------------------------------------------------
    def see(self, number: int, newest: list[int]) -> None:
        """The newest times that the streams of an input have told; BEGINNING where one was silent."""
        known = self.newest[number]
        known[:] = map(max, known, newest)
        delay = self._delays_us[number]
        self.hear(number, [time - delay if time > BEGINNING else BEGINNING for time in known])

    def hold_for(self, number: int, delay_us: int) -> None:
        """From now on, events of an input may be overtaken for so long; the horizon does not go back."""
        self._delays_us[number] = delay_us

    def hear(self, number: int, times: list[int]) -> None:
        """No event of a stream of an input will be older than this: so say heartbeats, of some streams or of all."""
        self.reached[number][:] = map(max, self.reached[number], times)

    def follow(self, number: int, time: int) -> None:
        """No event of an input will be older than this: so says an engine whose rows it is made of."""
        self.hear(number, [time] * len(self.reached[number]))

    def advance(self, horizon: int = BEGINNING) -> None:
        """Move the horizon on as far as the inputs allow, or to where somebody who knows more says that it is."""
        self.horizon = max(self.horizon, horizon, min(map(min, self.reached), default=BEGINNING))

    @property
    def follows_one(self) -> bool:
        """Does the horizon follow the newest event of a single stream, so that events in order wait for nothing?"""
        return self.ties_by_arrival and self._delays_us == [0] and len(self.newest[0]) == 1

    def tell(self) -> list[tuple[int, int, int]] | None:
        """Of each input the newest time, how far it has come, and how late its events may be; None: one is made of
        several streams."""
        if any(len(newest) != 1 for newest in self.newest):
            return None
        told = zip(self.newest, self.reached, self._delays_us, strict=True)
        return [(newest[0], reached[0], delay) for newest, reached, delay in told]

    def learn(self, newest: list[int], horizon: int, arrivals: int) -> None:
        """What somebody knows who was told and has seen events since: the newest time of each input, the horizon, and
        how many events have arrived."""
        for number, time in enumerate(newest):
            self.see(number, [time])
        self.horizon = max(self.horizon, horizon)
        self.arrivals = arrivals

    def pass_by(self, time: int, count: int) -> None:
        """So many events of the single stream have gone past in order, the last of them at this time."""
        self.horizon = self.reached[0][0] = self.newest[0][0] = time
        self.arrivals += count

    # --- events ------------------------------------------------------------------------------------------
    def find_late(self, times: Int64s) -> Flags | None:
        """bool[n]: did the event come too late?  None: no event did.  Before there is a horizon none can."""
        if self.horizon <= BEGINNING or not len(times) or times.min() >= self.horizon:
            return None
        return times < self.horizon

    def count_arrivals(self, count: int) -> int:
        """The number of the first of the events that come in now."""
        first, self.arrivals = self.arrivals, self.arrivals + count
        return first

    def find_releasable(self, times: Int64s) -> Flags:
        """bool[n]: is the event's place in the order settled?"""
        return times <= self.horizon if self.ties_by_arrival else times < self.horizon

    def release(self, times: Int64s, ties: list[Int64s], final: bool) -> Release:
        """Which of the waiting events go, and in what order.  ties: what decides between events of one time, before
        arrival; final: no more events will come."""
        ready: Flags | None = None
        if not final:
            found = self.find_releasable(times)
            if not found.all():
                ready, times, ties = found, times[found], [each[found] for each in ties]
        return Release(ready, sort_events(times, ties))


def sort_events(times: Int64s, ties: list[Int64s]) -> Int64s | None:
    """int64[n]: the order of events, which are in the order of arrival; None: they are in order already."""
    if _are_in_order([times, *ties]):
        return None
    return np.lexsort([*reversed(ties), times]) if ties else np.argsort(times, kind="stable")


def _are_in_order(keys: list[Int64s]) -> bool:
    """keys: the first thing that decides comes first."""
    if len(keys[0]) < 2:
        return True
    rises = keys[0][1:] > keys[0][:-1]
    if rises.all():
        return True
    is_open = ~rises  # which neighbours nothing has decided about yet
    if (keys[0][1:] < keys[0][:-1]).any():
        return False
    for values in keys[1:]:
        if (is_open & (values[1:] < values[:-1])).any():
            return False
        is_open &= values[1:] == values[:-1]
    return True
