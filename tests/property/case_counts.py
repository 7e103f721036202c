"""How many random cases a test runs: two thirds of them in `make test`, all in `make soak`."""

from __future__ import annotations

import os


def some(count: int) -> int:
    return count if os.environ.get("CEPHEID_CASES") == "all" else count * 2 // 3
