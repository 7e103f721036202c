"""Walk an expression tree and give its value: the reading of `kernel/expression.py` in plain Python.

    gt(sub(b.delay, a.delay), 60)  --evaluate, with a reader of cells-->  True | False | None

Null is None; times and durations are ints.  The tables below have one line per function, and each line can be
held against the sentence about it in `kernel/expression.py`.

Ints are Python's and do not overflow: where 64 bits do not suffice, this twin gives the number that
arithmetic gives, and a test that compares the twins must stay inside 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.aggregates.definition import FoldOptions, fold_values
from cepheid.kernel.aggregates.value_order import compare, in_order
from cepheid.kernel.expression import (
    Aggregate,
    Call,
    Cell,
    Classifier,
    Constant,
    Expression,
    Fact,
    HostCall,
    Kind,
    Position,
)

Value = bool | int | float | str
Row = Mapping[str, Value | None]
Ask = Callable[[HostCall, Sequence[Any], "Path"], Value | None]


def evaluate(expression: Expression, read: Callable[[Cell | Fact], Value | None]) -> Value | None:
    """The value of the expression, with `read` giving the value of each cell and fact; None is null."""
    match expression:
        case Constant(value=value, kind=kind):
            return fit_kind(value, kind)
        case Call(function=function, arguments=arguments, kind=kind):
            return fit_kind(apply_function(function, [evaluate(part, read) for part in arguments]), kind)
    return fit_kind(read(expression), expression.kind)


def fit_kind(value: Value | None, kind: Kind) -> Value | None:
    """An int where a float is declared becomes one: `coalesce(1, 0.5)` is 1.0, not 1."""
    return float(value) if kind == "float" and isinstance(value, int) else value


def apply_function(function: str, values: Sequence[Value | None]) -> Value | None:
    if function in OF_NULLS_TOO:
        return OF_NULLS_TOO[function](values)
    if any(value is None for value in values):
        return None
    return OF_VALUES[function](*values)


def divide(left: float, right: float) -> float | None:
    return None if right == 0 else float(left) / float(right)


def take_remainder(left: float, right: float) -> float | None:
    """What is left of `left`, with its sign."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) % abs(right) * (-1 if left < 0 else 1)
    # math.fmod refuses an infinite dividend; IEEE 754 says NaN.
    return math.nan if math.isinf(left) else math.fmod(left, right)


def divide_whole(left: int, right: int) -> int | None:
    """Cut towards zero."""
    return None if right == 0 else abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def round_away(value: float, digits: int) -> float:
    """A half goes away from zero, as SQL wants and Python does not."""
    scale = 10.0 ** abs(digits)
    scaled = value * scale if digits >= 0 else value / scale
    if not math.isfinite(scaled) or abs(scaled) >= 2.0**52:
        return value
    whole = math.copysign(math.floor(abs(scaled) + 0.5), scaled)
    return whole / scale if digits >= 0 else whole * scale


def apply_numpy(function: Callable[[float], Any], value: float) -> float:
    """IEEE 754 throughout, where Python's math raises errors."""
    with np.errstate(all="ignore"):
        return float(function(float(value)))


FROM_NUMPY: dict[str, Callable[[float], Any]] = {
    "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "ln": np.log, "log2": np.log2, "log10": np.log10, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "radians": np.radians,
    "degrees": np.degrees,
}  # fmt: skip


def all_hold(values: Sequence[Value | None]) -> bool | None:
    """Three-valued and: one false decides, else one null leaves it open."""
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def any_holds(values: Sequence[Value | None]) -> bool | None:
    """Three-valued or: one true decides, else one null leaves it open."""
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


def drop_nulls(values: Sequence[Value | None]) -> list[Value]:
    return [value for value in values if value is not None]


OF_NULLS_TOO: dict[str, Callable[[Sequence[Value | None]], Value | None]] = {
    "and": all_hold,
    "or": any_holds,
    "is_null": lambda values: values[0] is None,
    "if": lambda values: values[1] if values[0] is True else values[2],
    "coalesce": lambda values: next(iter(drop_nulls(values)), None),
    "least": lambda values: min(drop_nulls(values), key=in_order, default=None),
    "greatest": lambda values: max(drop_nulls(values), key=in_order, default=None),
}

