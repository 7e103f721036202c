"""Flatten expressions into register code: one row of numbers per operation.

    b.delay > a.delay + 60      0  load_float   r0  column 0  position 0
                                1  load_float   r1  column 0  position 1
                                2  const_float  r2  constant 0
                                3  add_float    r1  r1  r2
                                4  gt_float     r0  r0  r1

Every register has an integer half, a float half and a validity flag; the kind of an expression, known here,
says which half an operation uses.  Strings are the numbers of an interner; to order them, `rank` looks
their places up.  Facts (aggregates, classifiers, the number of the match) are numbered too: the matcher computes
those that a condition reads before it asks for the condition.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Interner
from cepheid.kernel.expression import (
    FLOAT_FUNCTIONS,
    FLOAT_PAIRS,
    ROUNDING,
    Aggregate,
    Call,
    Cell,
    Classifier,
    Constant,
    Expression,
    Fact,
    HostCall,
    Kind,
    MatchNumber,
    Position,
)

_TYPED = ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "mod", "neg", "abs", "coalesce", "if", "least",
          "greatest", "load", "const", "fact", "sign")  # fmt: skip
_UNTYPED = ("and", "or", "not", "is_null", "div", "to_float", "rank", "unrank", "null", "div_whole", "to_seconds",
            "floor", "ceil", "round", "trunc", *FLOAT_FUNCTIONS, *FLOAT_PAIRS)  # fmt: skip

OPERATIONS: dict[str, int] = {
    name: number
    for number, name in enumerate(
        [f"{name}_int" for name in _TYPED] + [f"{name}_float" for name in _TYPED] + list(_UNTYPED)
    )
}


@dataclass(frozen=True, slots=True)
class RegisterCode:
    """Programs for several conditions, one behind the other.

    rows: int32[n, 5] (operation, target, three operands); bounds: int32[k + 1]: condition i is
    rows[bounds[i]:bounds[i + 1]] and leaves its answer in register 0.
    """

    rows: npt.NDArray[np.int32]
    bounds: npt.NDArray[np.int32]
    integers: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float64]
    registers: int
    uses_ranks: bool


@dataclass
class CodeWriter:
    """Collects the columns and positions that conditions read, and their code."""

    interner: Interner
    integer_columns: dict[str, int] = field(default_factory=dict)
    float_columns: dict[str, int] = field(default_factory=dict)
    string_columns: set[str] = field(default_factory=set)
    positions: dict[Position, int] = field(default_factory=dict)
    facts: dict[Fact, int] = field(default_factory=dict)
    _rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    _bounds: list[int] = field(default_factory=lambda: [0])
    _integers: list[int] = field(default_factory=list)
    _floats: list[float] = field(default_factory=list)
    _registers: int = 1
    _uses_ranks: bool = False

    def add_condition(self, condition: Expression | None) -> None:
        """Append one condition; None is always true and has no code."""
        if condition is not None:
            self._write(condition, 0)
        self._bounds.append(len(self._rows))

    def finish(self) -> RegisterCode:
        return RegisterCode(
            rows=np.array(self._rows, dtype=np.int32).reshape(-1, 5),
            bounds=np.array(self._bounds, dtype=np.int32),
            integers=np.array(self._integers or [0], dtype=np.int64),
            floats=np.array(self._floats or [0.0], dtype=np.float64),
            registers=self._registers,
            uses_ranks=self._uses_ranks,
        )

    def _emit(self, name: str, target: int, first: int = 0, second: int = 0, third: int = 0) -> None:
        self._rows.append((OPERATIONS[name], target, first, second, third))
        self._registers = max(self._registers, target + 1)

    def _write(self, expression: Expression, target: int) -> None:
        """Leave the value in `target`; registers from target on are free to use."""
        match expression:
            case Constant():
                self._write_constant(expression, target)
            case Cell():
                self._write_cell(expression, target)
            case Call():
                self._write_call(expression, target)
            case Classifier() | MatchNumber() | Aggregate() | HostCall():
                self._write_fact(expression, target)

    def _write_constant(self, constant: Constant, target: int) -> None:
        value = constant.value
        if value is None:
            self._emit("null", target)
        elif constant.kind == "float":
            self._floats.append(float(value))
            self._emit("const_float", target, len(self._floats) - 1)
        else:
            self._integers.append(self.interner.number_of(value) if isinstance(value, str) else int(value))
            self._emit("const_int", target, len(self._integers) - 1)

    def add_column(self, name: str, kind: Kind) -> int:
        """The number of a column in its half of the cells."""
        columns = self.float_columns if kind == "float" else self.integer_columns
        if kind == "string":
            self.string_columns.add(name)
        return columns.setdefault(name, len(columns))

    def _write_fact(self, fact: Fact, target: int) -> None:
        if isinstance(fact, Classifier):
            self.positions.setdefault(fact.position, len(self.positions))
        elif isinstance(fact, HostCall):
            for _, position in fact.arguments:
                self.positions.setdefault(position, len(self.positions))
        elif isinstance(fact, Aggregate):
            assert fact.function != "array_agg", "a list is no value of a condition"
            for name, kind in ((fact.column, fact.column_kind), (fact.by, fact.by_kind)):
                if name is not None and kind is not None:
                    self.add_column(name, kind)
        number = self.facts.setdefault(fact, len(self.facts))
        self._emit("fact_float" if fact.kind == "float" else "fact_int", target, number)

    def _write_cell(self, cell: Cell, target: int) -> None:
        column = self.add_column(cell.column, cell.kind)
        position = self.positions.setdefault(cell.position, len(self.positions))
        self._emit("load_float" if cell.kind == "float" else "load_int", target, column, position)

    def _write_call(self, call: Call, target: int) -> None:
        arguments = _unify_numbers(call)
        if call.function in ROUNDING and call.function != "sign" and arguments[0].kind != "float":
            self._write(arguments[0], target)  # whole already
            return
        if call.function in ("and", "or", "coalesce", "least", "greatest") and len(arguments) > 2:
            *rest, last = arguments
            arguments = (Call(call.function, tuple(rest), call.kind), last)
        for offset, argument in enumerate(arguments):
            self._write(argument, target + offset)
            if call.function in ("lt", "le", "gt", "ge", "least", "greatest") and argument.kind == "string":
                self._emit("rank", target + offset, target + offset)
                self._uses_ranks = True
        operands = [target + offset for offset in range(len(arguments))] + [0, 0]
        if call.function == "round" and len(arguments) == 1:
            operands[1] = -1
        self._emit(_operation_name(call, arguments), target, *operands[:3])
        if call.function in ("least", "greatest") and call.kind == "string":
            self._emit("unrank", target, target)


def _operation_name(call: Call, arguments: tuple[Expression, ...]) -> str:
    if call.function in _UNTYPED:
        return call.function
    kind: Kind = arguments[-1].kind
    return f"{call.function}_{'float' if kind == 'float' else 'int'}"


def _unify_numbers(call: Call) -> tuple[Expression, ...]:
    """Where a float takes part, ints become floats first; `div` works on floats always."""
    numbers = call.arguments[1:] if call.function == "if" else call.arguments
    as_float = call.function in ("div", *FLOAT_FUNCTIONS, *FLOAT_PAIRS) or (
        call.function != "is_null" and any(argument.kind == "float" for argument in numbers)
    )
    if not as_float or call.function in ("and", "or", "not", "to_float"):
        return call.arguments
    if call.function == "round":  # the number of digits stays whole
        return call.arguments
    return tuple(
        Call("to_float", (argument,), "float") if argument.kind == "int" else argument for argument in call.arguments
    )
