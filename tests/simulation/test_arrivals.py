"""How many events come in: each kind against what can be computed by hand, and the mistakes of tables."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cepheid.errors import InvalidInput
from cepheid.simulation.arrivals import ARRIVALS, ArrivalProcess, make_arrivals, register_arrivals
from cepheid.simulation.arrivals.bursts import Bursts
from cepheid.simulation.arrivals.diurnal import BUS_DAY, Diurnal
from cepheid.simulation.arrivals.increase import Increase
from cepheid.simulation.arrivals.poisson import Poisson
from cepheid.simulation.arrivals.randomised import Randomised
from cepheid.simulation.arrivals.rate_curve import RateCurve
from cepheid.simulation.arrivals.replay import Replay
from cepheid.simulation.arrivals.uniform import Uniform

HERE = Path()
STEADY = [
    Uniform(120.0),
    Increase(200.0, 45.0),
    Bursts(100.0, None, 6.0, 30.0, 1.0, 30.0),
    Bursts(100.0, 900.0, 0.0, 0.0, 2.0, 0.0, repeats=False),
    Diurnal(50.0, day_s=240.0, start_hour=5.25),
    Replay((10.0, 25.0, 31.0), (5.0, 0.0, 70.0), repeats=True),
    Replay((0.0, 10.0), (5.0, 70.0)),
]
CHANCY = [Poisson(120.0, 3), Randomised(Bursts(100.0, None, 6.0, 30.0, 1.0, 30.0), 4)]


def edges_of(duration_s: float, tick_s: float, begin_s: float = 0.1) -> np.ndarray:
    return (begin_s + np.arange(round(duration_s / tick_s) + 1) * tick_s) * 1000.0


def mean_of_rates(amounts: np.ndarray, edges_ms: np.ndarray) -> float:
    return float(np.mean(amounts / (np.diff(edges_ms) / 1000.0)))


def test_uniform_is_rate_times_interval() -> None:
    edges = np.cumsum([0.0, 1000.0, 5000.0, 500.0, 10.0])
    amounts = Uniform(20.0).amounts(edges, 0)
    assert amounts == pytest.approx([20.0, 100.0, 10.0, 0.2], rel=1e-12)
    assert mean_of_rates(amounts, edges) == pytest.approx(20.0)


def test_increase_is_the_exact_area_also_over_the_knee() -> None:
    rising = Increase(20.0, 10.0)
    edges = np.arange(5) * 5000.0
    fives = rising.amounts(edges, 0)
    assert fives == pytest.approx([25.0, 75.0, 100.0, 100.0], rel=1e-12)
    assert mean_of_rates(fives[:2], edges[:3]) == pytest.approx(10.0)
    assert mean_of_rates(fives, edges) == pytest.approx(15.0)
    assert rising.amounts(np.arange(4) * 6000.0, 0) == pytest.approx([36.0, 104.0, 120.0], rel=1e-12)


def test_bursts_have_the_phases_of_the_study() -> None:
    amounts = Bursts(100.0).amounts(edges_of(1340.0, 10.0), 0)
    assert amounts[:6].sum() == pytest.approx(3000.0)  # a minute, growing from nothing
    assert (np.diff(amounts[:6]) > 0.0).all()
    assert amounts[6:36] == pytest.approx(np.full(30, 1000.0))
    assert amounts[36] == pytest.approx(1500.0)
    assert amounts[37:67] == pytest.approx(np.full(30, 1000.0))
    assert amounts[67:97] == pytest.approx(np.full(30, 1000.0))  # and again, without a warm-up
    assert amounts[97] == pytest.approx(1500.0)
    once = Bursts(100.0, repeats=False).amounts(edges_of(2000.0, 10.0), 0)
    assert once[37:] == pytest.approx(np.full(163, 1000.0))


def test_a_day_has_the_mean_rate_and_the_shape_of_its_hours() -> None:
    day = Diurnal(70.0)
    assert day.mean_rate(86400.0) == pytest.approx(70.0)
    assert day.mean_rate(5 * 86400.0) == pytest.approx(70.0)
    hours = day.amounts(edges_of(48 * 3600.0, 3600.0), 0)
    assert hours[:24] == pytest.approx(hours[24:], rel=1e-9)
    scale = 70.0 * 3600.0 / np.mean(BUS_DAY)
    by_hand = [scale * (BUS_DAY[hour % 24] + BUS_DAY[(hour + 1) % 24]) / 2.0 for hour in range(6, 30)]
    assert hours[:24] == pytest.approx(by_hand, rel=1e-9, abs=1e-6)
    assert hours[20:24] == pytest.approx([scale * 0.0215, 0.0, 0.0, 0.0], abs=1e-6)  # from 2 to 6 hardly a bus


@pytest.mark.parametrize("start", [0.0, 0.5, 6.0, 23.0, 23.75, 24.0, 30.25])
def test_a_day_may_begin_at_any_hour(start: float) -> None:
    hours = tuple(float(1 + hour * hour % 7) for hour in range(24))
    from_midnight = Diurnal(10.0, hours, 0.0).amounts(edges_of(3 * 86400.0, 900.0), 0)
    shifted = Diurnal(10.0, hours, start).amounts(edges_of(86400.0, 900.0), 0)
    quarter = round(start * 4)
    assert shifted == pytest.approx(from_midnight[quarter : quarter + 96], rel=1e-9)


def test_replay_holds_each_rate_until_the_next_row() -> None:
    recorded = Replay((100.0, 110.0, 115.0), (1.0, 4.0, 2.0))
    assert recorded.amounts(edges_of(30.0, 5.0), 0) == pytest.approx([5.0, 5.0, 20.0, 10.0, 10.0, 10.0])
    again = replace(recorded, repeats=True)
    assert again.amounts(edges_of(40.0, 5.0), 0) == pytest.approx([5.0, 5.0, 20.0, 10.0] * 2)
    assert Replay((3.0,), (7.0,)).mean_rate(10.0) == pytest.approx(7.0)


@pytest.mark.parametrize("arrivals", STEADY)
def test_amounts_do_not_depend_on_how_time_is_cut(arrivals: ArrivalProcess) -> None:
    total = arrivals.mean_rate(300.0) * 300.0
    assert total > 0.0
    rng = np.random.default_rng(5)
    for tick in (0.01, 0.1, 1.0, 60.0):
        assert arrivals.amounts(edges_of(300.0, tick, tick), 0).sum() == pytest.approx(total, rel=1e-9)
    cuts = np.sort(np.concatenate([[0.0, 300_000.0], rng.uniform(0.0, 300_000.0, 500)]))
    amounts = arrivals.amounts(cuts, 0)
    assert amounts.shape == (501,)
    assert (amounts >= 0.0).all()
    assert amounts.sum() == pytest.approx(total, rel=1e-9)


def test_a_curve_is_the_area_of_its_pieces_summed_finely() -> None:
    curve = RateCurve((0.0, 3.0, 7.0, 8.0), (0.0, 9.0, 2.0), (6.0, 1.0, 2.0), repeats_from=1)
    fine = np.arange(0.0005, 20.0, 0.001)
    inside = np.where(fine >= 8.0, 3.0 + (fine - 3.0) % 5.0, fine)
    rates = np.select([inside < 3.0, inside < 7.0], [2.0 * inside, 9.0 - 2.0 * (inside - 3.0)], 2.0)
    for asked in (0.0, 1.0, 3.0, 4.5, 7.5, 8.0, 9.25, 13.0, 19.75):
        assert curve.arrived_by(np.array([asked]))[0] == pytest.approx(rates[fine < asked].sum() * 0.001, abs=2e-3)


@pytest.mark.parametrize("arrivals", STEADY + CHANCY[1:])
def test_scaling_multiplies_means(arrivals: ArrivalProcess) -> None:
    doubled = arrivals.scaled(2.5)
    assert type(doubled) is type(arrivals)
    assert doubled.mean_rate(100.0) == pytest.approx(2.5 * arrivals.mean_rate(100.0))
    if arrivals in STEADY:
        edges = edges_of(100.0, 0.1)
        assert doubled.amounts(edges, 0) == pytest.approx(2.5 * arrivals.amounts(edges, 0), abs=1e-9)


@pytest.mark.parametrize("arrivals", STEADY + CHANCY)
def test_arrivals_are_values(arrivals: ArrivalProcess) -> None:
    assert isinstance(arrivals, ArrivalProcess)
    assert arrivals == replace(arrivals)  # type: ignore[type-var]
    assert hash(arrivals) == hash(replace(arrivals))  # type: ignore[type-var]
    edges = edges_of(20.0, 0.1)
    assert np.array_equal(arrivals.amounts(edges, 3), arrivals.amounts(edges, 3))


@pytest.mark.parametrize("arrivals", CHANCY)
def test_chance_gives_whole_events_with_the_right_mean_and_spread(arrivals: ArrivalProcess) -> None:
    edges = edges_of(300.0, 0.1)
    drawn = np.array([arrivals.amounts(edges, copy) for copy in range(20)])
    assert (drawn == np.floor(drawn)).all()
    expected = arrivals.mean_rate(300.0) * 300.0
    assert drawn.sum(axis=1).mean() == pytest.approx(expected, abs=5.0 * math.sqrt(expected / 20))
    assert drawn.sum(axis=1).std() > 0.3 * math.sqrt(expected)


def test_copies_and_seeds_differ() -> None:
    edges = edges_of(60.0, 0.1)
    drawn = [Poisson(50.0, seed).amounts(edges, copy) for seed, copy in ((1, 0), (1, 1), (2, 0), (0, 1))]
    assert not any(np.array_equal(one, other) for one, other in pairwise(drawn))
    assert not np.array_equal(drawn[0], drawn[2])


def test_time_that_runs_back_is_not_counted_twice() -> None:
    """Several processors and iterations: CEPSim's ticks overlap."""
    edges = np.array([0.0, 667.0, 1333.0, 1000.0, 1667.0, 2333.0, 2000.0])
    for arrivals in (Uniform(20.0), Increase(20.0, 1.5)):
        assert arrivals.amounts(edges, 0).sum() == pytest.approx(arrivals.mean_rate(2.0) * 2.0)
    assert (Poisson(20.0).amounts(edges, 0) >= 0.0).all()
    assert (Randomised(Increase(20.0, 1.5)).amounts(edges, 0) >= 0.0).all()


