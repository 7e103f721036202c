"""`cepheid bench disorder`: its parts one after the other, each with as many events as there is time for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from cepheid.bench.disorder import engines, late_cost, speculation, throughput, waiting
from cepheid.bench.disorder.engines import measure_engines
from cepheid.bench.disorder.instances import extents, measure_instances
from cepheid.bench.disorder.instances.extents import InstancesExtent
from cepheid.bench.disorder.late_cost import measure_late_cost
from cepheid.bench.disorder.speculation import measure_speculation
from cepheid.bench.disorder.throughput import measure_throughput
from cepheid.bench.disorder.waiting import measure_waiting
from cepheid.bench.machine import describe_machine, keep_memory
from cepheid.bench.one_core import one_core

PARTS = ("waiting", "speculation", "late", "throughput", "engines", "instances")
ON_ALL_CORES = ("engines", "instances")
SEED = 1  # of every scenario, and of all values


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """waiting, speculation, throughput, engines: events of a stream.  instances: of the experiments with operator
    instances.  kept: how many events there are when one comes
    late."""

    waiting: int
    speculation: int
    shares: Sequence[float]
    kept: Sequence[int]
    throughput: int
    engines: int
    instances: InstancesExtent
    repeats: int


FULL = Extent(
    waiting=1_000_000,
    speculation=20_000,
    shares=speculation.SHARES,
    kept=late_cost.KEPT,
    throughput=5_000_000,
    engines=1_000_000,
    instances=extents.FULL,
    repeats=15,
)
QUICK = Extent(
    waiting=100_000,
    speculation=4_000,
    shares=speculation.FEW_SHARES,
    kept=late_cost.KEPT[:2],
    throughput=500_000,
    engines=300_000,
    instances=extents.QUICK,
    repeats=5,
)


def count_steps(part: str, extent: Extent) -> int:
    """How often a part says that it is further."""
    return {
        "waiting": len(waiting.ROWS),
        "speculation": len(speculation.QUESTIONS) * (1 + len(extent.shares)),
        "late": len(late_cost.QUERIES) * len(extent.kept),
        "throughput": len(throughput.QUERIES),
        "engines": len(engines.QUERIES),
        "instances": measure_instances.count_steps(extent.instances),
    }[part]


def measure_disorder(extent: Extent, parts: Sequence[str], advance: Callable[[str], object]) -> dict[str, Any]:
    """advance: a step of this part is done."""
    keep_memory()
    found: dict[str, Any] = {}
    for part in parts:
        with nullcontext() if part in ON_ALL_CORES else one_core():
            found[part] = _measure(part, extent, lambda part=part: advance(part))  # type: ignore[misc]
    return {
        "benchmark": "disorder",
        "question": "what waiting for late events costs, and what correcting them costs",
        **describe_machine(),
        "seed": SEED,
        **found,
    }


def _measure(part: str, extent: Extent, advance: Callable[[], object]) -> dict[str, Any]:
    match part:
        case "waiting":
            return measure_waiting(extent.waiting, advance)
        case "speculation":
            return measure_speculation(extent.speculation, extent.shares, advance)
        case "late":
            return measure_late_cost(extent.kept, extent.repeats, advance)
        case "throughput":
            return measure_throughput(extent.throughput, min(3, extent.repeats), advance)
        case "engines":
            return measure_engines(extent.engines, min(3, extent.repeats), advance)
        case "instances":
            return measure_instances.measure_instances(extent.instances, advance)
    raise AssertionError(f"{part} is a part of this benchmark")
