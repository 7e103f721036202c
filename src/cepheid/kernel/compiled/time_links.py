"""Rows of many scopes, found by when they are: each hangs in a chain of its scope and its stretch of time.

    heads[chain]    the row that came last            links[row]    the one that came before it, -1: none

A scope is told by a number (a hash, say), and a *span* is a scope with a stretch of time [begin, end).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled.njit_options import njit


@njit()
def link_rows(chains: Int64s, first: int, heads: Int64s, links: Int64s) -> None:
    """Hang up rows first, first + 1, ...; chains: int64[n]."""
    for number in range(chains.shape[0]):
        links[first + number] = heads[chains[number]]
        heads[chains[number]] = first + number


@njit()
def unite_spans(scopes: Int64s, begins: Int64s, ends: Int64s) -> Any:
    """Spans that are sorted by scope and begin, without overlaps: scopes, begins, ends."""
    count = 0
    united = np.empty((3, scopes.shape[0]), dtype=np.int64)
    for number in range(scopes.shape[0]):
        if count and united[0, count - 1] == scopes[number] and begins[number] <= united[2, count - 1]:
            united[2, count - 1] = max(united[2, count - 1], ends[number])
        else:
            united[0, count], united[1, count], united[2, count] = scopes[number], begins[number], ends[number]
            count += 1
    return united[0, :count].copy(), united[1, :count].copy(), united[2, :count].copy()


@njit()
def walk_chains(
    chains: Int64s, spans: Int64s, scopes: Int64s, begins: Int64s, ends: Int64s,
    heads: Int64s, links: Int64s, row_scopes: Int64s, row_times: Int64s, is_there: Flags,
) -> Any:  # fmt: skip
    """int64: the rows that are there and in a span; chains, spans: int64[m], where to look (-1: nowhere), and for whom.

    No chain is walked twice for the same span, so a row is found once.
    """
    found = np.empty(64, dtype=np.int64)
    count = 0
    for number in range(chains.shape[0]):
        if chains[number] < 0:
            continue
        span = spans[number]
        row = heads[chains[number]]
        while row >= 0:
            time = row_times[row]
            if is_there[row] and begins[span] <= time < ends[span] and row_scopes[row] == scopes[span]:
                if count == found.shape[0]:
                    wider = np.empty(2 * count, dtype=np.int64)
                    wider[:count] = found
                    found = wider
                found[count] = row
                count += 1
            row = links[row]
    return found[:count]


@njit()
def find_spans(row_scopes: Int64s, row_times: Int64s, scopes: Int64s, begins: Int64s, ends: Int64s) -> Any:
    """int64[n]: in which of these spans, which are sorted and do not overlap, a row is; -1: in none."""
    inside = np.full(row_scopes.shape[0], -1, dtype=np.int64)
    for row in range(row_scopes.shape[0]):
        scope, time = row_scopes[row], row_times[row]
        low, high = 0, scopes.shape[0]
        while low < high:
            middle = (low + high) // 2
            if scopes[middle] < scope or (scopes[middle] == scope and begins[middle] <= time):
                low = middle + 1
            else:
                high = middle
        if low > 0 and scopes[low - 1] == scope and time < ends[low - 1]:
            inside[row] = low - 1
    return inside
