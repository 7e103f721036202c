"""The pure parts of `cepheid bench disorder --part instances`: streams, the load that waits, curves; and a tiny run."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from cepheid.bench.disorder.instances.experiments import count_events, name_factor
from cepheid.bench.disorder.instances.extents import FULL, PAPER, QUICK
from cepheid.bench.disorder.instances.goals import judge_after_peak
from cepheid.bench.disorder.instances.kept_bytes import measure_kept_bytes
from cepheid.bench.disorder.instances.loaded_sequence import LoadedSequence
from cepheid.bench.disorder.instances.runs import Setting, follow_latency, measure_rate
from cepheid.bench.disorder.instances.sent_bytes import measure_sent_bytes
from cepheid.bench.disorder.instances.sorted_answer import find_matches
from cepheid.bench.disorder.instances.streams import (
    RAMP_STREAM_S,
    Stream,
    make_in_order,
    make_ramp,
    make_tenth_late,
    scale_ramp,
)
from cepheid.bench.disorder.tables import list_tables
from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.events import Event

INTERVAL_NS = 10_000


@dataclass
class HandMovedClock:
    """Sleeping takes longer than asked."""

    now_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def read(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds + 0.0003


def test_events_have_times_of_their_own_and_sources_are_drawn() -> None:
    stream = make_in_order(3_000, INTERVAL_NS)
    times = [event.time for event in stream.events]
    assert times == list(range(10, 30_001, 10))
    counts = np.bincount([event.name.source for event in stream.events])
    assert len(counts) == 3
    assert counts.min() > 900
    for source in range(3):
        own = [event.name.sequence for event in stream.events if event.name.source == source]
        assert own == list(range(len(own)))
    assert {(event.name.source, event.data["sort"]) for event in stream.events} == {(0, "A"), (1, "B"), (2, "C")}


def test_only_c_is_late_and_never_overtakes_itself() -> None:
    stream = make_ramp(10_000, INTERVAL_NS)
    lateness = stream.played.measure_lateness_ns() // 1000
    sources, times = stream.played.sources, stream.played.times_ns
    assert lateness[sources != 2].max() == 0
    assert 450 < lateness[sources == 2].max() <= 510
    assert (np.diff(times[sources == 2]) > 0).all()
    share = 10_000 * INTERVAL_NS / 1e9 / RAMP_STREAM_S
    late = times[lateness > 0] / 1e9
    assert late.min() > 0.1 * share
    assert late.max() < 1.01 * share


def test_a_stream_of_full_length_has_the_ramp_of_the_thesis() -> None:
    ramp = scale_ramp(RAMP_STREAM_S)
    assert (ramp.start_s, ramp.end_s, ramp.step_ms, ramp.add_us) == (0.1, 1.0, 50, 30)
    half = scale_ramp(RAMP_STREAM_S / 2)
    assert (half.start_s, half.end_s, half.step_ms, half.add_us) == (0.05, 0.5, 25, 30)


def test_a_tenth_is_overtaken_by_twelve_events_at_most() -> None:
    lateness = make_tenth_late(5_000, INTERVAL_NS).played.measure_lateness_ns() // INTERVAL_NS
    assert lateness.max() <= 12
    assert 0.06 < (lateness > 0).mean() < 0.11


def test_a_load_is_honoured_on_average_though_sleeping_takes_longer() -> None:
    clock = HandMovedClock()
    operator = LoadedSequence(1e-4, clock.sleep, clock.read)
    data = operator.begin()
    for number in range(10_000):
        operator.process(Event(EventName(number, 0, number), {"sort": "x"}), data)
    assert clock.now_s == pytest.approx(1.0, abs=0.002)
    assert min(clock.slept) >= 0.001


def test_sequences_of_a_window_are_found_one_after_the_other() -> None:
    events = [Event(EventName(at, 0, at), {"sort": sort}) for at, sort in enumerate("AABCABCC")]
    found = find_matches(events, size=8, slide=8)
    assert {tuple(event.time for event in match.events) for match in found} == {(0, 2, 3), (4, 5, 6)}
    assert len(find_matches(events, size=3, slide=1)) == 2
    assert find_matches(events, 8, 8, refused={events[3].name}) == find_matches(
        [event for event in events if event.time != 3], 8, 8
    )


def test_each_instance_gets_as_many_windows_whatever_their_number() -> None:
    for instances in FULL.instances:
        assert (count_events(FULL, instances) - FULL.size) / FULL.slide / instances == FULL.rounds
    assert list(FULL.instances) == PAPER["instances"]
    assert [name_factor(each) for each in FULL.factors] == ["20%", "40%", "60%", "80%", "100%", "adaptive"]
    assert set(QUICK.factors) <= set(FULL.factors)


def test_less_is_sent_by_a_replay_and_less_is_kept_without_windows() -> None:
    stream = make_tenth_late(600, INTERVAL_NS)
    rows = measure_sent_bytes(stream, 130, 100, 20)["rows"]
    assert rows["1"]["recoveries"] > 20
    assert rows["1000"]["share"] < rows["100"]["share"] < rows["1"]["share"] < 0.1
    kept = measure_kept_bytes(stream, 130, 100, 20)
    assert kept["data_bytes"] < kept["with_windows_bytes"] < kept["with_all_bytes"]


def test_steps_that_fall_are_counted() -> None:
    runs = {"in order, waits": 1.0, "20%": 9.0, "60%": 9.5, "100%": 2.0, "adaptive": 1.0}
    judged = judge_after_peak({"4": {name: {"after_ms": ms} for name, ms in runs.items()}})
    assert judged == {"4": {"after_ms": [9.0, 9.5, 2.0], "falls": 1, "of": 2, "whole": True}}


def test_both_strategies_run_and_find_what_is_there() -> None:
    """A wrong answer would be an AssertionError of the run."""
    stream = make_tenth_late(200, INTERVAL_NS)
    late = {"factor": 0.0, "wait_us": 130, "load_s": 0.0}
    for strategy in ("open box", "black box"):
        setting = Setting(instances=1, size=40, slide=20, strategy=strategy, **late)  # type: ignore[arg-type]
        rate = measure_rate(setting, stream)
        assert (rate["events"], rate["refused"]) == (160, 0)
        assert rate["events_per_s"] > 0
    adaptive = Setting(instances=1, size=40, slide=20, factor=None, is_known=False, load_s=0.0)
    latencies = follow_latency(adaptive, stream, 2_000)
    assert (latencies.latency_ms > 0).all()
    assert (np.diff(latencies.at_s) >= 0).all()
    assert 0.09 < latencies.at_s[-1] < 2


# --- what is told of it -----------------------------------------------------------------------------------


def invent_result() -> dict[str, Any]:
    """As measure_instances gives it; all figures are invented."""

    def by_instances(**figures: float) -> dict[str, Any]:
        one = {"mean_ms": 3.0, "mean_factor": 0.5, **figures}
        return {each: {"open box": one, "black box": {**one, "mean_ms": 30.0}} for each in ("1", "2")}

    trace = {"at_s": [0.0, 1.0, 2.0], "ms": [1.0, 30.0, 2.0], "peak_ms": 30.0, "after_ms": 2.0}
    factors = {each: dict.fromkeys(("in order, waits", "20%", "100%", "adaptive"), trace) for each in ("1", "2")}
    rate = {"events_per_s": 1000.0}
    boxes = {"open box": rate, "black box": rate, "ratio": 1.0, "spread": [0.9, 1.1], "is_asked": True}
    names = ("in order, without load", "tenth late, 100 us")
    return {
        "events": {"1": 800, "2": 1100},
        "extent": {"size": 500, "slide": 100, "over_time": 1000, "time_size": 200, "time_slide": 40},
        "paper": PAPER,
        "boxes": {"events": 600, "instances": 4, "asked": 20.0, "rows": dict.fromkeys(names, boxes)},
        "sent_bytes": {"asked": 0.05, "rows": {"1": {"share": 0.07}, "100": {"share": 0.04}}},
        "kept_bytes": {"data_bytes": 139, "with_windows_bytes": 865, "with_all_bytes": 2826},
        "idle": {"asked": 1.1, "of_full": 1.0},
        "waits": by_instances(events_per_s=1900.0),
        "speculates": by_instances(events_per_s=1900.0),
        "out_of_order": by_instances(),
        "factors": factors,
        "after_peak": judge_after_peak(factors),
        "intervals": {each: {"every 1": trace, "every 5,000": trace} for each in ("1", "2")},
    }


def test_tables_fit_into_a_hundred_columns() -> None:
    written = StringIO()
    console = Console(file=written, width=100)
    for each in list_tables({"instances": invent_result()}):
        console.print(each)
    text = written.getvalue()
    assert "…" not in text
    for name in ("7.6.1", "7.6.3 out of order", "adaptive", "every 5,000", "139 / 865 / 2,826 bytes", "1,000,000"):
        assert name in text


def test_pictures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from cepheid.bench.disorder.pictures import draw_pictures

    result = {"cores": 2, "commit": "x", "seed": 1, "instances": invent_result()}
    drawn = draw_pictures(result, tmp_path)
    assert [path.name for path in drawn] == [
        "instances_numbers.png",
        "instances_speculation.png",
        "instances_checkpoints.png",
    ]
    assert all(path.stat().st_size > 10_000 for path in drawn)


def test_streams_are_the_same_in_every_run() -> None:
    def names(stream: Stream) -> list[EventName]:
        return [event.name for event in stream.events]

    assert names(make_ramp(500, INTERVAL_NS)) == names(make_ramp(500, INTERVAL_NS))
