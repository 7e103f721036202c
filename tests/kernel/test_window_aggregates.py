"""The banks of windows against plain Python: random scripts, every function, every kind of value."""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cepheid.errors import MatchFailure
from cepheid.kernel.aggregates.catalog import AGGREGATES, find_aggregate, list_names
from cepheid.kernel.columns import Column, Interner
from cepheid.kernel.compiled.window_aggregates import (
    Banks,
    MemberBank,
    counts,
    distinct,
    ends,
    extremes,
    float_sums,
    integer_sums,
    make_banks,
    member_chains,
    ranked,
)
from cepheid.kernel.compiled.window_aggregates.warm_up import compile_aggregates
from cepheid.kernel.compiled.window_steps import ADD, CLEAR, EMIT, ENTER, ENTER_PANE, LEAVE, LEAVE_PANE, StepList
from cepheid.kernel.expression import Kind
from cepheid.kernel.window import (
    AnswerColumn,
    ListColumn,
    ObjectColumn,
    PythonAggregate,
    WindowedAggregate,
)

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
KINDS: dict[str, Kind] = {
    "plain": "float", "wild": "float", "near": "float", "whole": "int", "big": "int", "few": "int", "text": "string",
    "flag": "bool", "moment": "time", "span": "duration",
}  # fmt: skip
NEVER_NULL = ("near", "few")


# ---- events --------------------------------------------------------------------------------------------------------


class Events:
    """A store, and the same values as Python objects.  forgets: only the latest batch is there, counted from 0."""

    def __init__(self, chance: random.Random, forgets: bool = False) -> None:
        self.chance = chance
        self.interner = Interner()
        self.forgets = forgets
        self.values: dict[str, list[Any]] = {name: [] for name in KINDS}
        self.begin = 0

    def append(self, count: int) -> range:
        """The numbers of the new events."""
        old = len(self.values["plain"])
        if self.forgets:
            self.begin = old
        for name in KINDS:
            self.values[name] += [self.make_value(name) for _ in range(count)]
        return range(old, old + count)

    def make_value(self, name: str) -> Any:
        chance = self.chance
        if name not in NEVER_NULL and chance.random() < 0.15:
            return None
        match name:
            case "plain":
                return chance.choice((-1, 1)) * 10 ** chance.uniform(-8, 12)
            case "wild":
                return chance.choice((0.0, -0.0, 5e-324, 1e-300, 1.5, -2.5, 1e22, 1e200, -1e200, 1e308, -1.7e308, 1e-9,
                                      math.nan, math.inf, -math.inf, chance.gauss(0, 1), 3.4e38))  # fmt: skip
            case "near":
                return 1e9 + chance.choice((0.0, 1e-6, chance.random()))
            case "whole":
                return chance.randrange(-1000, 1000)
            case "big":
                return chance.choice(
                    (2**62, -(2**62), 2**53 + 1, 2**63 - 1, -(2**63), chance.randrange(-(2**63), 2**63))
                )
            case "few":
                return chance.randrange(4)
            case "text":
                return chance.choice(("", "a", "b", "ä", "\U0001f600", "nul\0", f"word {chance.randrange(200)}"))
            case "flag":
                return chance.random() < 0.5
            case "moment":
                return EPOCH + timedelta(microseconds=chance.randrange(-(10**15), 10**15))
        return timedelta(microseconds=chance.randrange(-(10**9), 10**9))

    def column(self, name: str) -> Column:
        values = self.values[name][self.begin :]
        cells = [0 if value is None else as_number(value, self.interner) for value in values]
        dtype = np.float64 if KINDS[name] == "float" else np.int64
        valid = np.array([value is not None for value in values], dtype=np.uint8)
        return Column(np.array(cells, dtype=dtype), None if name in NEVER_NULL else valid)


def as_number(value: Any, interner: Interner) -> int | float:
    match value:
        case str():
            return interner.number_of(value)
        case datetime():
            return (value - EPOCH) // timedelta(microseconds=1)
        case timedelta():
            return value // timedelta(microseconds=1)
    return value


def as_object(value: int | float, kind: Kind, texts: list[str]) -> Any:
    match kind:
        case "string":
            return texts[value]
        case "bool":
            return bool(value)
        case "time":
            return EPOCH + timedelta(microseconds=value)
        case "duration":
            return timedelta(microseconds=value)
    return value


