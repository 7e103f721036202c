"""Sections 7.6.1 to 7.6.5: rates and latencies by instances, and latency over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.bench.disorder.delays.delay import Floats
from cepheid.bench.disorder.instances.extents import InstancesExtent
from cepheid.bench.disorder.instances.runs import Latencies, Setting, follow_latency, measure_rate
from cepheid.bench.disorder.instances.streams import Stream, make_in_order, make_ramp

INTERVAL_NS = 10_000  # 100,000 events/s, as the thesis has it
BLACK_SIZE, BLACK_SLIDE = 100, 20
OF_RATE = 0.9  # what the limiter lets through, of what was measured
OF_RATE_OVER_TIME = 0.25  # there, so that what rises may fall again, and processors are idle in between
AFTER_PEAK = 0.85  # of the events
BINS = 40
STRATEGIES = ("open box", "black box")

Rows = dict[str, dict[str, Any]]


def count_events(extent: InstancesExtent, instances: int) -> int:
    return extent.size + extent.slide * extent.rounds * instances


# --- 7.6.1, 7.6.2, 7.6.3: by instances ---------------------------------------------------------------------


def compare_without_speculation(extent: InstancesExtent, advance: Callable[[], object]) -> Rows:
    """Figures 7-3 and 7-4."""
    rows: Rows = {}
    for instances in extent.instances:
        stream = make_in_order(count_events(extent, instances), INTERVAL_NS)
        setting = Setting(instances=instances, size=extent.size, slide=extent.slide)
        rows[str(instances)] = {each: _measure(replace(setting, strategy=each), stream) for each in STRATEGIES}
        advance()
    return rows


def compare_with_speculation(extent: InstancesExtent, advance: Callable[[], object]) -> Rows:
    """Figures 7-5 and 7-6: nothing is late, and K is how far events of C are behind the next one of A or B.  The factor
    follows the load.  The black box has few events and small windows, as in the thesis."""
    rows: Rows = {}
    small = make_in_order(extent.black_box, INTERVAL_NS)
    for instances in extent.instances:
        stream = make_in_order(count_events(extent, instances), INTERVAL_NS)
        open_box = Setting(instances=instances, size=extent.size, slide=extent.slide, factor=None, is_known=False)
        black_box = replace(open_box, strategy="black box", size=BLACK_SIZE, slide=BLACK_SLIDE)
        rows[str(instances)] = {"open box": _measure(open_box, stream), "black box": _measure(black_box, small)}
        advance()
    return rows


def compare_out_of_order(extent: InstancesExtent, rates: Rows, advance: Callable[[], object]) -> Rows:
    """Figure 7-7, no speculation.  rates: of Figure 7-3.  A black box refuses events that come later than K, while K
    grows: it has no state to go back to."""
    rows: Rows = {}
    for instances in extent.instances:
        stream = make_ramp(count_events(extent, instances), INTERVAL_NS)
        setting = Setting(instances=instances, size=extent.size, slide=extent.slide)
        rows[str(instances)] = {
            strategy: _describe(
                follow_latency(
                    replace(setting, strategy=strategy),
                    stream,
                    OF_RATE * rates[str(instances)][strategy]["events_per_s"],
                ),
                extent.size,
            )
            for strategy in STRATEGIES
        }
        advance()
    return rows


def _measure(setting: Setting, stream: Stream) -> dict[str, Any]:
    """Throughput, and the latency of a source that is limited by it."""
    rate = measure_rate(setting, stream)
    latencies = follow_latency(setting, stream, OF_RATE * rate["events_per_s"])
    return {**rate, **_describe(latencies, setting.size)}


def _describe(latencies: Latencies, warm: int) -> dict[str, Any]:
    """Of the events behind the first window."""
    measured = latencies.latency_ms[warm:]
    p50, p99 = np.percentile(measured, [50, 99])
    rate = (len(measured) - 1) / max(1e-9, latencies.at_s[-1] - latencies.at_s[warm])
    return {
        "limited_to_per_s": round(float(rate), 1),
        "mean_ms": round(float(measured.mean()), 3),
        "p50_ms": round(float(p50), 3),
        "p99_ms": round(float(p99), 3),
        "mean_factor": round(float(latencies.factors[warm:].mean()), 3),
        "refused_when_limited": latencies.ran.refused,
    }


# --- 7.6.4, 7.6.5: over time -------------------------------------------------------------------------------


def follow_factors(extent: InstancesExtent, rates: dict[int, float], advance: Callable[[], object]) -> Rows:
    """Figures 7-8 to 7-12; a state every 50 events."""
    rows: Rows = {}
    for instances in extent.instances:
        quiet, ramp = _make_streams(extent)
        setting = _set_up(extent, instances)
        rate = OF_RATE_OVER_TIME * rates[instances]
        rows[str(instances)] = {"in order, waits": _trace(setting, quiet, rate)}
        for factor in extent.factors:
            ran = _trace(replace(setting, factor=factor, is_known=False), ramp, rate)
            rows[str(instances)][name_factor(factor)] = ran
        advance()
    return rows


def follow_intervals(extent: InstancesExtent, rates: dict[int, float], advance: Callable[[], object]) -> Rows:
    """Figures 7-13 to 7-17; an adaptive factor."""
    rows: Rows = {}
    for instances in extent.instances:
        _, ramp = _make_streams(extent)
        setting = replace(_set_up(extent, instances), factor=None, is_known=False)
        rate = OF_RATE_OVER_TIME * rates[instances]
        rows[str(instances)] = {
            f"every {interval:,}": _trace(replace(setting, checkpoints=interval), ramp, rate)
            for interval in extent.intervals
        }
        advance()
    return rows


def measure_small_rates(extent: InstancesExtent) -> dict[int, float]:
    """With the windows of the experiments over time."""
    rates: dict[int, float] = {}
    for instances in extent.instances:
        count = extent.time_size + max(2 * extent.time_size, extent.time_slide * extent.rounds * instances)
        stream = make_in_order(count, INTERVAL_NS)
        rates[instances] = measure_rate(_set_up(extent, instances), stream)["events_per_s"]
    return rates


def name_factor(factor: float | None) -> str:
    return "adaptive" if factor is None else f"{1 - factor:.0%}"


def _make_streams(extent: InstancesExtent) -> tuple[Stream, Stream]:
    return make_in_order(extent.over_time, INTERVAL_NS), make_ramp(extent.over_time, INTERVAL_NS)


def _set_up(extent: InstancesExtent, instances: int) -> Setting:
    return Setting(instances=instances, size=extent.time_size, slide=extent.time_slide)


def _trace(setting: Setting, stream: Stream, rate_per_s: float) -> dict[str, Any]:
    """Latency over time in bins, its peak, and what it is once nothing is late any more."""
    found = follow_latency(setting, stream, rate_per_s)
    after = found.latency_ms[int(AFTER_PEAK * len(stream.events)) :]
    bins = _bin(found.at_s, found.latency_ms)
    return {
        "at_s": [round(float(each), 3) for each, _ in bins],
        "ms": [round(float(each), 3) for _, each in bins],
        "peak_ms": round(max(float(each) for _, each in bins), 3),
        "after_ms": round(float(np.median(after)), 3),
        "mean_factor": round(float(found.factors.mean()), 3),
        "recoveries": found.ran.recoveries,
        "refused": found.ran.refused,
        "events_per_s": round((len(stream.events) - 1) / max(1e-9, float(found.at_s[-1])), 1),
    }


def _bin(at_s: Floats, latency_ms: Floats) -> Sequence[tuple[float, float]]:
    """The mean of each of so many spans of equal length."""
    places = np.minimum((at_s / max(float(at_s[-1]), 1e-9) * BINS).astype(int), BINS - 1)
    return [
        (float(at_s[places == each].mean()), float(latency_ms[places == each].mean()))
        for each in range(BINS)
        if (places == each).any()
    ]
