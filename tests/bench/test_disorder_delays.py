"""Delays as they are described: each kind against what is known of its distribution, sources and regimes, FIFO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cepheid.bench.disorder.delays.drawn import Exponential, Fixed, LogNormal, Pareto, UniformShare, Zipf
from cepheid.bench.disorder.delays.drift import Drift
from cepheid.bench.disorder.delays.outage import Outage
from cepheid.bench.disorder.delays.ramp import Ramp
from cepheid.bench.disorder.delays.replay import Replay
from cepheid.bench.disorder.played_events import PlayedEvents, generate
from cepheid.bench.disorder.scenario import PlacedDelay, Scenario, list_scenarios, load_scenario, parse_scenario
from cepheid.errors import InvalidInput

MS = 1_000_000
EACH_MS = MS * np.arange(200_000, dtype=np.int64)


def draw_ms(delay: Any, times_ns: np.ndarray = EACH_MS, seed: int = 1) -> np.ndarray:
    found: np.ndarray = delay.draw(times_ns, np.random.default_rng(seed)) / MS
    return found


def make_scenario(*delays: PlacedDelay, **others: Any) -> Scenario:
    return Scenario(**{"title": "test", "events": 1000, "sources": 3, "interval_ns": MS, "delays": delays, **others})


def by_time(events: PlayedEvents) -> dict[int, tuple[int, int, int]]:
    """Source, number and delay of each event, by its time; in milliseconds."""
    rows = zip(events.times_ns, events.sources, events.numbers, events.arrivals_ns - events.times_ns, strict=True)
    return {int(time) // MS: (int(source), int(number), int(delay) // MS) for time, source, number, delay in rows}


def test_exponential_delays_have_their_mean_and_quantiles() -> None:
    delays = draw_ms(Exponential(mean_ms=50))
    assert delays.mean() == pytest.approx(50, rel=0.02)
    assert np.quantile(delays, 0.99) == pytest.approx(-50 * np.log(0.01), rel=0.03)


def test_log_normal_delays_have_their_median_and_spread() -> None:
    delays = draw_ms(LogNormal(median_ms=20, sigma=1))
    assert np.median(delays) == pytest.approx(20, rel=0.02)
    assert np.log(delays).std() == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("shape", [1.1, 1.5, 3.0])
def test_pareto_delays_begin_at_the_least_and_have_their_tail(shape: float) -> None:
    delays = draw_ms(Pareto(shape=shape, least_ms=10))
    assert delays.min() >= 10
    for share in (0.5, 0.9, 0.99):
        assert np.quantile(delays, share) == pytest.approx(10 * (1 - share) ** (-1 / shape), rel=0.05)


def test_zipf_delays_are_ranks_of_a_unit_up_to_the_cap() -> None:
    delays = draw_ms(Zipf(skew=2.0, unit_ms=10, cap_ms=20_000))
    assert delays.max() == 20_000
    assert not (delays % 10).any()
    assert (delays == 10).mean() == pytest.approx(6 / np.pi**2, abs=0.005)
    assert (delays == 20).mean() == pytest.approx(6 / np.pi**2 / 4, abs=0.005)


def test_a_uniform_share_is_late_between_its_bounds_and_the_rest_not_at_all() -> None:
    delays = draw_ms(UniformShare(share=0.1, low_ms=500, high_ms=1500))
    late = delays[delays > 0]
    assert len(late) / len(delays) == pytest.approx(0.1, rel=0.05)
    assert late.min() >= 500
    assert late.max() <= 1500
    assert late.mean() == pytest.approx(1000, rel=0.02)


def test_a_tail_without_end_stays_a_number() -> None:
    assert draw_ms(Pareto(shape=0.02, least_ms=10)).min() > 0


def test_a_ramp_grows_by_steps_and_ends_at_once() -> None:
    delays = draw_ms(Ramp(start_s=0.1, end_s=0.3, step_ms=50, add_us=3000), MS * np.arange(0, 400, 10))
    assert delays.tolist() == [0.0] * 15 + [3.0] * 5 + [6.0] * 5 + [9.0] * 5 + [0.0] * 10


def test_an_outage_ends_with_a_flush() -> None:
    times = MS * np.arange(0, 4000, 250)
    delays = draw_ms(Outage(every_s=2, length_s=0.5), times)
    assert (times / MS + delays).tolist() == [
        *(0, 250, 500, 750, 1000, 1250, 2000, 2000),
        *(2000, 2250, 2500, 2750, 3000, 3250, 4000, 4000),
    ]


def test_a_drift_swings_between_the_delay_and_a_multiple_of_it() -> None:
    delays = draw_ms(Drift(of=Fixed(delay_ms=10), factor=11, period_s=4), MS * np.array([0, 1000, 2000, 3000, 4000]))
    assert delays.tolist() == pytest.approx([10, 60, 110, 60, 10])


def test_recorded_delays_begin_again_when_they_are_used_up() -> None:
    assert draw_ms(Replay(delays_ms=(0.0, 5.0, 2.5)), MS * np.arange(5)).tolist() == [0, 5, 2.5, 0, 5]


@pytest.mark.parametrize("name", list_scenarios())
def test_the_same_scenario_gives_the_same_events_and_another_seed_others(name: str) -> None:
    scenario = load_scenario(name)
    few = {"title": name, "events": 5000, "sources": scenario.sources, "interval_ns": scenario.interval_ns}
    first, again, other = (
        generate(Scenario(**few, delays=scenario.delays, seed=seed, fifo=scenario.fifo)) for seed in (1, 1, 2)
    )
    assert (first.arrivals_ns == again.arrivals_ns).all()
    assert (first.sources == again.sources).all()
    assert (first.sources != other.sources).any()


def test_events_have_times_of_their_own_sources_by_chance_and_numbers_by_source() -> None:
    events = generate(make_scenario(PlacedDelay(delay=Exponential(mean_ms=20)), events=9000, interval_ns=10_000))
    assert sorted(events.times_ns) == list(range(10_000, 90_010_000, 10_000))
    assert (np.diff(events.arrivals_ns) >= 0).all()
    for source in range(3):
        of_source = events.sources == source
        assert of_source.mean() == pytest.approx(1 / 3, abs=0.03)
        in_order = np.argsort(events.times_ns[of_source])
        assert (events.numbers[of_source][in_order] == np.arange(of_source.sum())).all()


def test_a_table_of_events_is_in_the_order_of_arrival() -> None:
    events = generate(make_scenario(PlacedDelay(delay=Exponential(mean_ms=20))))
    table = events.to_table()
    times = table.column("ts").cast("int64").to_numpy()
    assert (times - times.min() == events.times_us - 1000).all()
    assert (np.diff(times) < 0).any()
    assert (table.column("source").to_numpy() == events.sources).all()
    assert (table.column("number").to_numpy() == events.numbers).all()


def test_events_that_arrive_together_keep_the_order_of_their_times() -> None:
    events = generate(make_scenario(PlacedDelay(delay=Outage(every_s=0.5, length_s=0.4))))
    together = np.diff(events.arrivals_ns) == 0
    assert together.sum() > 500
    assert (np.diff(events.times_ns)[together] > 0).all()


def test_a_fifo_source_does_not_overtake_itself_when_a_delay_ends() -> None:
    """The thesis's example: a delay of 3 ms from 20 to 70 ms."""
    delay = PlacedDelay(delay=Fixed(delay_ms=3), from_s=0.02, until_s=0.07)
    found = by_time(generate(make_scenario(delay, events=80, sources=1, fifo=frozenset({0}))))
    assert [found[time][2] for time in (19, 20, 69, 70, 71, 72)] == [0, 3, 3, 2, 1, 0]
    found = by_time(generate(make_scenario(delay, events=80, sources=1)))
    assert [found[time][2] for time in (19, 20, 69, 70, 71, 72)] == [0, 3, 3, 0, 0, 0]