# ---- scripts -------------------------------------------------------------------------------------------------------


@dataclass
class Slot:
    """What a slot holds: events, or for a slot of panes, the events of each."""

    way: str
    members: deque[Any] = field(default_factory=deque)
    inside: int = 0

    def events(self) -> list[int]:
        if self.way == "panes":
            return [event for _, events in self.members for event in events]
        return list(self.members)


class Play:
    """Writes scripts, and what each slot holds when it is asked."""

    def __init__(self, chance: random.Random, events: Events, ways: tuple[str, ...]) -> None:
        self.chance, self.events, self.ways = chance, events, ways
        self.slots: dict[int, Slot] = {}
        self.free: list[int] = []
        self.slot_count = 0

    def write(self, numbers: range, length: int) -> tuple[StepList, list[list[int]]]:
        steps: list[tuple[int, int, int]] = []
        asked: list[list[int]] = []
        fresh = iter(numbers)
        chance = self.chance
        for _ in range(length):
            if not self.slots or (len(self.slots) < 12 and chance.random() < 0.1):
                self.open()
            number = chance.choice(list(self.slots))
            slot = self.slots[number]
            act = chance.random()
            if act < 0.25:
                asked.append(slot.events())
                steps.append((EMIT, number, len(asked) - 1))
            elif act < 0.28 and not slot.inside:
                for pane, _ in slot.members if slot.way == "panes" else ():
                    self.slots[pane].inside -= 1
                steps.append((CLEAR, number, chance.choice((-1, 0))))
                del self.slots[number]
                self.free.append(number)
            elif slot.way == "panes":
                steps += self.move_pane(number, slot, act < 0.7)
            elif slot.way == "enter" and slot.members and act > 0.65:
                steps.append((LEAVE, number, slot.members.popleft() - self.events.begin))
            elif not slot.inside:
                event = next(fresh, None)
                if event is not None:
                    slot.members.append(event)
                    steps.append((ENTER if slot.way == "enter" else ADD, number, event - self.events.begin))
        return make_script(steps, self.slot_count), asked

    def open(self) -> None:
        if self.free and self.chance.random() < 0.7:
            number = self.free.pop(self.chance.randrange(len(self.free)))
        else:
            number, self.slot_count = self.slot_count, self.slot_count + self.chance.randrange(1, 3)
            self.free += range(number + 1, self.slot_count)
        self.slots[number] = Slot(self.chance.choice(self.ways))

    def move_pane(self, number: int, slot: Slot, enters: bool) -> list[tuple[int, int, int]]:
        if enters:
            inside = {pane for pane, _ in slot.members}
            panes = [n for n, other in self.slots.items() if other.way == "add" and n not in inside]
            if not panes:
                return []
            pane = self.chance.choice(panes)
            self.slots[pane].inside += 1
            slot.members.append((pane, self.slots[pane].events()))
            return [(ENTER_PANE, number, pane)]
        if not slot.members:
            return []
        pane, _ = slot.members.popleft()
        self.slots[pane].inside -= 1
        return [(LEAVE_PANE, number, pane)]


def make_script(steps: list[tuple[int, int, int]], slot_count: int) -> StepList:
    table = np.array(steps, dtype=np.int64).reshape(-1, 3).T.copy()
    rows = int((table[0] == EMIT).sum())
    return StepList(table[0].astype(np.uint8), table[1].copy(), table[2].copy(), slot_count, rows)


# ---- plain Python ----------------------------------------------------------------------------------------------------


def order(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value)


def exact_sum(values: list[Any]) -> Any:
    if isinstance(values[0], timedelta):
        return sum(values, timedelta())
    if isinstance(values[0], int):
        return sum(values)
    strange = [value for value in values if not math.isfinite(value)]
    return sum(strange) if strange else sum(map(Fraction, values))


