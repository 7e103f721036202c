"""Rows of arrays by partition: the parts of a snapshot that is split, and their way back into one.

owner    1 0 1 1 0
rows     partition 0: 1 4, partition 1: 0 2 3       the order among the rows of a partition stays
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s

Arrays = dict[str, npt.NDArray[Any]]


def list_rows(owner: Int64s, count: int) -> list[Int64s]:
    """The rows of each of `count` partitions, ascending; owner: int64[n], the partition of each row."""
    assert not len(owner) or (owner.min() >= 0 and owner.max() < count), "every row has one of the partitions"
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(count + 1))
    return [order[begin:end] for begin, end in pairwise(bounds)]


def list_ranges(starts: Int64s, lengths: Int64s) -> Int64s:
    """start, start + 1, ... for each range, one range behind another."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)


def take_lists(ends: Int64s, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Some of the lists that lie one behind another and end at `ends`: their ends, and the items they are made of."""
    lengths = np.diff(ends, prepend=0)
    return np.cumsum(lengths[rows]), list_ranges((ends - lengths)[rows], lengths[rows])


def take_arrays(arrays: Arrays, rows: Int64s) -> Arrays:
    """These rows of arrays that belong together; texts are bytes (`text`) that end at `text_ends`."""
    taken = {name: array[rows] for name, array in arrays.items() if not name.endswith(("text", "text_ends"))}
    for name in (name for name in arrays if name.endswith("text_ends")):
        ends, letters = take_lists(arrays[name], rows)
        text = name.removesuffix("_ends")
        taken |= {name: ends, text: arrays[text][letters]}
    return taken


def join_arrays(parts: list[Arrays]) -> Arrays:
    """The rows of several such sets of arrays, one behind another."""
    joined = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        if name.endswith("text_ends"):
            arrays = shift_ends(arrays)
        joined[name] = np.concatenate(arrays)
    return joined


def shift_ends(ends: list[Int64s]) -> list[Int64s]:
    """Where lists end once all of them lie one behind another."""
    shifted, so_far = [], 0
    for each in ends:
        shifted.append(each + so_far)
        so_far += int(each[-1]) if len(each) else 0
    return shifted
