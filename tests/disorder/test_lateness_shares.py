"""How late events are, told by shares of the keys as text, and put together where it is asked for."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cepheid.disorder.lateness_report import LatenessReport, LatenessTally, merge_tallies
from cepheid.disorder.lateness_shares import LatenessOfShares, read_share, write_share

sys.path.append(str(Path(__file__).parent))
from delayed_streams import make_stream

SECOND = 1_000_000
LATENESS = make_stream("lognormal", 20_000, seed=1).lateness


def count_part(lateness: np.ndarray, slack_us: int = SECOND) -> LatenessTally:
    tally = LatenessTally()
    tally.see(lateness, 100 * SECOND)
    tally.hold(slack_us)
    tally.count_rows(100, 3)
    return tally


def about(report: LatenessReport) -> Any:
    return pytest.approx(asdict(report), rel=1e-5)


def test_a_share_is_read_as_it_was_written() -> None:
    tally = count_part(LATENESS)
    tally.learn(LATENESS[:100], 200 * SECOND)
    told = write_share(5, [tally])
    assert told is not None
    assert asdict(read_share(told).report()) == about(tally.report())
    assert len(told) < 3_000


def test_several_engines_of_a_share_are_told_together_and_none_is_nothing() -> None:
    halves = [count_part(part) for part in np.array_split(LATENESS, 2)]
    told = write_share(0, halves)
    assert told is not None
    assert asdict(read_share(told).report()) == about(merge_tallies(halves).report())
    assert write_share(0, []) is None


def test_shares_and_stages_are_merged_and_the_last_word_of_each_counts() -> None:
    """Quantiles are those of all events; a share that speaks twice, or a batch that is run again, counts once."""
    thirds = np.array_split(LATENESS, 3)
    known = LatenessOfShares()
    assert known.report() is None
    for _ in range(2):
        known.hear("windows", [write_share(0, [count_part(thirds[0][:50])]), write_share(0, [count_part(thirds[0])])])
        known.hear("windows", [write_share(1, [count_part(thirds[1], 2 * SECOND)])])
        known.hear("patterns", [write_share(0, [count_part(thirds[2])])])
    report = known.report()
    assert report is not None
    assert report.lateness_p99_s == pytest.approx(count_part(LATENESS).report().lateness_p99_s)
    assert report.slack_s == 2  # results wait for the slower one
    assert report.corrections_per_1000 == pytest.approx(1000 * 9 / 300)
    known.keep({"patterns"})
    left = known.report()
    assert left is not None
    assert asdict(left) == about(count_part(thirds[2]).report())


def test_what_a_silent_share_knows_is_as_old_as_it_is() -> None:
    old, new = LatenessTally(), LatenessTally()
    old.see(np.full(100, SECOND), SECOND)
    new.see(np.zeros(100, dtype=np.int64), 601 * SECOND)  # ten minutes later
    known = LatenessOfShares()
    known.hear("windows", [write_share(0, [old]), write_share(1, [new])])
    report = known.report()
    assert report is not None
    assert report.late_share == pytest.approx(1 / 3)
