"""What several processes answered, as one query would have: rows, counts, measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.measurement import CountedVertices, Counts, StreamTime
from cepheid.schema import RETRACT


def merge_rows(parts: Sequence[pa.Table]) -> pa.Table:
    """The rows of all; of changes, what goes stands before what comes, as each process has it."""
    some = [part for part in parts if len(part)]
    if len(some) < 2:
        return (some or parts)[0]
    rows = pa.concat_tables(some)
    if "_change" not in rows.column_names:
        return rows
    gone = pc.equal(rows.column("_change"), RETRACT).to_numpy()
    return rows.take(pa.array(np.argsort(~gone, kind="stable"))) if gone.any() else rows


def merge_counts(parts: Sequence[Counts], repeats: bool) -> Counts:
    """All know the same of time; what waits, waits in each.  repeats: do all have all events?"""
    first = parts[0].as_dict()
    once = ("events", "rejected", "late", "held") if repeats else ()
    total = Counts(
        **{name: first[name] if name in once else sum(each.as_dict()[name] for each in parts) for name in first}
    )
    total.streams = {name: _merge_times([each.streams[name] for each in parts], repeats) for name in parts[0].streams}
    return total


def _merge_times(parts: Sequence[StreamTime], repeats: bool) -> StreamTime:
    clocks = [each.clock for each in parts if each.clock is not None]
    waiting = parts[0].waiting if repeats else sum(each.waiting for each in parts)
    return StreamTime(clock=max(clocks, default=None), idle=all(each.idle for each in parts), waiting=waiting)


def merge_measurements(parts: Sequence[dict[str, CountedVertices]], repeats: bool) -> dict[str, CountedVertices]:
    """By digest, of the same vertices in each process."""
    return {
        digest: replace(each, counts=merge_counts([part[digest].counts for part in parts], repeats))
        for digest, each in parts[0].items()
    }