def as_float(value: Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def variance(values: list[Any], less: int) -> Fraction | float | None:
    if len(values) <= less:
        return None
    if not all(math.isfinite(value) for value in values):
        return math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return sum((value - mean) ** 2 for value in exact) / (len(exact) - less)


def root(value: Fraction | float | None) -> float | None:
    if value is None or isinstance(value, float):
        return value
    scale = 2 ** max(0, (value.numerator.bit_length() - value.denominator.bit_length()) // 2 - 100)
    return as_float(Fraction(math.sqrt(value / scale**2)) * scale)


def compute(aggregate: WindowedAggregate, members: list[int], events: Events) -> Any:
    """The answer, by the book."""
    if aggregate.column is None:
        return len(members)
    everything = [events.values[aggregate.column][event] for event in members]
    known = [value for value in everything if value is not None]
    function = aggregate.function
    match function:
        case "first":
            return everything[0] if everything else None
        case "last":
            return everything[-1] if everything else None
        case "array_agg":
            return everything or None
        case "count":
            return len(known)
        case "count_distinct":
            return len({order(value) for value in known})
        case "min_by" | "max_by":
            assert aggregate.by is not None
            pairs = [
                (events.values[aggregate.by][event], value) for event, value in zip(members, everything, strict=True)
            ]
            pairs = [pair for pair in pairs if pair[0] is not None]
            best = (min if function == "min_by" else max)(pairs, key=lambda pair: order(pair[0]), default=(None, None))
            return best[1]
    return compute_some(aggregate, known) if known else None


def compute_some(aggregate: WindowedAggregate, known: list[Any]) -> Any:
    ranked = sorted(known, key=order)
    match aggregate.function:
        case "sum":
            return exact_sum(known)
        case "avg":
            total = exact_sum(known)
            if isinstance(total, timedelta):
                return timedelta(microseconds=int(Fraction(total // timedelta(microseconds=1), len(known))))
            return total / len(known)
        case "min":
            return ranked[0]
        case "max":
            return ranked[-1]
        case "var_samp" | "var_pop":
            return variance(known, int(aggregate.function == "var_samp"))
        case "stddev_samp" | "stddev_pop":
            return root(variance(known, int(aggregate.function == "stddev_samp")))
        case "percentile_disc":
            return next(v for i, v in enumerate(ranked) if (i + 1) / len(ranked) >= aggregate.parameter)
        case "percentile_cont":
            return interpolate(ranked, aggregate.parameter)
        case "least":
            return ranked[: int(aggregate.parameter)]
        case "greatest":
            return ranked[::-1][: int(aggregate.parameter)]
        case "python":
            return sorted(known, key=order)
    raise AssertionError(aggregate.function)


def interpolate(ranked: list[Any], share: float) -> Any:
    place = share * (len(ranked) - 1)
    low, part = ranked[math.floor(place)], place - math.floor(place)
    high = ranked[math.ceil(place)]
    if isinstance(low, datetime | timedelta):
        return low + timedelta(microseconds=int((high - low) // timedelta(microseconds=1) * part))
    if part == 0 or low == high:
        return low
    if not (math.isfinite(low) and math.isfinite(high)):
        return low + high
    return Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(part)


def is_same(answer: Any, expected: Any, size: Fraction) -> bool:
    """size: of the values that went into a float; a sum is as good as they are large."""
    if isinstance(expected, list):
        return len(answer) == len(expected) and all(map(is_same, answer, expected, [Fraction(0)] * len(expected)))
    if isinstance(answer, float) and isinstance(expected, float | int | Fraction):
        rounded = as_float(expected)
        if not (math.isfinite(rounded) and math.isfinite(answer)):
            return repr(answer) == repr(rounded) or abs(rounded) > 1.79e308
        return abs(Fraction(answer) - Fraction(expected)) <= size * Fraction(1e-15) + Fraction(5e-324)
    return type(answer) is type(expected) and bool(answer == expected)


# ---- comparing -------------------------------------------------------------------------------------------------------


def read_answers(column: AnswerColumn, kind: Kind, texts: list[str]) -> list[Any]:
    if isinstance(column, ObjectColumn):
        return column.values
    if isinstance(column, Column):
        valid = [1] * len(column.values) if column.valid is None else column.valid.tolist()
        cells = column.values.tolist()
        return [as_object(cell, kind, texts) if ok else None for cell, ok in zip(cells, valid, strict=True)]
    items = read_answers(column.items, kind, texts)
    stops = column.ends.tolist()
    lists = [items[begin:end] for begin, end in zip([0, *stops], stops, strict=False)]
    valid = [1] * len(stops) if column.valid is None else column.valid.tolist()
    return [values if ok else None for values, ok in zip(lists, valid, strict=True)]


def aggregate_of(function: Any, column: str | None = None, **more: Any) -> WindowedAggregate:
    column_kind = None if column is None else KINDS[column]
    kind = column_kind or "int"
    if function in ("count", "count_distinct"):
        kind = "int"
    elif (function in ("avg", "percentile_cont") and kind not in ("time", "duration")) or function[:3] in (
        "std",
        "var",
    ):
        kind = "float"
    if "by" in more:
        more["by_kind"] = KINDS[more["by"]]
    return WindowedAggregate(function=function, column=column, column_kind=column_kind, kind=kind, **more)


def size_of(aggregate: WindowedAggregate, members: list[int], events: Events, expected: Any) -> Fraction:
    """The size that errors of an answer are measured by."""
    if aggregate.column is None or KINDS[aggregate.column] not in ("float", "int"):
        return Fraction(0)
    if aggregate.function[:3] in ("var", "std"):  # relative to the answer itself, however near the values are
        if expected is None or (isinstance(expected, float) and not math.isfinite(expected)):
            return Fraction(0)
        least = 1e-14 if aggregate.function[:3] == "var" else 1e-2  # what values of 1e12 leave behind; times 1e-15
        return max(Fraction(1000 * Fraction(expected)), Fraction(least))
    values = [events.values[aggregate.column][event] for event in members]
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    if aggregate.function in ("percentile_cont", "sum", "avg"):
        left_behind = 2.0**-86 * 1e15 if aggregate.column == "wild" else 0.0  # by values of up to 2**64
        size = Fraction(4 * sum(map(Fraction, sizes))) + Fraction(left_behind)
        return size / max(len(sizes), 1) if aggregate.function == "avg" else size
    return Fraction(0)


def compare(
    banks: Banks, aggregates: tuple[WindowedAggregate, ...], step_list: StepList, asked: list[list[int]], events: Events
) -> None:
    columns = banks.run(step_list, events)
    texts = events.interner.texts()
    for aggregate, column in zip(aggregates, columns, strict=True):
        answers = read_answers(column, aggregate.kind, texts)
        assert len(answers) == len(asked)
        for answer, members in zip(answers, asked, strict=True):
            expected = compute(aggregate, members, events)
            size = size_of(aggregate, members, events, expected)
            assert is_same(answer, expected, size), (aggregate, answer, expected, members)


MERGED = (
    aggregate_of("count"),
    *(aggregate_of("count", name) for name in KINDS),
    *(aggregate_of(function, name) for name in ("plain", "wild", "near") for function in ("sum", "avg")),
    *(aggregate_of(function, name) for name in ("plain", "wild", "near", "whole", "big")
      for function in ("var_samp", "var_pop", "stddev_samp", "stddev_pop")),
    aggregate_of("sum", "whole"), aggregate_of("avg", "whole"), aggregate_of("avg", "big"), aggregate_of("sum", "few"),
    aggregate_of("sum", "span"), aggregate_of("avg", "span"),
    *(aggregate_of(function, name) for name in KINDS for function in ("min", "max", "first", "last")),
    aggregate_of("min_by", "text", by="few"), aggregate_of("max_by", "text", by="few"),
    aggregate_of("min_by", "plain", by="text"), aggregate_of("max_by", "flag", by="wild"),
    aggregate_of("sum", "whole"),
)  # fmt: skip

SORTED = PythonAggregate(
    init=list,
    add=lambda state, value: [*state, value],
    result=lambda state: sorted(state, key=order),
    remove=lambda state, value: state[1:],  # noqa: ARG005 - it is the oldest
)


def add_in_place(state: list[Any], value: Any) -> list[Any]:
    state.append(value)
    return state


def merge_in_place(left: list[Any], right: list[Any]) -> list[Any]:
    left += right
    right.append("spoilt")
    return left


PYTHON = (
    SORTED,
    replace(SORTED, remove=None),
    replace(SORTED, remove=None, merge=lambda left, right: left + right),
    replace(SORTED, add=add_in_place, remove=None, merge=merge_in_place),
)
ONLY_BY_EVENTS = (
    *(aggregate_of(function, name) for name in KINDS for function in ("count_distinct", "array_agg")),
    *(aggregate_of("percentile_disc", name, parameter=share) for name in KINDS for share in (0.0, 0.1, 0.55, 1.0)),
    *(aggregate_of("percentile_cont", name, parameter=share)
      for name in ("plain", "wild", "near", "whole", "big", "moment", "span") for share in (0.0, 0.25, 0.5, 0.99, 1.0)),
    *(aggregate_of(function, name, parameter=k)
      for name in KINDS for function in ("least", "greatest") for k in (1, 3, 99)),
    *(aggregate_of("python", name, python=functions) for name in KINDS for functions in PYTHON),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_mergeable_functions_agree_with_plain_python(seed: int) -> None:
    chance = random.Random(seed)
    events = Events(chance)
    play = Play(chance, events, ("add", "enter", "panes"))
    banks = make_banks(MERGED, events.interner)
    for _ in range(4):
        step_list, asked = play.write(events.append(chance.choice((0, 5, 80))), chance.choice((3, 60, 300)))
        compare(banks, MERGED, step_list, asked, events)


@pytest.mark.parametrize("seed", range(6))
def test_panes_need_no_events_of_earlier_batches(seed: int) -> None:
    chance = random.Random(100 + seed)
    events = Events(chance, forgets=True)
    play = Play(chance, events, ("add", "panes"))
    banks = make_banks(MERGED, events.interner)
    for _ in range(5):
        step_list, asked = play.write(events.append(chance.choice((0, 5, 60))), chance.choice((3, 60, 200)))
        compare(banks, MERGED, step_list, asked, events)


@pytest.mark.parametrize("seed", range(8))
def test_functions_that_need_events_agree_with_plain_python(seed: int) -> None:
    chance = random.Random(200 + seed)
    events = Events(chance)
    play = Play(chance, events, ("add", "enter"))
    banks = make_banks(ONLY_BY_EVENTS, events.interner)
    for _ in range(4):
        step_list, asked = play.write(events.append(chance.choice((0, 5, 80))), chance.choice((3, 60, 300)))
        compare(banks, ONLY_BY_EVENTS, step_list, asked, events)


@pytest.mark.parametrize("seed", range(4))
def test_slots_filled_by_adding_can_be_kept_and_restored(seed: int) -> None:
    chance = random.Random(300 + seed)
    events = Events(chance, forgets=True)
    play = Play(chance, events, ("add",))
    banks = make_banks(MERGED, events.interner)
    for _ in range(3):
        step_list, asked = play.write(events.append(40), 60)
        compare(banks, MERGED, step_list, asked, events)
        old = list(play.slots)
        chance.shuffle(old)
        kept = banks.keep(np.array(old, dtype=np.int64))
        new = chance.sample(range(30), len(old))
        events.interner = Interner()  # another process
        for text in ("unknown", "z", "a"):
            events.interner.number_of(text)
        banks = make_banks(MERGED, events.interner)
        banks.restore(np.array(new, dtype=np.int64), {name: array.copy() for name, array in kept.items()})
        play.slots = {number: play.slots[slot] for number, slot in zip(new, old, strict=True)}
        play.slot_count, play.free = 30, [number for number in range(30) if number not in new]
        asking = [(EMIT, number, row) for row, number in enumerate(play.slots)]
        compare(banks, MERGED, make_script(asking, 30), [play.slots[n].events() for n in play.slots], events)


def test_only_mergeable_functions_are_kept() -> None:
    for aggregate in ONLY_BY_EVENTS:
        assert not find_aggregate(aggregate.function).mergeable
        with pytest.raises(AssertionError, match="mergeable"):
            make_banks((aggregate,), Interner()).keep(np.zeros(0, dtype=np.int64))


@pytest.mark.parametrize("seed", range(4))
def test_members_are_told_oldest_first(seed: int) -> None:
    chance = random.Random(400 + seed)
    events = Events(chance)
    play = Play(chance, events, ("add", "enter"))
    bank = MemberBank()
    for _ in range(4):
        step_list, asked = play.write(events.append(100), 300)
        column = bank.run(step_list, events)
        assert isinstance(column, ListColumn)
        assert read_answers(column, "int", []) == asked


def test_empty_scripts_give_empty_columns() -> None:
    events = Events(random.Random(1))
    for aggregates in (MERGED, ONLY_BY_EVENTS):
        columns = make_banks(aggregates, events.interner).run(make_script([], 0), events)
        for aggregate, column in zip(aggregates, columns, strict=True):
            assert read_answers(column, aggregate.kind, []) == []


def test_every_function_has_a_bank() -> None:
    assert {aggregate.function for aggregate in (*MERGED, *ONLY_BY_EVENTS)} == set(list_names("window"))
    assert {aggregate.function for aggregate in MERGED} == {each.name for each in AGGREGATES if each.mergeable}


def test_functions_of_one_column_share_a_bank() -> None:
    sums = tuple(
        aggregate_of(function, "plain") for function in ("count", "sum", "avg", "stddev_pop", "var_samp", "sum")
    )
    assert len(make_banks(sums, Interner())._banks) == 1
    shares = tuple(aggregate_of("percentile_cont", "plain", parameter=share) for share in (0.1, 0.5, 0.9))
    assert len(make_banks((*shares, aggregate_of("least", "plain", parameter=3)), Interner())._banks) == 1
    assert len(make_banks((aggregate_of("count"), *(aggregate_of("count", "plain"),) * 3), Interner())._banks) == 2


def test_warming_up_compiles_every_kernel() -> None:
    """Nothing is compiled later on: neither for other columns, nor for columns that nobody may write to."""
    compile_aggregates()
    kernels = [
        value
        for module in (counts, distinct, ends, extremes, float_sums, integer_sums, member_chains, ranked)
        for value in vars(module).values()
        if hasattr(value, "signatures") and value.__module__ == module.__name__
    ]
    before = [len(kernel.signatures) for kernel in kernels]
    assert len(kernels) > 10
    events = Events(random.Random(2))
    play = Play(events.chance, events, ("add", "enter"))
    step_list, asked = play.write(events.append(50), 100)
    frozen = {name: events.column(name) for name in KINDS}
    for column in frozen.values():
        column.values.flags.writeable = False
    whole = (*MERGED, *ONLY_BY_EVENTS)
    events.column = frozen.__getitem__  # type: ignore[method-assign]
    compare(make_banks(whole, events.interner), whole, step_list, asked, events)
    assert [len(kernel.signatures) for kernel in kernels] == before


# ---- large windows ---------------------------------------------------------------------------------------------------


class Given:
    """A store of given columns."""

    def __init__(self, **columns: npt.NDArray[Any]) -> None:
        self.columns = columns

    def column(self, name: str) -> Column:
        return Column(self.columns[name])


def slide(count: int, size: int, every: int) -> StepList:
    """One slot over the last `size` events, asked after every so many."""
    steps = np.full((count, 3), CLEAR, dtype=np.uint8)
    items = np.zeros((count, 3), dtype=np.int64)
    steps[size:, 0], items[size:, 0] = LEAVE, np.arange(count - size)
    steps[:, 1], items[:, 1] = ENTER, np.arange(count)
    steps[every - 1 :: every, 2], items[every - 1 :: every, 2] = EMIT, np.arange(count // every)
    told = steps != CLEAR
    return StepList(steps[told], np.zeros(int(told.sum()), dtype=np.int64), items[told], 1, count // every)


def test_sums_do_not_drift() -> None:
    """A million slides over values from 1e-8 to 1e12; at last only small values are in the window."""
    chance = np.random.default_rng(5)
    count, size, every = 1_000_000, 100, 997
    values = chance.choice((-1.0, 1.0), count) * 10.0 ** chance.uniform(-8, 12, count)
    values[chance.integers(0, count, 50)] *= 1e290  # from outer space
    values[-2000:] = chance.random(2000) * 1e-8
    aggregates = tuple(
        WindowedAggregate(function=f, column="x", column_kind="float", kind="float") for f in ("sum", "avg", "var_pop")
    )
    sums, means, variances = make_banks(aggregates, Interner()).run(slide(count, size, every), Given(x=values))
    assert isinstance(sums, Column)
    assert isinstance(means, Column)
    assert isinstance(variances, Column)
    stops = np.arange(every, count + 1, every)
    assert len(stops) == len(sums.values)
    for at, end in enumerate(stops):
        window = values[max(0, end - size) : end]
        fresh, magnitude = math.fsum(window), math.fsum(np.abs(window))
        assert abs(sums.values[at] - fresh) <= min(1e-12 * magnitude, 1e-9 * abs(fresh))
        assert sums.values[at] == pytest.approx(fresh, rel=1e-15)
        assert means.values[at] == pytest.approx(fresh / len(window), rel=1e-15)
    exact = variance([Fraction(value) for value in values[stops[-1] - size : stops[-1]].tolist()], 0)
    assert variances.values[-1] == pytest.approx(float(exact), rel=1e-9)  # type: ignore[arg-type]


def test_variance_of_values_that_hardly_differ() -> None:
    values = np.array([1e15 + 0.125, 1e15 + 0.25, 1e15 + 0.125, 1e15 + 0.5])
    for given in (values, values * 2.0**-60, values[:1].repeat(4)):
        step_list = make_script([(ADD, 0, event) for event in range(4)] + [(EMIT, 0, 0)], 1)
        banks = make_banks(
            (WindowedAggregate(function="var_samp", column="x", column_kind="float", kind="float"),), Interner()
        )
        (column,) = banks.run(step_list, Given(x=given))
        assert isinstance(column, Column)
        assert column.values[0] == pytest.approx(float(variance(given.tolist(), 1)), rel=1e-14)  # type: ignore[arg-type]


def test_sums_of_the_greatest_floats_are_infinite_only_if_the_answer_is() -> None:
    most = 1.7e308
    expected = {"sum": math.inf, "avg": most, "stddev_samp": 0.0, "var_pop": 0.0}
    apart = {"sum": 0.0, "avg": 0.0, "stddev_pop": most, "stddev_samp": math.inf, "var_pop": math.inf}
    for values, answers in (([most, most], expected), ([most, -most], apart)):
        for function, answer in answers.items():
            step_list = make_script([(ADD, 0, 0), (ADD, 0, 1), (EMIT, 0, 0)], 1)
            aggregate = WindowedAggregate(function=function, column="x", column_kind="float", kind="float")  # type: ignore[arg-type]
            (column,) = make_banks((aggregate,), Interner()).run(step_list, Given(x=np.array(values)))
            assert isinstance(column, Column)
            assert column.values[0] == pytest.approx(answer, rel=1e-15)


def test_percentiles_and_distinct_counts_of_a_large_window() -> None:
    """Deep trees: values that rise, fall, repeat, or come in no order."""
    chance = np.random.default_rng(6)
    count, size, every = 60_000, 20_000, 4_999
    rising = np.arange(count)
    columns = {"rises": rising, "falls": -rising, "random": chance.integers(0, 10**9, count), "few": rising % 7,
               "waves": (np.abs(rising % 8_000 - 4_000) * 3)}  # fmt: skip
    for values in columns.values():
        aggregates = (
            *(
                WindowedAggregate(function="percentile_disc", column="x", column_kind="int", parameter=q)
                for q in (0.01, 0.5, 0.99)
            ),
            WindowedAggregate(function="count_distinct", column="x", column_kind="int"),
            WindowedAggregate(function="min", column="x", column_kind="int"),
            WindowedAggregate(function="max", column="x", column_kind="int"),
            WindowedAggregate(function="least", column="x", column_kind="int", parameter=size),
        )
        answers = make_banks(aggregates, Interner()).run(slide(count, size, every), Given(x=values.astype(np.int64)))
        for at, end in enumerate(range(every, count + 1, every)):
            window = np.sort(values[max(0, end - size) : end])
            n = len(window)
            expected = [window[math.ceil(n * q) - 1] for q in (0.01, 0.5, 0.99)]
            expected += [len(np.unique(window)), window[0], window[-1]]
            assert [int(column.values[at]) for column in answers if isinstance(column, Column)] == expected
            whole = answers[-1]
            assert isinstance(whole, ListColumn)
            assert np.array_equal(whole.items.values[whole.ends[at] - n : whole.ends[at]], window)


def test_cleared_slots_leave_no_nodes_behind() -> None:
    """Memory follows what is in windows, not how much has gone through them."""
    events = Given(x=np.arange(3_000) * 7919 % 3_001)
    aggregates = tuple(
        WindowedAggregate(function=function, column="x", column_kind="int", parameter=0.5)
        for function in ("min", "first", "percentile_disc", "count_distinct", "array_agg")
    )
    banks = make_banks(aggregates, Interner())
    member_bank = MemberBank()
    sizes = []
    for way in (ADD, ENTER) * 20:
        steps = [(way, slot, event) for event in range(3_000) for slot in ((event % 3),)]
        step_list = make_script([*steps, *((CLEAR, slot, -1) for slot in range(3))], 3)
        banks.run(step_list, events)
        member_bank.run(step_list, events)
        sizes.append(sum(room(bank) for bank in (*(bank for bank, _ in banks._banks), member_bank)))
    assert sizes[-1] == sizes[1]


def test_sliding_windows_use_nodes_again() -> None:
    functions = ("min", "max", "first", "percentile_disc", "count_distinct", "array_agg")
    aggregates = tuple(WindowedAggregate(function=f, column="x", column_kind="int", parameter=0.5) for f in functions)
    for values in (np.arange(60_000), -np.arange(60_000), np.arange(60_000) * 7919 % 60_013):
        banks = make_banks(aggregates, Interner())
        banks.run(slide(60_000, 300, 60_000), Given(x=values))
        assert sum(room(bank) for bank, _ in banks._banks) < 30_000  # numbers: half as many as events went through


def room(thing: Any) -> int:
    parts = [
        part for part in vars(thing).values() if isinstance(part, np.ndarray) or type(part).__name__ == "MemberChains"
    ]
    return sum(part.size if isinstance(part, np.ndarray) else room(part) for part in parts)


# ---- integers that do not fit --------------------------------------------------------------------------------------


def ask(
    function: Any, kind: Kind, values: list[int], steps: list[tuple[int, int, int]], column_kind: Kind = "int"
) -> Any:
    aggregate = WindowedAggregate(function=function, column="x", column_kind=column_kind, kind=kind)
    (column,) = make_banks((aggregate,), Interner()).run(
        make_script(steps, 3), Given(x=np.array(values, dtype=np.int64))
    )
    assert isinstance(column, Column)
    return column.values.tolist()


def test_sum_that_leaves_64_bits_raises_only_when_it_is_asked_for() -> None:
    most, least = 2**63 - 1, -(2**63)
    both = [(ENTER, 0, 0), (ENTER, 0, 1)]
    with pytest.raises(MatchFailure, match="a sum of integers left the range of 64 bits"):
        ask("sum", "int", [most, 1], [*both, (EMIT, 0, 0)])
    with pytest.raises(MatchFailure):
        ask("sum", "int", [least, -1], [*both, (EMIT, 0, 0)])
    assert ask("sum", "int", [most, 1], [*both, (LEAVE, 0, 0), (EMIT, 0, 0)]) == [1]
    assert ask("sum", "int", [most, least], [*both, (EMIT, 0, 0)]) == [-1]
    assert ask("sum", "int", [least], [(ADD, 2, 0), (EMIT, 2, 0)]) == [least]
    assert ask("avg", "float", [most, most], [*both, (EMIT, 0, 0)]) == [2.0**63]


def test_average_of_durations_is_cut_towards_zero() -> None:
    for values in ([1, 2], [-1, -2], [2**63 - 1] * 3, [-(2**63)] * 3, [-(2**63), 2**63 - 1], [-7, 2, 1]):
        steps = [(ADD, 0, event) for event in range(len(values))] + [(EMIT, 0, 0)]
        expected = [int(Fraction(sum(values), len(values)))]
        assert ask("avg", "duration", values, steps, "duration") == expected


def test_python_functions_see_python_values() -> None:
    chance = random.Random(9)
    events = Events(chance)
    numbers = events.append(30)
    for name, kind in KINDS.items():
        seen: list[Any] = []

        def note(state: None, value: Any, seen: list[Any] = seen) -> None:
            seen.append(value)
            return state

        functions = PythonAggregate(init=lambda: None, add=note, result=lambda state: state)
        banks = make_banks((aggregate_of("python", name, python=functions),), events.interner)
        banks.run(make_script([(ADD, 0, number) for number in numbers], 1), events)
        known = [value for value in events.values[name] if value is not None]
        assert [repr(value) for value in seen] == [repr(value) for value in known], kind


def test_merging_functions_are_called_a_constant_number_of_times() -> None:
    calls = {"merge": 0, "add": 0}

    def add(state: int, value: int) -> int:
        calls["add"] += 1
        return state + value

    def merge(left: int, right: int) -> int:
        calls["merge"] += 1
        return left + right

    functions = PythonAggregate(init=int, add=add, result=lambda state: state, merge=merge)
    banks = make_banks(
        (WindowedAggregate(function="python", column="x", column_kind="int", python=functions),), Interner()
    )
    (column,) = banks.run(slide(5_000, 1_000, 1), Given(x=np.arange(5_000)))
    assert isinstance(column, ObjectColumn)
    assert column.values[-1] == sum(range(4_000, 5_000))
    assert calls["add"] <= 10_000
    assert calls["merge"] <= 10_000
