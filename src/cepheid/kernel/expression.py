"""Conditions and values over the events of a match: what both twins of the kernel evaluate.

An expression reads *cells*.  A cell is a column at a position, and a position is told relative to the match
so far ("the last event of b", "the second of a", "the event before the last one").  Reading is all the two
twins share: `reference` walks this tree, `compiled` flattens it into register code.

Values are null or of one kind:

    bool | int | float | string | time (microseconds since 1970) | duration (microseconds)

Meaning of functions, the same in Spark SQL, DuckDB and here:

- Null in, null out, except: `and`/`or` are three-valued, `is_null` is never null, `coalesce` takes the first
  value that is not null, `if` takes a null condition as false.
- `eq ne lt le gt ge` compare two of one kind (int meets float as float).  NaN equals NaN and is greater than
  every other number.  Strings compare by their UTF-8 bytes.
- `add sub mul` of ints stay int (64 bit); with a float, float.  `div` is always float, and null when the
  divisor is zero.  `mod` takes the sign of the dividend, null when the divisor is zero.  `neg abs` keep the kind.
- time - time gives duration; time +- duration gives time; duration +- duration gives duration.
- `least greatest` skip nulls and are null only if all are.  `to_float` turns an int into a float.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bool", "int", "float", "string", "time", "duration"]

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
LOGIC = ("and", "or", "not", "is_null")
ARITHMETIC = ("add", "sub", "mul", "div", "mod", "neg", "abs")
CHOICES = ("coalesce", "if", "least", "greatest", "to_float")
FUNCTIONS = COMPARISONS + LOGIC + ARITHMETIC + CHOICES


@dataclass(frozen=True, slots=True)
class Position:
    """Which event of the match so far a cell is read from.

    Among the events bound to one of `variables` (any event of the match if empty), counting from the `pick`
    end, the one after `offset` others; from there `shift` events further in the partition (negative: earlier),
    whether they belong to the match or not.  The event being tested counts as bound to the variable under
    test.  A position that does not exist reads as null.
    """

    variables: tuple[str, ...] = ()
    pick: Literal["first", "last"] = "last"
    offset: int = 0
    shift: int = 0


CURRENT = Position()


@dataclass(frozen=True, slots=True)
class Constant:
    value: bool | int | float | str | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Cell:
    column: str
    kind: Kind
    position: Position = CURRENT


@dataclass(frozen=True, slots=True)
class Call:
    """One of FUNCTIONS applied; `and`, `or`, `coalesce`, `least`, `greatest` take two arguments or more."""

    function: str
    arguments: tuple[Expression, ...]
    kind: Kind

    def __post_init__(self) -> None:
        assert self.function in FUNCTIONS, f"the kernel has no function {self.function!r}"


Expression = Constant | Cell | Call


def list_cells(expression: Expression) -> list[Cell]:
    """Every cell the expression reads, in order of appearance, without repeats."""
    found: dict[Cell, None] = {}
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Cell):
            found[node] = None
        elif isinstance(node, Call):
            stack.extend(reversed(node.arguments))
    return list(found)


def show_expression(expression: Expression) -> str:
    """One line for people: `gt(b.delay, a.delay)`."""
    match expression:
        case Constant(value=value):
            return repr(value)
        case Cell(column=column, position=position):
            return show_cell(column, position)
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(show_expression(argument) for argument in arguments)})"
    raise AssertionError(f"not an expression: {expression!r}")


def show_cell(column: str, position: Position) -> str:
    """`LAST(b.x, 2)` and the like; the plain forms are shortened."""
    name = f"{'|'.join(position.variables)}.{column}" if position.variables else column
    if position.pick == "first":
        name = f"FIRST({name}, {position.offset})" if position.offset else f"FIRST({name})"
    elif position.offset:
        name = f"LAST({name}, {position.offset})"
    if position.shift < 0:
        return f"PREV({name}, {-position.shift})"
    if position.shift > 0:
        return f"NEXT({name}, {position.shift})"
    return name


def split_conjunction(condition: Expression | None) -> list[Expression]:
    """The parts that must all be true for the condition to be true; none if there is no condition."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "and":
        return [part for argument in condition.arguments for part in split_conjunction(argument)]
    return [condition]


def join_conjunction(parts: list[Expression]) -> Expression | None:
    """The condition that all parts are true; None if there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return Call("and", tuple(parts), "bool")
