"""The order of values of one kind: NaN is greater than every other number, strings order by their UTF-8 bytes."""

from __future__ import annotations

import math
from functools import cmp_to_key
from typing import Any


def compare(left: Any, right: Any) -> int:
    """Below zero, zero or above zero as left is before, equal to or after right; both are of one kind.

    Python orders strings by code point, and UTF-8 keeps that order in its bytes.
    """
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) - math.isnan(right)
    return int(left > right) - int(left < right)


in_order = cmp_to_key(compare)
