"""How much of each experiment is run, beside what the thesis ran."""

from __future__ import annotations

from dataclasses import dataclass

PAPER = {
    "events": 1_000_000,
    "events_black_box_speculating": 10_000,
    "rate_per_s": 100_000,
    "size": 10_000,
    "slide": 2_000,
    "load_us": 100,
    "instances": [1, 2, 4, 8, 16],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesExtent:
    """instances: numbers of them.  size, slide: of windows, in events; rounds: windows that each instance gets behind
    the first window, while a rate is measured.  black_box: events of the black box when it speculates.  over_time:
    events of the experiments that follow latency over time; time_size, time_slide: their windows.  factors (None:
    adaptive), intervals: of checkpoints.  ratio: events of the comparison where a tenth is late; repeats: of it."""

    instances: tuple[int, ...]
    size: int
    slide: int
    rounds: int
    black_box: int
    over_time: int
    time_size: int
    time_slide: int
    factors: tuple[float | None, ...] = (0.8, 0.6, 0.4, 0.2, 0.0, None)
    intervals: tuple[int, ...] = (1, 5, 10, 50, 100, 5_000)
    ratio: int
    repeats: int


FULL = InstancesExtent(
    instances=(1, 2, 4, 8, 16),
    size=10_000,
    slide=2_000,
    rounds=3,
    black_box=2_000,
    over_time=5_000,
    time_size=1_000,
    time_slide=200,
    ratio=10_000,
    repeats=3,
)
QUICK = InstancesExtent(
    instances=(1, 2),
    size=500,
    slide=100,
    rounds=3,
    black_box=300,
    over_time=800,
    time_size=200,
    time_slide=40,
    factors=(0.4, 0.0, None),
    intervals=(1, 50, 5_000),
    ratio=600,
    repeats=1,
)
