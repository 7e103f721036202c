"""How a stage on a stream knows how far time has come.

ENVELOPES  every event that moves time is packed, so what envelopes tell is all there is to know, in the same batch
BOTH       conditions in front of the stage keep events from it that move time as well: Spark's watermark knows of
           them, one batch later, and Spark calls the stage again when it has moved
WATERMARK  the stream is made of several, each with a time of its own: only Spark knows which of them is behind

With ENVELOPES rows come out in the batch that settles them, and Spark need not run another one without data.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from pyspark.sql import DataFrame

LOOKED_THROUGH = ("Project", "SubqueryAlias", "View")
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


class Clock(IntEnum):
    """The further down, the less is known here."""

    ENVELOPES = 0
    BOTH = 1
    WATERMARK = 2


def find_clock(inputs: list[DataFrame], through_jvm: list[DataFrame]) -> Clock:
    """What is known of the time of all inputs; through_jvm: those that workers do not read themselves."""
    if len(inputs) > 1 and inputs[0].sparkSession.conf.get(POLICY, "min") != "min":
        return Clock.WATERMARK  # the slowest does not count, as it does here
    return max(map(_find_clock, through_jvm), default=Clock.ENVELOPES)


def _find_clock(frame: DataFrame) -> Clock:
    jvm_frame = getattr(frame, "_jdf", None)
    if jvm_frame is None:  # over Spark Connect plans cannot be seen
        return Clock.WATERMARK
    plan = jvm_frame.queryExecution().analyzed()
    if _count_watermarks(plan) != 1:
        return Clock.WATERMARK
    while plan.nodeName() in LOOKED_THROUGH:
        plan = plan.children().head()
    return Clock.ENVELOPES if plan.nodeName() == "EventTimeWatermark" else Clock.BOTH


def _count_watermarks(plan: Any) -> int:
    below = plan.children()
    own = plan.nodeName() == "EventTimeWatermark"
    return own + sum(_count_watermarks(below.apply(place)) for place in range(below.size()))
