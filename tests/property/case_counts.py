"""How many random cases a test runs: two thirds of them in `make test`, all in `make soak`."""

from __future__ import annotations

import os


def few(count: int, of: int) -> int:
    """A share of the cases in `make test`, all in `make soak`: of a test that takes long."""
    return of if os.environ.get("CEPHEID_CASES") == "all" else count


def some(count: int) -> int:
    return count if os.environ.get("CEPHEID_CASES") == "all" else count * 2 // 3
