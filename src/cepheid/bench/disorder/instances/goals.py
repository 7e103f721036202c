"""What the project asks of its instances: how much faster than a black box they are, and how near an adaptive factor
comes to full speculation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from cepheid.bench.disorder.instances.experiments import (
    BLACK_SIZE,
    BLACK_SLIDE,
    INTERVAL_NS,
    STRATEGIES,
    Rows,
    name_factor,
)
from cepheid.bench.disorder.instances.extents import InstancesExtent
from cepheid.bench.disorder.instances.runs import LOAD_S, Setting, follow_latency, measure_rate
from cepheid.bench.disorder.instances.streams import MOST_OVERTAKEN, make_in_order, make_ramp, make_tenth_late

RATIO_INSTANCES = 4
ASKED_RATIO = 20.0
ASKED_IDLE = 1.10
ASKED_BYTES = 0.05
WAIT_US = (MOST_OVERTAKEN + 1) * INTERVAL_NS // 1000
OF_RATE_IDLE = 0.08
SETTLED = 0.88  # of the events: after the peak, an adaptive factor comes down in steps of 0.05 each tenth of a second


def compare_boxes(extent: InstancesExtent) -> dict[str, Any]:
    """Nothing is held back, and all is speculated upon: both strategies on the same events, by turns; the run whose
    ratio is the median.  In order, as in Figure 7-5; and where a tenth of the events is late."""
    rows: dict[str, Any] = {}
    for stream in (make_in_order(extent.ratio, INTERVAL_NS), make_tenth_late(extent.ratio, INTERVAL_NS)):
        for name, load_s in (("without load", 0.0), ("100 us", LOAD_S)):
            setting = Setting(
                instances=RATIO_INSTANCES,
                size=BLACK_SIZE,
                slide=BLACK_SLIDE,
                factor=0.0,
                wait_us=WAIT_US,
                load_s=load_s,
            )
            runs = [
                {each: measure_rate(replace(setting, strategy=each), stream) for each in STRATEGIES}
                for _ in range(extent.repeats)
            ]
            runs.sort(key=_find_ratio)
            ratios = [round(_find_ratio(run), 1) for run in runs]
            told = {"ratio": ratios[len(runs) // 2], "spread": [ratios[0], ratios[-1]], "is_asked": not load_s}
            rows[f"{stream.title}, {name}"] = {**runs[len(runs) // 2], **told}
    return {"events": extent.ratio, "instances": RATIO_INSTANCES, "asked": ASKED_RATIO, "rows": rows}


def _find_ratio(run: Rows) -> float:
    open_box, black_box = (float(run[each]["events_per_s"]) for each in STRATEGIES)
    return open_box / black_box


def compare_idle(extent: InstancesExtent, rates: dict[int, float]) -> dict[str, Any]:
    """Few events a second: an adaptive factor beside none and all, by the median once it has settled."""
    instances = max(each for each in extent.instances if each <= RATIO_INSTANCES)
    rate = OF_RATE_IDLE * rates[instances]
    stream = make_ramp(extent.over_time, INTERVAL_NS)
    setting = Setting(instances=instances, size=extent.time_size, slide=extent.time_slide, is_known=False)
    rows: dict[str, Any] = {}
    for factor in (1.0, 0.0, None):
        found = follow_latency(replace(setting, factor=factor), stream, rate)
        after = int(SETTLED * len(stream.events))
        rows[name_factor(factor)] = {
            "p50_ms": round(float(np.median(found.latency_ms[after:])), 3),
            "mean_factor": round(float(found.factors[after:].mean()), 3),
        }
    ratio = rows["adaptive"]["p50_ms"] / rows["100%"]["p50_ms"]
    told = {"events": len(stream.events), "instances": instances, "rate_per_s": round(rate, 1), "asked": ASKED_IDLE}
    return {**told, "rows": rows, "of_full": round(ratio, 3)}


def judge_after_peak(factors: Rows) -> dict[str, Any]:
    """Does latency fall as speculation rises, once nothing is late any more?  falls: from each share to the next, of
    all pairs; whole: from the least to the most."""
    judged: dict[str, Any] = {}
    for instances, runs in factors.items():
        after = [runs[name]["after_ms"] for name in runs if name.endswith("%")]
        steps = [later < earlier for earlier, later in pairwise(after)]
        judged[instances] = {"after_ms": after, "falls": sum(steps), "of": len(steps), "whole": after[-1] < after[0]}
    return judged
