"""The kinds of delays, by the names that scenarios call them.  To add one: a class with `draw` (delay.py), whose fields
are its keys, and its line here."""

from __future__ import annotations

from typing import Any

from cepheid.bench.disorder.delays.drawn import Exponential, Fixed, LogNormal, Pareto, UniformShare, Zipf
from cepheid.bench.disorder.delays.drift import Drift
from cepheid.bench.disorder.delays.outage import Outage
from cepheid.bench.disorder.delays.ramp import Ramp
from cepheid.bench.disorder.delays.replay import Replay

DELAYS: dict[str, type[Any]] = {
    "fixed": Fixed,
    "exponential": Exponential,
    "log-normal": LogNormal,
    "pareto": Pareto,
    "zipf": Zipf,
    "uniform": UniformShare,
    "ramp": Ramp,
    "outage": Outage,
    "drift": Drift,
    "replay": Replay,
}
