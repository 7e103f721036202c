"""Sources that fall silent although they never do: events wait for them, so that what they send later is in time.

    a source says nothing, others go on ─▶ away: the watermark stays where it was heard last ─▶ back: a burst
                                           └─ for longer than we have patience: idle, nobody waits for it

A source is *away* once the others are further ahead of it than three times what is usual for it, and than half of what
events wait anyway.  How late its events
will be when it comes back is known before they come: as old as its silence.  To wait for it then is cheaper than to
wait that long at all times, which a share of all events (a quantile) asks for if it happens each minute.

Patience is `idle_after_us`, or a quarter more than the longest silence that ended so far.  What a source that was
away sends at once is a *burst*: it says nothing of how late events are on other days.  It is waited for until it has
caught up and nothing of the burst has come for as long as events are waited for ordinarily.  One that goes on sending
for longer than it was silent, and is still behind, is no burst: it lags, and that is usual for it from now on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.disorder.lateness_histogram import SHORTEST_US, Float64s, Int64s
from cepheid.event_time import BEGINNING

Flags = npt.NDArray[np.bool_]

MOST_SOURCES = 256  # of more, those with higher numbers are not looked after
UNUSUAL = 3.0  # times what is usual
KNOWN_AFTER = 32  # events, before which nothing is usual
AHEAD = 2.0  # blocks may pass before we look again
STRIDE_KEPT = 0.95  # of how long a block takes: many come in one moment of a burst
KEPT_PER_BLOCK = 0.8  # of how long it is waited for, once the burst is over
FORGOTTEN = 0.05  # of what is usual, for each block of its own events
MORE_PATIENCE = 1.25
NEVER = np.iinfo(np.int64).max

OF_EACH = {
    "newest": BEGINNING,  # event time
    "usual_us": 0.0,  # how far others are ahead of it
    "peak_us": 0.0,  # how far they were since `usual` was renewed, and how many events it sent since then
    "heard": 0.0,
    "known": 0.0,  # events, all in all
    "hold_us": 0.0,  # how long events wait for it now
    "silence_us": 0.0,  # of one that is away: the longest so far; 0: it is not away
    "spoken_us": 0.0,  # how long it has been sending events all the same
    "burst_at": float(BEGINNING),  # when the latest event of a burst came
}  # what is kept of each source, as it is before any event


class SilentSources:
    """Looks at blocks of events: `block` of them each."""

    def __init__(self, block: int, idle_after_us: int) -> None:
        self._block = block
        self._clock = BEGINNING
        self._stride_us = 0.0  # event time that a block takes, while a source is away
        self.hold_us = 0.0  # how long events wait for sources that are away, now
        self._patience = np.empty(0)
        self._idle_after_us = float(idle_after_us)
        self._of = {name: np.full(0, value) for name, value in OF_EACH.items()}  # arrays over sources

    def follow(
        self, times: Int64s, sources: Int64s, lateness: Int64s, ordinary_us: float
    ) -> tuple[Float64s, Flags] | tuple[None, None]:
        """Whole blocks of events; ordinary_us: how long they wait anyway.  float64[blocks]: how long they wait for
        sources that are away, from each block on; bool[n]: does the event belong to a burst?  None: no source is away.
        """
        highest = int(sources.max())
        self._grow(min(highest + 1, MOST_SOURCES))
        of, count, blocks = self._of, len(self._patience), len(times) // self._block
        if count == 1:  # nobody to compare it with
            self._clock = int(times[-1] + lateness[-1])
            of["newest"][0] = self._clock
            of["heard"] += len(times)
            return None, None
        watched = slice(None) if highest < count else sources < count
        rows = np.repeat(np.arange(0, blocks * count, count), self._block)
        cells = (rows + sources)[watched]  # of a table with a row for each block, a column for each source
        clock = (times + lateness)[self._block - 1 :: self._block]
        newest = np.full((blocks + 1, count), BEGINNING)
        newest[0] = of["newest"]
        np.maximum.at(newest.reshape(-1)[count:], cells, times[watched])
        np.maximum.accumulate(newest, axis=0, out=newest)
        gaps = clock[:, None] - newest[1:]
        gaps *= newest[1:] > BEGINNING  # of one that was never heard nobody knows
        of["newest"] = newest[-1]
        bound = self._find_bound(ordinary_us)
        widest = gaps.max(axis=0)
        if not of["silence_us"].any() and (widest <= bound).all():
            np.maximum(of["peak_us"], widest, out=of["peak_us"])
            of["heard"] += np.bincount(sources[watched], minlength=count)
            self._clock, self.hold_us, self._stride_us = int(clock[-1]), 0.0, 0.0
            return None, None
        latest = np.zeros((blocks, count), dtype=np.int64)
        np.maximum.at(latest.reshape(-1), cells, lateness[watched])
        heard = np.bincount(cells, minlength=blocks * count).reshape(blocks, count)
        holds, bursts = np.empty(blocks), np.zeros((blocks, count), dtype=np.bool_)
        for block in range(blocks):
            self._look(int(clock[block]), gaps[block], latest[block], heard[block], ordinary_us)
            holds[block], bursts[block] = self.hold_us, of["silence_us"] > ordinary_us
        belongs = np.zeros(len(times), dtype=np.bool_)
        belongs[watched] = bursts.reshape(-1)[cells]
        return holds, belongs

    def _find_bound(self, ordinary_us: float) -> Float64s:
        """The longest gap of each source that is not unusual."""
        usual = np.maximum(UNUSUAL * self._of["usual_us"], max(ordinary_us / 2, SHORTEST_US))
        return np.where(self._of["known"] >= KNOWN_AFTER, usual, NEVER)

    def _look(self, clock: int, gap: Int64s, latest: Int64s, heard: Int64s, ordinary_us: float) -> None:
        """One block; arrays over sources.  gap: how far others are ahead of it; latest: how late its latest event was;
        heard: how many it sent."""
        of = self._of
        bound = self._find_bound(ordinary_us)
        away = (gap > bound) | (of["silence_us"] > 0)
        of["silence_us"] = np.where(away, np.maximum(of["silence_us"], gap), 0.0)
        behind = np.maximum(gap, np.minimum(latest, of["silence_us"]))  # what is later is no part of the burst
        enough = np.maximum(bound, ordinary_us)
        of["burst_at"] = np.where(behind > enough, clock, of["burst_at"])
        settled = clock - of["burst_at"] > ordinary_us
        kept = np.where(settled, KEPT_PER_BLOCK, 1.0) * of["hold_us"]
        of["hold_us"] = np.where(away & (gap <= self._patience), np.maximum(behind, kept), 0.0)
        back = away & settled & (gap <= bound) & (of["hold_us"] <= enough)
        of["spoken_us"] = np.where(away, of["spoken_us"] + (clock - self._clock) * (heard > 0), 0.0)
        lags = away & (of["spoken_us"] > of["silence_us"])
        of["usual_us"] = np.where(lags, np.maximum(of["usual_us"], gap), of["usual_us"])
        back |= lags
        longer = np.maximum(self._patience, MORE_PATIENCE * of["silence_us"])
        self._patience = np.where(back, longer, self._patience)
        for name in ("hold_us", "silence_us", "spoken_us"):
            of[name][back] = 0.0
        np.maximum(of["peak_us"], gap, out=of["peak_us"], where=~away)
        of["heard"] += heard * ~away
        self._stride_us = max(float(clock - self._clock), STRIDE_KEPT * self._stride_us) if away.any() else 0.0
        self.hold_us = float(of["hold_us"].max())
        if self.hold_us:
            self.hold_us += AHEAD * self._stride_us  # time goes on before we look again
        self._clock = clock

    def renew(self) -> None:
        """What is usual, after what was seen since the last time."""
        of = self._of
        spoke = of["heard"] > 0
        usual = of["usual_us"] * (1 - FORGOTTEN * np.minimum(of["heard"] / self._block, 1.0))
        of["usual_us"] = np.where(spoke, np.maximum(of["peak_us"], usual), of["usual_us"])
        of["peak_us"] = np.where(spoke, 0.0, of["peak_us"])
        of["known"] += of["heard"]
        of["heard"][:] = 0.0

    def _grow(self, count: int) -> None:
        missing = count - len(self._patience)
        if missing > 0:
            self._patience = np.append(self._patience, [self._idle_after_us] * missing)
            self._of = {name: np.append(self._of[name], [value] * missing) for name, value in OF_EACH.items()}

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        arrays = {name: values.tolist() for name, values in self._of.items()}
        return {**arrays, "patience": self._patience.tolist(), "now": [self._clock, self._stride_us, self.hold_us]}

    def read_state(self, state: Mapping[str, Any]) -> None:
        self._of = {name: np.array(state[name], dtype=type(value)) for name, value in OF_EACH.items()}
        self._patience = np.array(state["patience"], dtype=np.float64)
        self._clock, self._stride_us, self.hold_us = state["now"]