OF_VALUES: dict[str, Callable[..., Value | None]] = {
    "eq": lambda left, right: compare(left, right) == 0,
    "ne": lambda left, right: compare(left, right) != 0,
    "lt": lambda left, right: compare(left, right) < 0,
    "le": lambda left, right: compare(left, right) <= 0,
    "gt": lambda left, right: compare(left, right) > 0,
    "ge": lambda left, right: compare(left, right) >= 0,
    "not": lambda value: not value,
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "div": divide,
    "mod": take_remainder,
    "neg": lambda value: -value,
    "abs": abs,
    "to_float": float,
    "floor": lambda value: value if isinstance(value, int) or not math.isfinite(value) else float(math.floor(value)),
    "ceil": lambda value: value if isinstance(value, int) or not math.isfinite(value) else float(math.ceil(value)),
    "trunc": lambda value: value if isinstance(value, int) or not math.isfinite(value) else float(math.trunc(value)),
    "round": lambda value, digits=0: value if isinstance(value, int) else round_away(value, digits),
    "sign": lambda value: value if value != value else type(value)((value > 0) - (value < 0)),
    "div_whole": divide_whole,
    "to_seconds": lambda value: value / 1e6,
    "power": lambda left, right: float(np.power(float(left), float(right))),
    "atan2": lambda left, right: float(np.arctan2(float(left), float(right))),
    **{name: partial(apply_numpy, function) for name, function in FROM_NUMPY.items()},
}


@dataclass(frozen=True, slots=True)
class Path:
    """The match so far: its events, the variable of each, and the number that it will have."""

    events: Sequence[Any]
    labels: Sequence[str]
    number: int


@dataclass(frozen=True, slots=True)
class Bindings:
    """The match so far: row `bound[i]` is bound to variable `labels[i]`, the row under test last.

    `number` is that which the match will have; `ask` is the general evaluator, given the events of its arguments.
    """

    rows: Sequence[Row]
    bound: Sequence[int]
    labels: Sequence[str]
    number: int = 0
    ask: Ask | None = None

    def read(self, leaf: Cell | Fact) -> Value | None:
        match leaf:
            case Cell(column=column, position=position):
                row = find_row(position, self.bound, self.labels)
                return self.rows[row][column] if row is not None and 0 <= row < len(self.rows) else None
            case Classifier(position=position):
                row = find_row(position, self.bound, self.labels)
                return self.labels[self.bound.index(row)] if row is not None and row in self.bound else None
            case Aggregate(variables=variables, before=before):
                count = len(self.bound) - 1 if before else len(self.bound)
                chosen = [self.bound[at] for at in range(count) if not variables or self.labels[at] in variables]
                return self.aggregate(leaf, chosen)
            case HostCall(arguments=arguments):
                assert self.ask is not None, "somebody evaluates what the kernel cannot"
                places = [find_row(position, self.bound, self.labels) for _, position in arguments]
                known = [place if place is not None and 0 <= place < len(self.rows) else None for place in places]
                events = [-1 if place is None else self.rows[place]["_event"] for place in known]
                path = [self.rows[place]["_event"] for place in self.bound]
                return self.ask(leaf, events, Path(path, self.labels, self.number))
        return self.number

    def aggregate(self, wanted: Aggregate, chosen: Sequence[int]) -> Value | None:
        """The aggregate over some rows."""
        values = [1 if wanted.column is None else self.rows[row][wanted.column] for row in chosen]
        measures = None if wanted.by is None else [self.rows[row][wanted.by] for row in chosen]
        options = FoldOptions(wanted.kind, wanted.column_kind)
        found: Value | None = fold_values(find_aggregate(wanted.function), values, measures, options, wanted.distinct)
        return found


def find_row(position: Position, bound: Sequence[int], labels: Sequence[str]) -> int | None:
    """Where the position points: None, or an index that may lie outside the partition."""
    indexes = range(len(bound)) if position.pick == "first" else reversed(range(len(bound)))
    candidates = (bound[index] for index in indexes if not position.variables or labels[index] in position.variables)
    row = next(islice(candidates, position.offset, None), None)
    return None if row is None else row + position.shift
