"""How far a micro-batch goes in each partition of a topic, if it may not take all that is there.

            partition 0   ────────●─────────▶        ● the end of the batch
            partition 1   ──●───────────────▶        in each, up to about the same event time
            time          ──────T

A partition that runs ahead of the others would move time on, and what is still unread in the others would be late.  So
the partition that comes least far by its share of the limit decides (T), and the others end where their events pass T.
What is unread then is later than T, but for the disorder within its own partition: T is how far time has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Partition = tuple[str, int]
Offsets = Mapping[Partition, int]
Look = Callable[[Offsets], Mapping[Partition, int | None]]
"""The event time of the record at an offset, or behind it if there is none, in microseconds; None: it has none."""


@dataclass(frozen=True, slots=True)
class BatchEnds:
    """time: no later than the events that are left unread; None: none are."""

    offsets: dict[Partition, int]
    time: int | None = None


def choose_ends(begins: Offsets, latest: Offsets, limit: int | None, look: Look | None) -> BatchEnds:
    """limit: how many records, about; None: all.  look: None if events have no time."""
    waiting = {place: max(0, latest[place] - begins[place]) for place in latest}
    total = sum(waiting.values())
    if limit is None or total <= limit:
        return BatchEnds(dict(latest))
    ends = {
        place: begins[place] + min(count, max(1, count * limit // total)) if count else latest[place]
        for place, count in waiting.items()
    }
    return BatchEnds(ends) if look is None else align_ends(begins, ends, latest, look)


def align_ends(begins: Offsets, ends: Offsets, latest: Offsets, look: Look) -> BatchEnds:
    taken = {place: end - 1 for place, end in ends.items() if end > begins[place]}
    times = look(taken)
    least = [time for place, time in times.items() if time is not None and ends[place] < latest[place]]
    if not least:
        return BatchEnds(dict(ends))
    until = min(least)
    ahead = [place for place, time in times.items() if time is not None and time > until]
    # Below `low` events are not later than T, at `high` there is one that is.
    low = {place: begins[place] for place in ahead}
    high = {place: taken[place] for place in ahead}
    while apart := [place for place in ahead if low[place] < high[place]]:
        middle = {place: (low[place] + high[place]) // 2 for place in apart}
        for place, time in look(middle).items():
            if time is not None and time > until:
                high[place] = middle[place]
            else:
                low[place] = middle[place] + 1
    return BatchEnds({**ends, **high}, until)
