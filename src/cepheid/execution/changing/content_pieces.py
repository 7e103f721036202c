"""A table cut where its own rows say so, so that most pieces stay as they are when rows come and go.

    before   a b c│d e f g│h i│j k l          a row ends a piece if the hash of its mark says so, whoever stands
    now          c│d e x f g│h i│j k l m      beside it: x is new, a and b are gone, and two pieces are other ones

Whoever keeps the pieces of before (execution/spark/chain_state.py) writes only those that are new.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.changing.row_hash import mix

ROWS = 1024  # of a piece, on average; a power of two


def cut_by_content(table: pa.Table, marks: npt.NDArray[np.int64]) -> list[pa.Table]:
    """marks: int64[n], who the rows are, or what.  At least one piece, and nothing but the last is ever empty."""
    hashes = mix(marks.view(np.uint64))
    ends = np.flatnonzero((hashes & np.uint64(ROWS - 1)) == 0) + 1
    bounds = [0, *ends[ends < len(table)].tolist(), len(table)]
    return [table.slice(begin, end - begin) for begin, end in pairwise(bounds)]
