"""SQL expressions as immutable values: hashable, comparable, the same in every process.

    "delay" > 5 AND upper("line") = 'X'

    Operation("and", operands=(Operation("gt", this=Column("delay"), expression=Literal("5")),
                               Operation("eq", this=Operation("upper", this=Column("line")), expression=Literal(...))))

`kind` and the names of parts are those of the syntax tree of the parser; parentheses are gone, `and` and `or` are flat,
and parts that say nothing are left out, so that what means the same by its shape is the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Union

Part = Union["Scalar", tuple["Part", ...], str, int, float, bool, None]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the one input, as the input spells it."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A number as it is written, or a text."""

    text: str
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """Everything else: operators, functions, casts, whole queries.  parts: by name, in the order of names."""

    kind: str
    parts: tuple[tuple[str, Part], ...] = ()

    def part(self, name: str) -> Part:
        return next((value for known, value in self.parts if known == name), None)


Scalar = Column | Literal | Operation

TRUE = Operation("boolean", (("this", True),))
FALSE = Operation("boolean", (("this", False),))
NULL = Operation("null")


# --- making values ---------------------------------------------------------------------------------------
def operation(kind: str, **parts: Part) -> Operation:
    """An operation; parts that say nothing are left out."""
    return Operation(kind, tuple((name, value) for name, value in sorted(parts.items()) if value not in (None, ())))


def binary(kind: str, left: Scalar, right: Scalar) -> Operation:
    return Operation(kind, (("expression", right), ("this", left)))


def negate(inner: Scalar) -> Operation:
    return Operation("not", (("this", inner),))


def join_conjunction(parts: Sequence[Scalar]) -> Scalar:
    """All of them must hold; equal ones are told once."""
    return _join("and", parts)


def join_disjunction(parts: Sequence[Scalar]) -> Scalar:
    return _join("or", parts)


def _join(kind: str, parts: Sequence[Scalar]) -> Scalar:
    flat = dict.fromkeys(operand for part in parts for operand in _operands(kind, part))
    assert flat, f"{kind} of nothing"
    operands = tuple(flat)
    return operands[0] if len(operands) == 1 else Operation(kind, (("operands", operands),))


def _operands(kind: str, value: Scalar) -> tuple[Scalar, ...]:
    if isinstance(value, Operation) and value.kind == kind:
        return value.part("operands")  # type: ignore[return-value]
    return (value,)


# --- asking values ---------------------------------------------------------------------------------------
def split_conjunction(value: Scalar) -> tuple[Scalar, ...]:
    """The conditions that must all hold for the value to hold."""
    return _operands("and", value)


def split_disjunction(value: Scalar) -> tuple[Scalar, ...]:
    return _operands("or", value)


def walk(value: Part) -> Iterator[Scalar]:
    """The value and all values in it."""
    if isinstance(value, tuple):
        for part in value:
            yield from walk(part)
    elif isinstance(value, Column | Literal):
        yield value
    elif isinstance(value, Operation):
        yield value
        for _, part in value.parts:
            yield from walk(part)


@lru_cache(maxsize=65536)
def columns_of(value: Scalar) -> frozenset[str]:
    """The columns that it reads."""
    if isinstance(value, Column):
        return frozenset((value.name,))
    return frozenset(part.name for part in walk(value) if isinstance(part, Column))


def weigh_value(value: Scalar) -> float:
    """About how many instructions it takes to compute it for one event."""
    return 1.0 + 2.0 * sum(isinstance(part, Operation) for part in walk(value))


# --- changing values -------------------------------------------------------------------------------------
def substitute_columns(value: Scalar, meanings: Mapping[str, Scalar]) -> Scalar:
    """The value with each column replaced by what it means; columns without a meaning stay."""
    return replace_columns(value, lambda column: meanings.get(column.name, column))


def replace_columns(value: Scalar, meaning: Callable[[Column], Scalar]) -> Scalar:
    if isinstance(value, Column):
        return meaning(value)
    if isinstance(value, Literal) or not columns_of(value):
        return value
    changed = replace(value, parts=tuple((name, _replace_in(part, meaning)) for name, part in value.parts))
    return _join(value.kind, (changed,)) if value.kind in ("and", "or") else changed


def _replace_in(part: Part, meaning: Callable[[Column], Scalar]) -> Part:
    if isinstance(part, Column | Operation):
        return replace_columns(part, meaning)
    if isinstance(part, tuple):
        return tuple(_replace_in(each, meaning) for each in part)
    return part