def test_the_ramp_of_the_thesis_delays_one_source_which_stays_in_order() -> None:
    events = generate(load_scenario("ramp"))
    is_delayed = events.arrivals_ns > events.times_ns
    assert set(events.sources[is_delayed]) == {2}
    assert events.times_ns[is_delayed].min() >= 150 * MS  # the first step is after 50 ms
    assert 1000 * MS <= events.times_ns[is_delayed].max() < 1001 * MS  # the corner
    assert (events.arrivals_ns - events.times_ns).max() == 17 * 30_000
    assert (np.diff(events.times_ns[events.sources == 2]) > 0).all()
    assert events.measure_lateness_ns().max() > 0


def test_delays_of_one_source_and_of_one_time_leave_others_as_they_are() -> None:
    always = PlacedDelay(delay=Fixed(delay_ms=1))
    some = PlacedDelay(delay=Fixed(delay_ms=10), sources=frozenset({1}), from_s=0.2, until_s=0.4)
    for time, (source, _, delay) in by_time(generate(make_scenario(always, some))).items():
        assert delay == (11 if source == 1 and 200 <= time < 400 else 1)


# --- tables ------------------------------------------------------------------------------------------------
HEAD = "events = 10\nsources = 2\ninterval_ns = 1000\n"
DELAY = f"{HEAD}[[delay]]\nkind"
MISTAKES = {
    "events = 10": 'error[invalid-input]: the scenario lacks the key "interval_ns"',
    "events = 0\ninterval_ns = 1000": "a whole number from 1 to 100,000,000 for events, not 0\n  --> mine.toml:1:1",
    "evens = 10\ninterval_ns = 1000": 'the scenario has no key "evens"\n  --> mine.toml:1:1',
    f"{HEAD}fifo = [0, 2]": "the scenario has no source 2\n  --> mine.toml:4:12",
    f'{HEAD}fifo = "yes"': 'the scenario needs a list for fifo, not "yes"\n  --> mine.toml:4:1',
    f'{HEAD}[delay]\nkind = "fixed"': "the scenario needs a list for delay, not a table\n  --> mine.toml:4:1",
    f"{HEAD}delay = [3]": "the scenario has a delay that is 3\n  --> mine.toml:4:10",
    f"{HEAD}[[delay]]\nmean_ms = 3": 'delay 1 lacks the key "kind"',
    f'{DELAY} = "expo"': 'delay 1 has an unknown kind: "expo"\n  --> mine.toml:5:1',
    f'{DELAY} = "fixed"\nmean_ms = 3': 'delay "fixed" has no key "mean_ms"\n  --> mine.toml:6:1',
    f'{DELAY} = "exponential"': 'delay "exponential" lacks the key "mean_ms"\n  --> mine.toml:4:1',
    f'{DELAY} = "exponential"\nmean_ms = 0': "needs a number above 0 for mean_ms, not 0\n  --> mine.toml:6:1",
    f'{DELAY} = "uniform"\nshare = 2\nhigh_ms = 5': "has a share of 2\n  --> mine.toml:6:1",
    f'{DELAY} = "uniform"\nshare = 1\nhigh_ms = 5\nlow_ms = 6': "is late by 6 to 5 ms\n  --> mine.toml:8:1",
    f'{DELAY} = "zipf"\nskew = 1\nunit_ms = 5\ncap_ms = 6': "has a skew of 1\n  --> mine.toml:6:1",
    f'{DELAY} = "ramp"\nstart_s = 3\nend_s = 2\nstep_ms = 1\nadd_us = 1': (
        "ends at 2 s and starts at 3 s\n  --> mine.toml:7:1"
    ),
    f'{DELAY} = "outage"\nevery_s = 3\nlength_s = 3': "lasts 3 s of every 3 s\n  --> mine.toml:7:1",
    f'{DELAY} = "drift"\nfactor = 2\nperiod_s = 3': 'delay "drift" lacks the key "of"\n  --> mine.toml:4:1',
    f'{DELAY} = "drift"\nfactor = 2\nperiod_s = 3\nof = {{ kind = "fix" }}': (
        'the delay of delay "drift" has an unknown kind: "fix"\n  --> mine.toml:8:8'
    ),
    f'{DELAY} = "fixed"\ndelay_ms = 1\nfrom_s = 3\nuntil_s = 1': "lasts from 3 s until 1 s\n  --> mine.toml:8:",
    f'{DELAY} = "fixed"\ndelay_ms = 1\nsources = [5]': "delay 1 has no source 5\n  --> mine.toml:7:12",
    f'{DELAY} = "replay"': 'delay "replay" needs either delays_ms or path\n  --> mine.toml:4:1',
    f'{DELAY} = "replay"\ndelays_ms = [1, -1]': "has a delay that is -1\n  --> mine.toml:6:17",
    f'{DELAY} = "replay"\npath = "none.txt"': "which does not exist\n  --> mine.toml:6:1",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_told_with_their_line_and_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_scenario(text, Path("mine.toml"))
    assert MISTAKES[text] in str(caught.value)
    assert "hint: " in str(caught.value)


def test_a_scenario_that_does_not_exist_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match='"parto"') as caught:
        load_scenario("parto")
    assert "hint: " in str(caught.value)
    with pytest.raises(InvalidInput, match="does not exist"):
        load_scenario(str(tmp_path / "mine.toml"))


def test_delays_are_read_from_a_file_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "delays.txt").write_text("0\n12.5\n")
    (tmp_path / "mine.toml").write_text(f'{DELAY} = "replay"\npath = "delays.txt"')
    (placed,) = load_scenario(str(tmp_path / "mine.toml")).delays
    assert placed.delay == Replay(delays_ms=(0.0, 12.5))
    (tmp_path / "delays.txt").write_text("0\nsoon\n")
    with pytest.raises(InvalidInput, match="cannot read"):
        load_scenario(str(tmp_path / "mine.toml"))
