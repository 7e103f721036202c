"""`cep.ParallelWindows`: an operator of a user's own gives the answer of the sorted events, and mistakes are told."""

from __future__ import annotations

import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError
from cepheid.execution.parallel.load_meter import LoadMeter
from cepheid.parallel import (
    AdaptiveCheckpoints,
    BetweenPredicate,
    CountPredicate,
    Event,
    EventName,
    EverySpeculative,
    LeastLoaded,
    Match,
    Predicate,
    SequenceOperator,
    TimePredicate,
)

sys.path.append(str(Path(__file__).parent))
from in_process import net
from reference import find_matches

SCHEMA = {"ts": "timestamp", "sensor": "int", "n": "bigint", "v": "double"}
BEGIN = datetime(2026, 1, 1)  # noqa: DTZ001 (columns have no zone)
LATE = cep.Disorder(wait="growing", bound="10 s", emit="changes", speculation=0.3)


class Rise:
    """The user's: the lowest and the highest value of a window, once it has ended; on the way, each new highest."""

    def begin(self) -> list[Event]:
        return []

    def process(self, event: Event, data: list[Event]) -> list[Match]:
        data.append(event)
        highest = max(data, key=lambda each: each.data["v"])
        return [Match((data[0].name, event.name), "highest")] if highest is event else []

    def finish(self, data: list[Event]) -> list[Match]:
        low, high = (way(data, key=lambda each: each.data["v"]) for way in (min, max))
        return [Match((low.name, high.name), round(high.data["v"] - low.data["v"], 6))]

    def clone(self, data: list[Event]) -> list[Event]:
        return list(data)


def draw_rows(count: int, late: int = 400, seed: int = 3) -> list[dict[str, Any]]:
    """In the order of arrival; a tenth of sensor 2 comes late, by so many times 10 ms at most."""
    random = Random(seed)
    rows = []
    for n in range(count):
        sensor = random.randrange(3)
        delay = random.randint(1, late) if late and sensor == 2 and random.random() < 0.3 else 0
        moment = BEGIN + timedelta(milliseconds=10 * n)
        rows.append((n + delay, {"ts": moment, "sensor": sensor, "n": n, "v": random.random()}))
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


def write_table(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"ts": pa.timestamp("us"), "sensor": pa.int32(), "n": pa.int64(), "v": pa.float64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))


def read_events(rows: list[dict[str, Any]]) -> list[Event]:
    times = write_table(rows).column("ts").cast(pa.int64()).to_pylist()
    return [Event(EventName(at, row["sensor"], row["n"]), row) for at, row in zip(times, rows, strict=True)]


def open_windows(predicate: Predicate | None = None, operator: Any = None, **options: Any) -> cep.ParallelWindows:
    options = {"source": "sensor", "number": "n", **options}
    return cep.ParallelWindows(predicate or CountPredicate(20, 7), operator or Rise(), SCHEMA, **options)


def run(windows: cep.ParallelWindows, rows: list[dict[str, Any]], cut: int = 30) -> list[Any]:
    changes = []
    with windows:
        for begin in range(0, len(rows), cut):
            changes += windows.push(write_table(rows[begin : begin + cut]))
            if begin % 90 == 0:
                changes += windows.drain()
        return changes + windows.finish()


@pytest.mark.parametrize("instances", [1, 2, 3, 4])
def test_any_number_of_instances_gives_the_answer_of_the_sorted_events(instances: int) -> None:
    rows = draw_rows(400)
    changes = run(open_windows(instances=instances, disorder=LATE), rows)
    expected = find_matches(read_events(rows), CountPredicate(20, 7), Rise())
    assert net(changes) == expected
    assert any(change.retracted for change in changes), "nothing was given out too early"


@pytest.mark.parametrize(
    "options",
    [
        {"predicate": TimePredicate("300 ms", timedelta(milliseconds=100))},
        {"predicate": BetweenPredicate(lambda event: event.data["v"] > 0.9, lambda event: event.data["v"] < 0.1)},
        {"scheduler": LeastLoaded(), "checkpoints": AdaptiveCheckpoints()},
        {"checkpoints": EverySpeculative(3), "disorder": cep.Disorder(wait="4 s", emit="changes", speculation=0)},
        {"clock_sources": [0, 1], "disorder": cep.Disorder(wait="4 s", emit="changes")},
        {"disorder": cep.Disorder(wait="quantile", bound="5 s", emit="changes", speculation="adaptive")},
        {"disorder": cep.Disorder(wait="4 s", emit="changes", speculation=0), "strategy": "black box"},
        {"operator": SequenceOperator((0, 1, 2), lambda event: event.data["sensor"])},
    ],
    ids=", ".join,
)
def test_whatever_is_chosen_the_answer_stays(options: dict[str, Any]) -> None:
    rows = draw_rows(250, late=300)
    windows = open_windows(**{"disorder": LATE, **options})
    changes = run(windows, rows)
    predicate, operator = options.get("predicate", CountPredicate(20, 7)), options.get("operator", Rise())
    assert net(changes) == find_matches(read_events(rows), predicate, operator)
    assert windows.take_late().num_rows == 0


