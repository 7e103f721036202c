"""Checks of rates, lengths and seeds of arrivals; a message names the kind and the field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from cepheid.errors import InvalidInput, suggest_name


def check_rate(kind: str, name: str, value: Any) -> None:
    """Zero is allowed, negative rates are not."""
    if not _is_number(value) or value < 0.0:
        raise InvalidInput(f'arrivals "{kind}": "{name}" is {value!r}', hint="events per second, 0 or more")


def check_length(kind: str, name: str, value: Any, may_be_zero: bool = False) -> None:
    if not _is_number(value) or value < 0.0 or (value == 0.0 and not may_be_zero):
        raise InvalidInput(f'arrivals "{kind}": "{name}" is {value!r}', hint="a number, more than 0")


def check_seed(kind: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f'arrivals "{kind}": "seed" is {value!r}', hint="a whole number, 0 or more")
    return value


def check_factor(kind: str, value: Any) -> float:
    if not _is_number(value) or value < 0.0:
        raise InvalidInput(f'arrivals "{kind}": "factor" is {value!r}', hint="a number, 0 or more")
    return float(value)


def refuse_unknown(kind: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    for name in table:
        if name not in names:
            raise InvalidInput(f'arrivals "{kind}" have no "{name}"', hint=suggest_name(name, names))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
