"""How late events were, or how late the latest event of each result was: counts in buckets that forget.

    not late │ up to 1 ms │ up to 1.1 ms │ up to 1.21 ms │ ... │ up to a day │ later
       0     │      1     │      2       │       3       │     │             │

Each bucket is a tenth wider than the one before, so that a second and an hour are known equally well, in about 200
numbers.  What was counted half a `half_life` of event time ago weighs less: no clock of a machine is asked.  Histograms
of several engines can be put together.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.event_time import BEGINNING

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

RATIO = 1.1
SHORTEST_US = 1_000  # below this no two waits differ
LONGEST_US = 86_400_000_000
BUCKETS = 3 + int(np.ceil(np.log(LONGEST_US / SHORTEST_US) / np.log(RATIO)))
BOUNDS_US = np.append(0.0, SHORTEST_US * RATIO ** np.arange(BUCKETS - 1))  # float64[BUCKETS]: the largest of each
TEN_MINUTES_US = 600_000_000


class LatenessHistogram:
    """half_life_us: of event time, after which a count is worth half."""

    def __init__(self, half_life_us: float = TEN_MINUTES_US) -> None:
        self.half_life_us = half_life_us
        self.weights = np.zeros(BUCKETS)
        self.moment = BEGINNING  # the event time at which the weights are what they are

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def age(self, moment: int) -> None:
        """Forget as much as the time asks for; it never goes back."""
        if self.moment > BEGINNING and moment > self.moment:
            self.weights *= 0.5 ** ((moment - self.moment) / self.half_life_us)
        self.moment = max(self.moment, moment)

    def add(self, lateness: Int64s, weights: Float64s | None = None) -> None:
        """lateness: int64[n], not negative; weights: float64[n], 1 of each if not given."""
        if weights is None and not lateness.any():
            self.weights[0] += len(lateness)
        else:
            self.weights += np.bincount(find_buckets(lateness), weights, BUCKETS)

    def merge(self, other: LatenessHistogram) -> None:
        """Add what another engine has counted, each as old as it is."""
        self.age(other.moment)
        behind = self.moment - other.moment if other.moment > BEGINNING else 0
        self.weights += other.weights * 0.5 ** (behind / self.half_life_us)

    def find_quantile(self, share_above: float) -> float:
        """The lateness that this share of what was counted exceeds; 0 if nothing was counted."""
        wanted = share_above * self.total
        above = np.cumsum(self.weights[::-1])[::-1]  # in this bucket or a later one
        bucket = int(np.count_nonzero(above > wanted)) - 1  # it never grows from left to right
        if bucket <= 0:
            return 0.0
        later = above[bucket] - self.weights[bucket]
        within = float((wanted - later) / self.weights[bucket])  # the share of the bucket that lies above
        return float(BOUNDS_US[1] * (1 - within) if bucket == 1 else BOUNDS_US[bucket] * RATIO**-within)

    def find_bound(self, share_above: float) -> float:
        """The largest lateness of the bucket that this is in."""
        above = np.cumsum(self.weights[::-1])[::-1]
        return float(BOUNDS_US[max(int(np.count_nonzero(above > share_above * above[0])) - 1, 0)])

    def find_share_above(self, lateness_us: float) -> float:
        """The share of what was counted that exceeds a lateness; 0 if nothing was counted."""
        total = self.total
        if not total:
            return 0.0
        if lateness_us <= 0:
            return float(self.weights[1:].sum()) / total
        bucket = int(np.searchsorted(BOUNDS_US, lateness_us))
        if bucket >= BUCKETS:
            return 0.0
        lower, upper = float(BOUNDS_US[bucket - 1]), float(BOUNDS_US[bucket])
        within = np.log(upper / lateness_us) / np.log(RATIO) if bucket > 1 else (upper - lateness_us) / (upper - lower)
        return float(self.weights[bucket + 1 :].sum() + self.weights[bucket] * min(within, 1.0)) / total

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {"half_life_us": self.half_life_us, "moment": self.moment, "weights": write_floats(self.weights)}

    def read_state(self, state: Mapping[str, Any]) -> None:
        self.half_life_us, self.moment = state["half_life_us"], state["moment"]
        self.weights = read_floats(state["weights"])


def find_buckets(lateness: Int64s) -> Int64s:
    """int64[n]: the bucket of each."""
    steps = np.log(np.maximum(lateness, SHORTEST_US) / SHORTEST_US)
    steps *= 1 / np.log(RATIO)
    buckets = np.ceil(steps, out=steps).astype(np.int64)
    buckets += 1
    np.minimum(buckets, BUCKETS - 1, out=buckets)
    buckets *= lateness > 0
    return buckets


def write_floats(values: Float64s) -> str:
    """As JSON can hold them, to the last bit."""
    return b64encode(values.tobytes()).decode()


def read_floats(text: str) -> Float64s:
    return np.frombuffer(b64decode(text)).copy()
