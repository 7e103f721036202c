"""Arrays with a row for each slot (or node), which grow by doubling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s


def widen(array: npt.NDArray[Any], rows: int, filler: int = 0) -> npt.NDArray[Any]:
    """The same array if it has so many rows, else a larger one; new rows hold `filler`."""
    if len(array) >= rows:
        return array
    wider = np.full((max(rows, 2 * len(array), 16), *array.shape[1:]), filler, dtype=array.dtype)
    wider[: len(array)] = array
    return wider


def beyond(slots: Int64s) -> int:
    """The first number behind these slots."""
    return int(slots.max()) + 1 if len(slots) else 0
