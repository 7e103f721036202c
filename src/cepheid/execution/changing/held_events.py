"""Events that wait until their time is let go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.event_time import order_values
from cepheid.execution.changing.change_rows import Int64s
from cepheid.execution.changing.row_identity import tell_events

MOST_CHUNKS = 16


class HeldEvents:
    def __init__(self, nothing: pa.Table) -> None:
        self._nothing = nothing
        self.hold(nothing)

    def __len__(self) -> int:
        return len(self.events)

    def hold(self, events: pa.Table, times: Int64s | None = None) -> None:
        """These wait from now on, instead of others; times: int64[n], if they are known."""
        self.events = events
        self._times: Int64s = order_values(events.column("_time"))[0] if times is None else times

    def add(self, fresh: pa.Table, times: Int64s) -> None:
        if len(self.events) and len(fresh):
            fresh, times = pa.concat_tables([self.events, fresh]), np.concatenate([self._times, times])
            fresh = fresh.combine_chunks() if fresh.column(0).num_chunks > MOST_CHUNKS else fresh
        if len(fresh):
            self.hold(fresh, times)

    def cancel(self, retracted: pa.Table) -> None:
        """Those that are taken back before they were let go."""
        self.hold(leave_out(self.events, retracted))

    def release(self, horizon: int, with_it: bool) -> tuple[pa.Table, Int64s]:
        """The events that are older, and their times; with_it: those of this time as well."""
        held, times = self.events, self._times
        ready = times <= horizon if with_it else times < horizon
        count = int(np.count_nonzero(ready))
        if count == len(times):
            self.hold(self._nothing)
            return held, times
        if ready[:count].all():  # those that go on waiting are behind the others
            self.hold(held.slice(count), times[count:])
            return held.slice(0, count), times[:count]
        self.hold(held.filter(pa.array(~ready)), times[~ready])
        return held.filter(pa.array(ready)), times[ready]


def leave_out(events: pa.Table, retracted: pa.Table) -> pa.Table:
    """Events without those that were taken back."""
    if not len(events) or not len(retracted):
        return events
    return events.filter(pa.array(~np.isin(tell_events(events), tell_events(retracted))))
