"""ORDER BY, LIMIT and ranks over the rows of each evaluation by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.errors import NotSupportedYet
from cepheid.graph.operators.window_aggregate import Arrangement, SortTerm
from cepheid.kernel.columns import Int64s

LAST = np.int64(2**62)


def arrange_rows(arrangement: Arrangement, cells: dict[str, pa.Array], evaluations: Int64s) -> Int64s | None:
    """int64: the rows that stay, in order; None: all as they are."""
    if not arrangement.order and arrangement.limit is None and not arrangement.offset:
        return None
    order = _sort(arrangement.order, cells, evaluations)
    place = _count_within(evaluations[order])
    last = LAST if arrangement.limit is None else arrangement.offset + arrangement.limit
    return order[(place >= arrangement.offset) & (place < last)]


def rank_rows(function: str, terms: tuple[SortTerm, ...], cells: dict[str, pa.Array], evaluations: Int64s) -> Int64s:
    """int64[n]: rank, dense_rank or row_number of each row."""
    order = _sort(terms, cells, evaluations)
    place = _count_within(evaluations[order])
    keys = [_sort_key(term, cells)[order] for term in terms]
    changes = np.ones(len(order), dtype=np.bool_)
    if len(order) > 1:
        changes[1:] = place[1:] == 0
        for key in keys:
            changes[1:] |= key[1:] != key[:-1]
    if function == "rank":
        place = place[np.maximum.accumulate(np.where(changes, np.arange(len(order)), 0))]
    elif function == "dense_rank":
        counted = np.cumsum(changes)
        starts = np.maximum.accumulate(np.where(place == 0, np.arange(len(order)), 0))
        place = counted - counted[starts]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = place + 1
    return ranks


def _sort(terms: tuple[SortTerm, ...], cells: dict[str, pa.Array], evaluations: Int64s) -> Int64s:
    keys = [_sort_key(term, cells) for term in reversed(terms)]
    return np.lexsort([*keys, evaluations])


def _sort_key(term: SortTerm, cells: dict[str, pa.Array]) -> Int64s:
    """Numbers in the order that the term asks for; NaN is greater than every other number."""
    column = cells[term.cell]
    try:
        ranks = pc.rank(column, sort_keys="ascending", tiebreaker="min").to_numpy().astype(np.int64)
    except pa.ArrowNotImplementedError:
        raise NotSupportedYet(f"ORDER BY values of type {column.type}", hint="order by a number or a text") from None
    if term.descending:
        ranks = -ranks
    if column.null_count:
        absent = column.is_null().to_numpy(zero_copy_only=False)
        ranks[absent] = -LAST if term.nulls_first else LAST
    return ranks


def _count_within(evaluations: Int64s) -> Int64s:
    """int64[n]: how many rows of the same evaluation stand before; `evaluations` are ascending."""
    if not len(evaluations):
        return evaluations
    begins = np.concatenate([np.zeros(1, dtype=np.int64), np.flatnonzero(np.diff(evaluations)) + 1])
    counts = np.diff(np.append(begins, len(evaluations)))
    return np.arange(len(evaluations)) - np.repeat(begins, counts)
