"""What a user can set for one query, with its defaults, in one place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

DialectName = Literal["trino", "spark"]
"""Whose SQL a query is written in."""

KEY_GROUPS = int(os.environ.get("CEPHEID_KEY_GROUPS", "64"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """strict: refuse a continuous query whose state cannot be bounded, instead of warning.

    lateness: how long events may be overtaken by others; None: as the host says (Spark: the DataFrame's own
    watermark; embedded: not at all).  key_groups: into how many parts the keys are hashed on Spark; fixed for
    the life of a checkpoint.  wait: of streams that change, how long events are held back, if not as long as they may
    be late: what was given out too early is corrected.
    """

    strict: bool = False
    lateness: timedelta | None = None
    key_groups: int = KEY_GROUPS
    wait: timedelta | None = None
