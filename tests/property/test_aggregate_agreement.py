"""An aggregate is the same number wherever it stands: in a window, in MEASURES, in DEFINE, in SEQ, in both twins.

What it is, `fold_values` says; in conditions, which give no numbers out, it is compared with a column that holds the
number it must be, so that a match of all events is found exactly if every prefix of them agrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from cepheid.kernel.aggregates.catalog import AGGREGATES, find_aggregate
from cepheid.kernel.aggregates.definition import AggregateDefinition, FoldOptions, fold_values
from cepheid.kernel.columns import Column, Events, Interner
from cepheid.kernel.compiled.match_aggregates import aggregate_matches
from cepheid.kernel.compiled.row_pattern import CompiledRowPattern
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.expression import Aggregate, Call, Cell, Constant, Expression, Kind, Position
from cepheid.kernel.matches import Matches
from cepheid.kernel.pattern import Repetition, RowPatternProgram, SequenceProgram, Step, Term
from cepheid.kernel.reference.operators import ReferenceRowPattern, ReferenceSequence
from cepheid.kernel.reference.windows import ReferenceWindows
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowEvents, WindowProgram

Values = Sequence[float | int | None]
POOLS: dict[str, Callable[[Random], float | int | None]] = {
    "plain": lambda random: random.gauss(0, 1),
    "shifted": lambda random: 1e6 + random.random(),
    "cancelling": lambda random: random.choice((1e16, -1e16, 1.0, -1.0, 0.5, 0.1, None, -0.0)),
    "huge": lambda random: random.choice((1e300, -1e300, 1.7e308, -1.7e308, 1e25, -1e25, 1.0, 0.5, None)),
    "special": lambda random: random.choice((math.nan, math.inf, -math.inf, 1e30, None, *[random.random()] * 9)),
    "integers": lambda random: random.choice((2**62, -(2**62), 2**53 + 1, 1, 7, random.randint(-99, 99), None)),
}  # fmt: skip
MOST_EVENTS = 24
CASES = [(pool, seed) for pool in POOLS for seed in range(12)]
IN_CONDITIONS = [each.name for each in AGGREGATES if "condition" in each.places and not each.has_measure]


def make_values(pool: str, seed: int) -> Values:
    random = Random(f"{pool} {seed}")
    return [POOLS[pool](random) for _ in range(random.randint(1, MOST_EVENTS))]


def fold_prefixes(definition: AggregateDefinition, values: Values, kind: Kind) -> list[Any]:
    """The answer after each event; of integers whose sum does not fit 64 bits nothing is asked."""
    options = FoldOptions(definition.kind_of_answer(kind), kind)
    return [fold_values(definition, values[: end + 1], None, options) for end in range(len(values))]


def is_same(found: Any, expected: Any) -> bool:
    if found is None or expected is None:
        return found is expected
    return bool(found == expected or (found != found and expected != expected))


def read_answers(column: Any) -> list[Any]:
    valid = np.ones(len(column.values), dtype=np.uint8) if column.valid is None else column.valid
    return [value if known else None for value, known in zip(column.values.tolist(), valid, strict=True)]


def as_column(values: Values, kind: Kind) -> Column:
    filled = [0 if value is None else value for value in values]
    valid = np.array([value is not None for value in values], dtype=np.uint8)
    return Column(np.array(filled, dtype=np.float64 if kind == "float" else np.int64), valid)


def windowed(name: str, kind: Kind) -> WindowedAggregate:
    return WindowedAggregate(
        function=name, column="x", column_kind=kind, kind=find_aggregate(name).kind_of_answer(kind)
    )


def run_window(twin: Callable[..., Any], name: str, values: Values, kind: Kind) -> list[Any]:
    """A landmark that is evaluated at every event."""
    window = Window(kind="time")
    program = WindowProgram(window=window, evaluation=Evaluation(when="event"), aggregates=(windowed(name, kind),))
    times, zeros = np.arange(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    events = WindowEvents(times, zeros, (zeros,), {"x": as_column(values, kind)})
    (rows,) = twin((program,), Interner()).step(events, len(values), True)
    return read_answers(rows.values[0])


def measure(name: str, values: Values, kind: Kind, *, final: bool) -> list[Any]:
    """MEASURES of a match of all events."""
    count = len(values)
    events = np.arange(count, dtype=np.int64)
    matches = Matches(
        ("a",), events, np.zeros(count, dtype=np.int64), np.array([count]), np.zeros(1, dtype=np.int64),
        np.ones(1, dtype=np.int64), None,
    )  # fmt: skip
    asked = np.zeros(count, dtype=np.uint8) if final else np.ones(count, dtype=np.uint8)
    asked[-1] = 1
    chosen = np.ones(count, dtype=np.uint8)
    columns = {"x": as_column(values, kind)}
    return read_answers(aggregate_matches(windowed(name, kind), chosen, asked, matches, columns, Interner()))


def agrees(name: str, kind: Kind, variable: str) -> Expression:
    """The aggregate is what column `expected` says."""
    result = find_aggregate(name).kind_of_answer(kind)
    found = Aggregate(name, "x", kind, result, (variable,))
    expected = Cell("expected", result, Position((variable,)))
    both_null = Call("and", (Call("is_null", (found,), "bool"), Call("is_null", (expected,), "bool")), "bool")
    equal = Call("coalesce", (Call("eq", (found, expected), "bool"), Constant(False, "bool")), "bool")
    return Call("or", (equal, both_null), "bool")


def make_events(values: Values, expected: Sequence[Any], kind: Kind, result: Kind) -> Events:
    times, zeros = np.arange(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    is_last = as_column([*[0] * (len(values) - 1), 1], "int")
    columns = {"x": as_column(values, kind), "expected": as_column(expected, result), "last": is_last}
    return Events(times, zeros, columns)


def define(twin: Callable[..., Any], name: str, events: Events, kind: Kind) -> int:
    """How many events the match of `a+` has, where DEFINE asks that the aggregate is as expected."""
    pattern = Repetition(Term("a"), len(events), len(events))
    program = RowPatternProgram(pattern, (("a", agrees(name, kind, "a")),))
    return len(twin(program, Interner()).step(events, len(events), final=True).events)


def seek(twin: Callable[..., Any], name: str, events: Events, kind: Kind) -> int:
    """How many events the longest match of SEQ(b[], c) has; c is the last event."""
    is_last = Call("eq", (Cell("last", "int", Position(("c",))), Constant(1, "int")), "bool")
    repeated = Step("b", 0, agrees(name, kind, "b"), repeated=True)
    program = SequenceProgram((repeated, Step("c", 0, is_last)), (), "strict")
    found = twin(program, Interner()).step(events, len(events), final=True)
    return max([0, *(found.ends - found.begins).tolist()])


@pytest.mark.parametrize(("pool", "seed"), CASES)
def test_aggregate_is_the_same_wherever_it_stands(pool: str, seed: int) -> None:
    values: Values = make_values(pool, seed)
    kind: Kind = "int" if pool == "integers" else "float"
    for name in IN_CONDITIONS:
        definition = find_aggregate(name)
        if name == "sum" and kind == "int":
            values = keep_in_range(values)
        expected = fold_prefixes(definition, values, kind)
        found = {
            "window, reference": run_window(ReferenceWindows, name, values, kind),
            "window, compiled": run_window(CompiledWindows, name, values, kind),
            "MEASURES, running": measure(name, values, kind, final=False),
        }
        for place, answers in found.items():
            wrong = [pair for pair in zip(answers, expected, strict=True) if not is_same(*pair)]
            assert not wrong, f"{name} in {place} of {values}: {wrong}"
        assert is_same(measure(name, values, kind, final=True)[-1], expected[-1]), f"{name} in MEASURES, final"
        events = make_events(values, expected, kind, definition.kind_of_answer(kind))
        for twin in (ReferenceRowPattern, CompiledRowPattern):
            assert define(twin, name, events, kind) == len(values), f"{name} in DEFINE, {twin.__name__}: {values}"
        closed = make_events([*values, 1], [*expected, None], kind, definition.kind_of_answer(kind))
        for sequence in (ReferenceSequence, CompiledSequence):
            length = seek(sequence, name, closed, kind)
            assert length == len(values) + 1, f"{name} in SEQ, {sequence.__name__}: {values}"


def keep_in_range(values: Values) -> Values:
    """Without those that would take a sum out of 64 bits."""
    kept: list[Any] = []
    for value in values:
        if value is None or abs(sum(other for other in kept if other is not None) + value) < 2**63:
            kept.append(value)
    return kept


def test_small_addends_survive_large_ones() -> None:
    values = [1e16, 1.0, -1e16, 0.5]
    assert run_window(CompiledWindows, "sum", values, "float")[-1] == 1.5
    assert measure("sum", values, "float", final=True) == [1.5]
