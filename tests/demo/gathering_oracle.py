"""What should be found in the bus feed, computed the plain way: the measure for demos and tests.

`find_gatherings`: more than ten buses that have been late in every report of the last five minutes and
are, in the same round of reports, within ten metres of one of them.
`find_jumps`: a delay that rises over five reports of a bus and then jumps.
Neither knows anything of the product's engine, nor of how the feed was made.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def read_columns(table: pa.Table) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """ts in microseconds, bus, x, y, delay; sorted by bus, then ts."""
    ts = table.column("ts").cast(pa.int64()).to_numpy()
    bus = table.column("bus").to_numpy().astype(np.int64)
    order = np.lexsort((ts, bus))
    x, y, delay = (table.column(name).to_numpy()[order] for name in ("x", "y", "delay"))
    return ts[order], bus[order], x, y, delay


def stay_late(ts: Ints, bus: Ints, delay: Floats, above_s: float, window_s: int, least_reports: int) -> Flags:
    """For each report: was its bus late in all its reports of the last `window_s`, and in enough of them?"""
    row = np.arange(len(ts))
    key = bus * 10**16 + ts  # one ascending key: microseconds of this era have sixteen digits
    window_start = np.searchsorted(key, key - window_s * 1_000_000, side="right")
    bus_start = np.searchsorted(bus, bus, side="left")
    start = np.maximum(window_start, bus_start)
    last_on_time = np.maximum.accumulate(np.where(delay > above_s, -1, row))
    return (last_on_time < start) & (row - start + 1 >= least_reports)


def find_crowds(
    table: pa.Table,
    *,
    above_s: float = 300,
    window_s: int = 300,
    least_reports: int = 15,
    radius_m: float = 10,
    round_s: int = 20,
) -> NDArray[np.float64]:
    """The largest crowd of each round that has one: float64[rounds, 4] of second, x, y, buses."""
    ts, bus, x, y, delay = read_columns(table)
    late = stay_late(ts, bus, delay, above_s, window_s, least_reports)
    ts, x, y = ts[late], x[late], y[late]
    rounds = ts // (round_s * 1_000_000)
    crowds = []
    for this in np.unique(rounds):
        here = np.flatnonzero(rounds == this)
        near = np.hypot(x[here, None] - x[here], y[here, None] - y[here]) < radius_m
        size = near.sum(axis=1)
        while size.max() > 1:
            best = size.argmax()
            crowds.append((ts[here[best]] / 1e6, x[here[best]], y[here[best]], size[best]))
            gone = np.hypot(x[here] - x[here[best]], y[here] - y[here[best]]) < 3 * radius_m
            size = np.where(gone, 0, size)
    return np.array(crowds).reshape(-1, 4)


def find_gatherings(table: pa.Table, *, more_than: int = 10, apart_m: float = 100, quiet_s: float = 1200) -> pa.Table:
    """Each gathering once: ts of its first round, x, y, and the most buses it had.

    Rounds belong to the same gathering if they are within `apart_m` and no pause reaches `quiet_s`.
    """
    found: list[dict[str, float]] = []
    for second, x, y, buses in find_crowds(table):
        if buses <= more_than:
            continue
        same = [
            one for one in found if np.hypot(one["x"] - x, one["y"] - y) < apart_m and second - one["until"] < quiet_s
        ]
        if same:
            same[0]["until"] = second
            same[0]["buses"] = max(same[0]["buses"], buses)
        else:
            found.append({"ts": second, "x": x, "y": y, "buses": buses, "until": second})
    return pa.table(
        {
            "ts": pa.array([round(one["ts"] * 1e6) for one in found], pa.timestamp("us", tz="UTC")),
            "x": pa.array([one["x"] for one in found], pa.float64()),
            "y": pa.array([one["y"] for one in found], pa.float64()),
            "buses": pa.array([int(one["buses"]) for one in found], pa.int64()),
        }
    )


def find_jumps(table: pa.Table, *, rising: int = 5, jump_s: float = 120) -> pa.Table:
    """Reports whose delay is more than `jump_s` above the one before, which ended `rising` rises in a row."""
    ts, bus, x, y, delay = read_columns(table)
    step = np.diff(delay, prepend=delay[0])
    rises = (step > 0) & (bus == np.roll(bus, 1))
    found = rises & (step > jump_s)
    for back in range(1, rising + 1):
        found &= np.roll(rises, back)
    at = np.flatnonzero(found)
    at = at[np.argsort(ts[at])]
    return pa.table(
        {
            "ts": pa.array(ts[at], pa.timestamp("us", tz="UTC")),
            "bus": pa.array(bus[at]),
            "x": pa.array(x[at]),
            "y": pa.array(y[at]),
            "delay_before": pa.array(delay[at - 1]),
            "delay_after": pa.array(delay[at]),
        }
    )