def test_an_event_beyond_the_bound_is_given_back() -> None:
    rows = draw_rows(600, late=0)
    straggler = rows.pop(5)
    disorder = cep.Disorder(wait="0 s", bound="100 ms", emit="changes")
    with open_windows(disorder=disorder, instances=1) as windows:
        for begin in range(0, len(rows), 50):
            windows.push(write_table(rows[begin : begin + 50]))
        windows.push(write_table([straggler]))
        assert windows.take_late().to_pylist() == [straggler]
        assert windows.take_late().num_rows == 0


def test_events_without_a_source_and_a_number_are_counted() -> None:
    """One source; pandas tables are tables."""
    rows = draw_rows(60, late=0)
    with cep.ParallelWindows(CountPredicate(20, 20), Rise(), SCHEMA, instances=1) as windows:
        changes = windows.push(write_table(rows[:30]).to_pandas()) + windows.push(write_table(rows[30:]).to_pandas())
        changes += windows.finish()
    events = [Event(EventName(event.name.time, 0, n), event.data) for n, event in enumerate(read_events(rows))]
    assert net(changes) == find_matches(events, CountPredicate(20, 20), Rise())


def test_the_factor_follows_the_load() -> None:
    """Idle processes: all is speculated."""
    rows = draw_rows(250)
    adaptive = cep.Disorder(wait="growing", bound="10 s", emit="changes", speculation="adaptive")
    with open_windows(disorder=adaptive) as windows:
        assert windows.speculation == 1
        seconds = iter(range(1000))
        windows._meter = LoadMeter(lambda: float(next(seconds)))
        for row in rows:
            windows.push(write_table([row]))
        assert windows.speculation == 0
        assert windows.wait_us > 1_000_000


def test_a_load_is_the_share_of_time_that_was_worked() -> None:
    moments = iter([0.0, 0.05, 1.0, 1.5])
    meter = LoadMeter(lambda: next(moments))
    assert meter.take([0.02, 0.03]) is None
    assert meter.take([0.5, 2.0]) == [0.5, 1.0]
    assert meter.take([0.5, 2.25]) == [0.0, 0.5]


# --- mistakes ---------------------------------------------------------------------------------------------


class Locked(Rise):
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Half:
    def begin(self) -> int:
        return 0


MISTAKES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no instances": ({"instances": 0}, "invalid-input", "instances is 0"),
    "half an instance": ({"instances": 1.5}, "invalid-input", "instances is 1.5"),
    "an operator that cannot travel": ({"operator": Locked()}, "invalid-input", "cannot be sent"),
    "half an operator": ({"operator": Half()}, "invalid-input", '"Half" has no process, finish, clone'),
    "a class": ({"operator": Rise}, "invalid-input", "Rise is a class"),
    "no predicate": ({"predicate": 5}, "invalid-input", "predicate does not fit"),
    "no scheduler": ({"scheduler": 5}, "invalid-input", "scheduler does not fit"),
    "no model": ({"checkpoints": 5}, "invalid-input", "checkpoint model does not fit"),
    "no such time": ({"time": "tz"}, "unknown-column", 'column "tz" does not exist'),
    "no such source": ({"source": "x"}, "unknown-column", 'column "x" does not exist'),
    "a time that is none": ({"time": "v"}, "invalid-input", '"events.v" is double'),
    "a source that is none": ({"source": "v"}, "invalid-input", '"events.v" is double'),
    "no such strategy": ({"strategy": "grey box"}, "invalid-input", "grey box"),
    "final": ({"disorder": cep.Disorder(wait="1 s")}, "invalid-input", "may be taken back"),
    "recall": ({"disorder": cep.Disorder(recall=0.9, bound="1 s", emit="changes")}, "not-supported-yet", "recall"),
    "no disorder": ({"disorder": "1 s"}, "invalid-input", "disorder is a str"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_with_a_hint(name: str) -> None:
    options, code, told = MISTAKES[name]
    with pytest.raises(CepheidError, match=told) as problem:
        open_windows(**options)
    assert (problem.value.code, bool(problem.value.hint)) == (code, True)


def test_tables_that_do_not_fit_are_refused_and_nothing_of_them_is_taken() -> None:
    rows = draw_rows(60, late=0)
    bad: dict[str, tuple[Any, str]] = {
        "no column": (write_table(rows[:5]).drop_columns(["v"]), 'lacks the column "v"'),
        "no table": ("rows", "not a table"),
        "no time": (write_table([rows[0], {**rows[1], "ts": None}]), "null in row 1"),
        "no source": (write_table([{**rows[0], "sensor": -1}]), "out of range"),
    }
    with open_windows(instances=1) as windows:
        for table, told in bad.values():
            with pytest.raises(CepheidError, match=told) as problem:
                windows.push(table)
            assert problem.value.hint
        changes = windows.push(write_table(rows)) + windows.finish()
    assert net(changes) == find_matches(read_events(rows), CountPredicate(20, 7), Rise())


def test_nothing_is_taken_once_closed() -> None:
    windows = open_windows(instances=1)
    windows.finish()
    for act in (lambda: windows.push(write_table(draw_rows(5))), windows.drain, windows.finish):
        with pytest.raises(CepheidError, match="closed") as problem:
            act()
        assert problem.value.hint
    windows.close()
