"""Run a query for real and estimate what it costs.

    cost = calibrate_embedded(text, feed)
    cost = calibrate_on_spark(spark, text, pool, folder)

What is measured is the work of a query in its steady state: the first batches fill windows, load kernels and let Java
compile, and are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cepheid.calibration.batch_plan import BatchPlan, plan_batches
from cepheid.calibration.embedded_pushes import Notify, measure_pushes
from cepheid.calibration.feed import Feed
from cepheid.calibration.file_source import FilePool
from cepheid.calibration.fit_costs import fit_costs
from cepheid.calibration.spark_batches import measure_batches, plan_for_files
from cepheid.compiler import Query
from cepheid.cost.profile import HostName, QueryProfile
from cepheid.errors import InvalidInput

MOST_VALUES = 80_000_000  # made up for one measurement
PARTS_PER_BATCH = 20  # files in the largest batch on Spark: one in the smallest, and work for all cores in the others


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured.  largest_batch: events; what is learnt holds for batches up to that.  events: of the whole
    measurement, about.  warm_up: events before it."""

    largest_batch: int
    events: int
    warm_up: int
    pes: int
    at_most_s: float = 60.0

    def plan(self) -> BatchPlan:
        pushes = max(5, -(-self.warm_up // self.largest_batch))
        return plan_batches(self.largest_batch, self.events, (self.largest_batch,) * pushes)

    def within(self, columns: int) -> Extent:
        """Events with many columns are fewer, so that all of them have room in memory."""
        events = min(self.events, MOST_VALUES // columns)
        return replace(self, events=events, warm_up=min(self.warm_up, events // 10))

    @property
    def part(self) -> int:
        """Events in a file."""
        return max(1, self.largest_batch // PARTS_PER_BATCH)


# An operator that tidies up every half a million events wants many times that; Spark's batches cost half a second each.
EXTENTS: dict[HostName, Extent] = {
    "embedded": Extent(largest_batch=20_000, events=25_000_000, warm_up=1_000_000, pes=1),
    "spark": Extent(largest_batch=1_000_000, events=27_000_000, warm_up=4_500_000, pes=2),
}


def count_needed(host: HostName, extent: Extent) -> int:
    """How many events a feed must have."""
    if host == "embedded":
        return extent.plan().events
    return plan_for_files(plan_batches(extent.largest_batch, extent.events, ()), extent.part).events * extent.part


def calibrate_embedded(
    query: Query, feed: Feed, extent: Extent = EXTENTS["embedded"], notify: Notify = lambda _: None
) -> QueryProfile:
    """On the cores that this process may use: keep it on one (`taskset`) to learn what one can do."""
    _check_feed(feed, count_needed("embedded", extent))
    return fit_costs(measure_pushes(query, feed, extent.plan(), extent.at_most_s, notify))


def calibrate_on_spark(
    spark: Any,
    query: Query,
    pool: FilePool,
    folder: Path,
    extent: Extent = EXTENTS["spark"],
    notify: Notify = lambda _: None,
) -> QueryProfile:
    """folder: an empty one for this query."""
    _check_feed(pool.feed, count_needed("spark", extent))
    plan = plan_for_files(plan_batches(extent.largest_batch, extent.events, ()), pool.events_per_part)
    return fit_costs(measure_batches(spark, query, pool, plan, folder, notify))


def _check_feed(feed: Feed, needed: int) -> None:
    if len(feed) < needed:
        raise InvalidInput(
            f"there are {len(feed):,} events, and {needed:,} are needed",
            hint="give more, or measure less: --events, --batch",
        )
