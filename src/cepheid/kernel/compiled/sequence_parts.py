"""Kept runs of SEQ taken apart by key, and parts put together again.

A run lies as sequence_records.py writes it: (state, flags, how many events, then event and variable of each), or as
flow_advance.py does, which has two more numbers before the events.  All events of a run have one key, so that the first
tells whose it is; and the runs of a key stay in their order.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.sequence_records import HEAD, count_written, list_written
from cepheid.kernel.partition_rows import list_ranges, list_rows

_COUNT = 2  # where it lies in a run


def split_runs(kept_runs: bytes, owner: Int64s, count: int, head: int = HEAD) -> list[bytes]:
    """The runs of each of `count` parts; owner: int64[kept events]; head: how many numbers stand before the events."""
    written = _read(kept_runs)
    starts, events = _find_events(written, head)
    places = np.empty(len(owner), dtype=np.int64)  # of each event in its part
    for rows in list_rows(owner, count):
        places[rows] = np.arange(len(rows))
    whose = owner[written[starts + head]]
    written[events] = places[written[events]]
    lengths = head + 2 * written[starts + _COUNT]
    return [written[list_ranges(starts[runs], lengths[runs])].tobytes() for runs in list_rows(whose, count)]


def merge_runs(parts: list[bytes], places: list[Int64s], head: int = HEAD) -> bytes:
    """All runs; places: where the kept events of each part are among all of them."""
    merged = []
    for kept_runs, of_part in zip(parts, places, strict=True):
        written = _read(kept_runs)
        _, events = _find_events(written, head)
        written[events] = of_part[written[events]]
        merged.append(written.tobytes())
    return b"".join(merged)


def _read(kept_runs: bytes) -> Int64s:
    return np.frombuffer(kept_runs, dtype=np.int64).copy()


def _find_events(written: Int64s, head: int) -> tuple[Int64s, Int64s]:
    """Where runs begin, and where their events lie."""
    starts = np.empty(count_written(written, head)[0], dtype=np.int64)
    list_written(written, starts, head)
    pairs = list_ranges(np.zeros(len(starts), dtype=np.int64), written[starts + _COUNT])
    return starts, np.repeat(starts + head, written[starts + _COUNT]) + 2 * pairs