@pytest.mark.parametrize(
    ("table", "made"),
    [
        ({"rate_per_s": 5}, Uniform(5.0)),
        ({"kind": "uniform", "rate_per_s": 5.0, "random": False, "seed": 2}, Uniform(5.0)),
        ({"kind": "increase", "rate_per_s": 5, "duration_s": 30}, Increase(5.0, 30.0)),
        ({"kind": "poisson", "rate_per_s": 5, "seed": 9}, Poisson(5.0, 9)),
        ({"kind": "poisson", "rate_per_s": 5, "random": False}, Poisson(5.0, 1)),
        ({"kind": "bursts", "rate_per_s": 5, "burst_s": 3}, Bursts(5.0, burst_s=3.0)),
        ({"kind": "diurnal", "rate_per_s": 5, "hours": [1] * 24}, Diurnal(5.0, (1.0,) * 24)),
        ({"kind": "increase", "rate_per_s": 5, "duration_s": 3, "random": True}, Randomised(Increase(5.0, 3.0), 1)),
        ({"rate_per_s": 5, "random": True, "seed": 7}, Randomised(Uniform(5.0), 7)),
    ],
)
def test_a_table_makes_arrivals(table: dict[str, Any], made: ArrivalProcess) -> None:
    assert make_arrivals(table, HERE) == made


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"kind": "poison", "rate_per_s": 5}, 'did you mean "poisson"'),
        ({"kind": 3}, '"3" do not exist'),
        ({}, '"rate_per_s" is missing'),
        ({"rate_per_s": -1}, '"rate_per_s" is -1'),
        ({"rate_per_s": math.nan}, '"rate_per_s" is nan'),
        ({"rate_per_s": math.inf}, '"rate_per_s" is inf'),
        ({"rate_per_s": True}, '"rate_per_s" is True'),
        ({"rate_per_s": "5"}, "is '5'"),
        ({"rate_per_s": 5, "rates": 3}, 'have no "rates"'),
        ({"rate_per_s": 5, "seed": 3}, "random = true"),
        ({"rate_per_s": 5, "random": "yes"}, "\"random\" is 'yes'"),
        ({"rate_per_s": 5, "random": True, "seed": -1}, '"seed" is -1'),
        ({"kind": "poisson", "rate_per_s": 5, "random": True}, "random already"),
        ({"kind": "poisson", "rate_per_s": 5, "seed": 1.5}, '"seed" is 1.5'),
        ({"kind": "increase", "rate_per_s": 5}, '"duration_s" is missing'),
        ({"kind": "increase", "rate_per_s": 5, "duration_s": 0}, '"duration_s" is 0'),
        ({"kind": "bursts", "rate_per_s": 5, "burst_s": 0}, '"burst_s" is 0'),
        ({"kind": "bursts", "rate_per_s": 5, "repeats": 1}, '"repeats" is 1'),
        ({"kind": "diurnal", "rate_per_s": 5, "hours": [1, 2]}, "has 2 rates"),
        ({"kind": "diurnal", "rate_per_s": 5, "hours": 3}, "numbers in brackets"),
        ({"kind": "diurnal", "rate_per_s": 5, "hours": ["a"] * 24}, "hours[0]"),
        ({"kind": "diurnal", "rate_per_s": 5, "hours": [0] * 24}, "are 0"),
        ({"kind": "replay"}, '"path" is missing'),
        ({"kind": "replay", "path": "nowhere.csv"}, "nowhere.csv"),
        ({"kind": "replay", "path": "x.csv", "seed": 1}, 'have no "seed"'),
    ],
)
def test_mistakes_in_a_table_are_told(table: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput) as problem:
        make_arrivals(table, HERE)
    assert told in str(problem.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rates.csv", "time_s, rate_per_s\n0, 10\n20, 30.5\n"),
        ("rates.csv", "note,rate,time_s\na,10,0\nb,30.5,20\n"),
        ("rates.json", json.dumps([{"time_s": 0, "rate_per_s": 10}, {"time_s": 20, "rate": 30.5}])),
        ("rates.json", json.dumps({"time_s": [0, 20], "rate_per_s": [10, 30.5]})),
    ],
)
def test_replay_reads_files_beside_the_scenario(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert make_arrivals({"kind": "replay", "path": name}, tmp_path) == Replay((0.0, 20.0), (10.0, 30.5))
    doubled = make_arrivals({"kind": "replay", "path": name, "factor": 2, "repeats": True}, tmp_path)
    assert doubled == Replay((0.0, 20.0), (20.0, 61.0), repeats=True)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("rates.csv", "", "no rows"),
        ("rates.csv", "time_s,speed\n1,2\n", '"rate_per_s" is missing'),
        ("rates.csv", "time_s,rate\n1,2\n1,3\n", "not after the row before"),
        ("rates.csv", "time_s,rate\n1,x\n", "'x' is not a number"),
        ("rates.csv", "time_s,rate\n1,-2\n", "row 1"),
        ("rates.csv", "time_s,rate\nnan,2\n", "the time nan"),
        ("rates.json", "[", "is not JSON"),
        ("rates.json", "3", "no list of rows"),
        ("rates.json", "[3]", "3 is not a row"),
        ("rates.json", '{"time_s": [1, 2], "rate": [1]}', "two lists of one length"),
    ],
)
def test_mistakes_in_a_recording_are_told(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput) as problem:
        make_arrivals({"kind": "replay", "path": name}, tmp_path)
    assert told in str(problem.value)


@dataclass(frozen=True)
class Blinking:
    rate_per_s: float

    def amounts(self, edges_ms: np.ndarray, copy: int) -> np.ndarray:  # noqa: ARG002
        return np.diff(edges_ms) / 1000.0 * self.rate_per_s * (np.arange(len(edges_ms) - 1) % 2)

    def scaled(self, factor: float) -> Blinking:
        return Blinking(self.rate_per_s * factor)

    def mean_rate(self, duration_s: float) -> float:  # noqa: ARG002
        return self.rate_per_s / 2.0


def test_users_add_kinds_of_their_own() -> None:
    before = dict(ARRIVALS)
    try:
        register_arrivals("blinking")(Blinking)
        assert make_arrivals({"kind": "blinking", "rate_per_s": 3}, HERE) == Blinking(3.0)
        assert make_arrivals({"kind": "blinking", "rate_per_s": 3, "random": True}, HERE) == Randomised(Blinking(3.0))
        with pytest.raises(InvalidInput, match="there already"):
            register_arrivals("uniform")(Blinking)
        with pytest.raises(InvalidInput, match=r"has no amounts\(\)"):
            register_arrivals("nothing")(int)
    finally:
        ARRIVALS.clear()
        ARRIVALS.update(before)
