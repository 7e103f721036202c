"""How many state partitions a stream gets on a cluster whose executors may not have arrived yet."""

from __future__ import annotations

import pytest

from cepheid.execution.spark.executors import PATIENCE_S, read_promised_cores, wait_for_calm


class Clock:
    """Moved by those who sleep."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("settings", "cores"),
    [
        ({}, 0),
        ({"spark.executor.cores": "4"}, 0),
        ({"spark.executor.instances": "3"}, 3),
        ({"spark.executor.instances": "3", "spark.executor.cores": "4"}, 12),
        ({"spark.dynamicAllocation.maxExecutors": "5", "spark.executor.cores": "2"}, 10),
        ({"spark.cores.max": "6"}, 6),
        ({"spark.cores.max": "6", "spark.executor.cores": "2"}, 6),
    ],
)
def test_settings_promise_cores(settings: dict[str, str], cores: int) -> None:
    assert read_promised_cores(settings) == cores


@pytest.mark.parametrize(
    ("arrivals", "seen", "waited"),
    [
        ([0, 0], 2, 1.0),  # all are there: it is only seen whether more arrive
        ([3.0, 3.5, 5.9], 2, 4.5),  # the last one arrives too late to be waited for
        ([3.0, 3.5, 4.2], 3, 5.2),
        ([], 0, PATIENCE_S),
        ([20.0], 0, PATIENCE_S),
    ],
)
def test_executors_are_waited_for_while_they_arrive(arrivals: list[float], seen: int, waited: float) -> None:
    clock = Clock()
    found = wait_for_calm(lambda: sum(each <= clock.now - 100 for each in arrivals), clock, clock.sleep)
    assert found == seen
    assert clock.now - 100 == pytest.approx(waited, abs=0.25)
