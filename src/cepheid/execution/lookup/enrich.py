"""Events with the rows they find: the join of a batch with a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import UnknownColumn
from cepheid.event_time import order_values
from cepheid.execution.lookup.found import Lookup
from cepheid.kernel.columns import Int64s

Fits = Callable[[Int64s, pa.Table], npt.NDArray[np.bool_]]


def enrich(
    batch: pa.Table,
    keys: Sequence[str],
    lookup: Lookup,
    kind: Literal["inner", "left"] = "inner",
    *,
    columns: Sequence[str] | None = None,
    fits: Fits | None = None,
    latest: str | None = None,
) -> tuple[Int64s, pa.Table]:
    """int64[m]: positions of events, ascending, and a table of m rows: what each found.

    keys: columns of the batch, in the order of the lookup's keys.  left: an event that finds nothing stays, with a
    row of nulls.  columns: those of the table that are needed, all by default.  fits(positions, rows): what else ON
    asks of a pair; a pair that does not fit is none, so that an event of a left join may come out with nulls by it.
    latest: a column of the table; of the rows that an event finds, only the latest that is not behind its `_as_of`
    counts, before it is asked whether it fits.
    """
    for key in keys:
        if key not in batch.column_names:
            raise UnknownColumn(key, "batch", batch.column_names)
    found = lookup.find([batch.column(key) for key in keys])
    events, rows = found.events, found.rows
    if latest is not None:
        chosen = _find_latest(events, rows, batch.column("_as_of"), found.table.column(latest))
        events, rows = events[chosen], rows[chosen]
    if fits is not None:
        kept = fits(events, found.table.take(pa.array(rows)))
        events, rows = events[kept], rows[kept]
    table = found.table if columns is None else found.table.select(list(columns))
    if kind == "inner":
        return events, table.take(pa.array(rows))
    events, rows = _add_unmatched(events, rows, batch.num_rows)
    return events, table.take(pa.array(rows, mask=rows < 0))


def _find_latest(events: Int64s, rows: Int64s, moments: pa.ChunkedArray, times: pa.ChunkedArray) -> Int64s:
    """Positions of pairs, one for each event that has one: its time is the greatest up to the event's moment; of equal
    ones the last row counts, and null is never valid."""
    asked, known = order_values(moments)
    since, stated = order_values(times)
    valid = since[rows] <= asked[events]
    if stated is not None:
        valid &= stated[rows]
    if known is not None:
        valid &= known[events]
    pairs = np.flatnonzero(valid)
    order = pairs[np.lexsort((rows[pairs], since[rows[pairs]], events[pairs]))]
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = events[order[1:]] != events[order[:-1]]
    return order[is_last]


def _add_unmatched(events: Int64s, rows: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """Row -1 for each event that has none, in its place among the others."""
    has_row = np.zeros(count, dtype=np.bool_)
    has_row[events] = True
    lonely = np.flatnonzero(~has_row)
    if not len(lonely):
        return events, rows
    places = np.searchsorted(events, lonely)
    return np.insert(events, places, lonely), np.insert(rows, places, -1)
