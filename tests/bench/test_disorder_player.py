"""The player by a clock that is moved by hand, the limit of a source, and batches without a clock."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from cepheid.bench.disorder.arrival_batches import cut_by_arrival
from cepheid.bench.disorder.player import play
from cepheid.bench.disorder.source_limiter import SourceLimiter
from cepheid.errors import InvalidInput

SECOND = 1_000_000_000


@dataclass
class HandMovedClock:
    """Sleeping moves it; taking events moves it by `busy_ns` each."""

    now_ns: int = 5_000
    busy_ns: int = 0
    given: list[tuple[int, int, int]] = field(default_factory=list)

    def read(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_ns += max(1, round(seconds * SECOND))

    def take(self, begin: int, end: int, at_ns: int) -> None:
        self.given.append((begin, end, at_ns))
        self.now_ns += self.busy_ns * (end - begin)


def play_by(
    clock: HandMovedClock, arrivals: list[int], limiter: SourceLimiter | None = None
) -> list[tuple[int, int, int]]:
    play(np.array(arrivals, dtype=np.int64), clock.take, limiter=limiter, clock=clock.read, sleep=clock.sleep)
    return clock.given


def test_an_event_goes_once_the_clock_has_passed_its_arrival() -> None:
    assert play_by(HandMovedClock(), [100, 300, 300, 900]) == [(0, 1, 101), (1, 3, 301), (3, 4, 901)]


def test_what_became_due_while_the_receiver_was_busy_goes_together() -> None:
    assert play_by(HandMovedClock(busy_ns=250), [100, 200, 300, 900]) == [(0, 1, 101), (1, 3, 351), (3, 4, 901)]


def test_nothing_is_played_if_there_is_nothing() -> None:
    assert play_by(HandMovedClock(), []) == []


def test_a_limited_source_hands_over_no_more_than_its_rate() -> None:
    given = play_by(HandMovedClock(), [0] * 50, SourceLimiter(1000))
    assert [end - begin for begin, end, _ in given] == [1] * 50
    assert np.diff([at for _, _, at in given]).tolist() == [SECOND // 1000] * 49


def test_a_limited_source_in_time_is_not_held_back() -> None:
    arrivals = [SECOND // 100 * number for number in range(20)]
    assert [at for _, _, at in play_by(HandMovedClock(), arrivals, SourceLimiter(1000))] == [at + 1 for at in arrivals]


def test_after_a_rest_only_so_many_go_together() -> None:
    limiter = SourceLimiter(100, at_once=5)
    assert limiter.take(100, SECOND) == 5
    assert limiter.take(100, SECOND) == 0
    assert limiter.wait_ns(SECOND) == SECOND // 100
    assert limiter.take(100, SECOND + SECOND // 100) == 1
    assert limiter.take(100, 100 * SECOND) == 5


def test_over_a_long_time_a_limited_source_keeps_its_rate() -> None:
    clock = HandMovedClock(busy_ns=700)
    play_by(clock, [0] * 3000, SourceLimiter(250_000.0, at_once=8))
    assert clock.given[-1][2] == pytest.approx(3000 / 250_000 * SECOND, rel=0.01)


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a limit of 0 events a second"):
        SourceLimiter(0)


def test_batches_hold_what_arrives_in_each_span_and_are_given_at_its_end() -> None:
    batches = list(cut_by_arrival(np.array([1, 4, 9, 12, 13, 31], dtype=np.int64), 10))
    assert batches == [(0, 3, 10), (3, 5, 20), (5, 6, 40)]
    assert list(cut_by_arrival(np.zeros(0, dtype=np.int64), 10)) == []
