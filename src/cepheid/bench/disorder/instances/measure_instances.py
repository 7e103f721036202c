"""All experiments with operator instances, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from cepheid.bench.disorder.instances.experiments import (
    BLACK_SIZE,
    BLACK_SLIDE,
    INTERVAL_NS,
    compare_out_of_order,
    compare_with_speculation,
    compare_without_speculation,
    count_events,
    follow_factors,
    follow_intervals,
    measure_small_rates,
)
from cepheid.bench.disorder.instances.extents import PAPER, InstancesExtent
from cepheid.bench.disorder.instances.goals import (
    ASKED_BYTES,
    WAIT_US,
    compare_boxes,
    compare_idle,
    judge_after_peak,
)
from cepheid.bench.disorder.instances.kept_bytes import measure_kept_bytes
from cepheid.bench.disorder.instances.sent_bytes import measure_sent_bytes
from cepheid.bench.disorder.instances.streams import make_tenth_late

BY_INSTANCES = 5  # experiments
ALONE = 4  # the others


def count_steps(extent: InstancesExtent) -> int:
    return BY_INSTANCES * len(extent.instances) + ALONE


def measure_instances(extent: InstancesExtent, advance: Callable[[], object]) -> dict[str, Any]:
    """advance: one step is done."""
    boxes = compare_boxes(extent)
    advance()
    stream = make_tenth_late(extent.ratio, INTERVAL_NS)
    sent = {**measure_sent_bytes(stream, WAIT_US, BLACK_SIZE, BLACK_SLIDE), "asked": ASKED_BYTES}
    kept = measure_kept_bytes(stream, WAIT_US, BLACK_SIZE, BLACK_SLIDE)
    advance()
    waits = compare_without_speculation(extent, advance)
    speculates = compare_with_speculation(extent, advance)
    out_of_order = compare_out_of_order(extent, waits, advance)
    rates = measure_small_rates(extent)
    advance()
    idle = compare_idle(extent, rates)
    advance()
    factors = follow_factors(extent, rates, advance)
    intervals = follow_intervals(extent, rates, advance)
    events = {str(each): count_events(extent, each) for each in extent.instances}
    return {
        "events": events,
        "extent": asdict(extent),
        "paper": PAPER,
        "boxes": boxes,
        "sent_bytes": sent,
        "kept_bytes": kept,
        "idle": idle,
        "waits": waits,
        "speculates": speculates,
        "out_of_order": out_of_order,
        "factors": factors,
        "after_peak": judge_after_peak(factors),
        "intervals": intervals,
    }
