"""Which of several late events change nothing that stays: tried together, and in halves where that does harm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from cepheid.execution.changing.row_identity import EVENT


def choose_harmless(
    late: pa.Table, taken: pa.Table, does_no_harm: Callable[[pa.Table], bool]
) -> tuple[pa.Table, list[pa.Table]]:
    """taken: events that are taken in anyway.  All events that are, and the others.  An event that is there as several
    inputs is taken or refused as one."""
    refused: list[pa.Table] = []
    late = late.sort_by([("_arrival", "ascending"), (EVENT, "ascending")])
    names = late.column(EVENT).to_numpy()
    is_first = np.ones(len(late), dtype=np.bool_)
    is_first[1:] = names[1:] != names[:-1]
    bounds = [*np.flatnonzero(is_first).tolist(), len(late)]
    waiting = [(0, len(bounds) - 1)]
    while waiting:
        begin, end = waiting.pop()
        part = late.slice(bounds[begin], bounds[end] - bounds[begin])
        together = pa.concat_tables([taken, part])
        if does_no_harm(together):
            taken = together
        elif end - begin == 1:
            refused.append(part)
        else:
            middle = (begin + end) // 2
            waiting += [(middle, end), (begin, middle)]
    return taken, refused
