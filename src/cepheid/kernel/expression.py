"""Conditions and values over the events of a match: what both twins of the kernel evaluate.

An expression reads *cells*.  A cell is a column at a position, and a position is given relative to the match
so far ("the last event of b", "the second of a", "the event before the last one").  Besides cells it may read
*facts* about the match so far: an aggregate over its events, the variable of one of them, the number of the
match.  Reading is all the two twins share: `reference` walks this tree, `compiled` flattens it into register
code.

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
- `floor ceil round trunc sign` keep the kind; `round` goes away from zero at a half and takes an optional number
  of digits.  The other numeric functions are float and follow IEEE 754: sqrt(-1) is NaN, ln(0) is -infinity.
- `div_whole` divides ints or durations and cuts towards zero (null when the divisor is zero); `to_seconds`
  turns a duration into a float.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Scalar, columns_of

Kind = Literal["bool", "int", "float", "string", "time", "duration"]

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
LOGIC = ("and", "or", "not", "is_null")
ARITHMETIC = ("add", "sub", "mul", "div", "mod", "neg", "abs")
CHOICES = ("coalesce", "if", "least", "greatest", "to_float")
ROUNDING = ("floor", "ceil", "round", "trunc", "sign")
FLOAT_FUNCTIONS = (
    "sqrt", "cbrt", "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees",
)  # fmt: skip
FLOAT_PAIRS = ("power", "atan2")
TIME_FUNCTIONS = ("div_whole", "to_seconds")
FUNCTIONS = COMPARISONS + LOGIC + ARITHMETIC + CHOICES + ROUNDING + FLOAT_FUNCTIONS + FLOAT_PAIRS + TIME_FUNCTIONS


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


@dataclass(frozen=True, slots=True)
class Classifier:
    """The name of the variable that the event at a position is bound to; null outside the match."""

    position: Position = CURRENT
    kind: Kind = "string"


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """The number that the match under way will have in its partition."""

    kind: Kind = "int"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One of kernel/aggregates/ over the events so far that are bound to one of `variables` (all of them if empty).

    The event being tested counts as bound to the variable under test, unless `before`: then it is left out
    (`avg(b[..i-1].x)`).  Nulls of `column` are left out; column None counts events.  `by` is the second argument
    of min_by and max_by: of equals the earliest event is taken.  `distinct` takes equal values once.
    Of no values, count is 0 and all others are null; so are stddev_samp and var_samp of one.
    `array_agg` (MEASURES only) keeps nulls.  Kinds mean nothing outside conditions: MEASURES aggregate any type.
    """

    function: str
    column: str | None
    column_kind: Kind | None = None
    kind: Kind = "int"
    variables: tuple[str, ...] = ()
    by: str | None = None
    by_kind: Kind | None = None
    distinct: bool = False
    before: bool = False


@dataclass(frozen=True, slots=True)
class RowValue:
    """What is computed of one row of a match: `value` is over columns of the event, of which it reads `columns`,
    `_classifier`, its variable, and `_match_number`."""

    value: Scalar
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """An aggregate over the rows of a match that the kernel cannot compute while it searches: it is of values that
    only a match has (`array_agg(CLASSIFIER())`), or a SQL engine is asked for it.

    `function`: as in kernel/aggregates, or one that execution/row_aggregates.py knows; over the rows so far that are
    bound to one of `variables` (all if empty) and for which `condition` is true, in their order, or in that of `order`
    (value, descending, nulls first).  parameters: literals behind its arguments; python: a function of the user.
    type: of the answer.
    """

    function: str
    arguments: tuple[RowValue, ...]
    type: pa.DataType
    variables: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    distinct: bool = False
    order: tuple[tuple[RowValue, bool, bool], ...] = ()
    condition: RowValue | None = None
    python: PythonAggregate | None = None

    def read_values(self) -> list[RowValue]:
        more = [value for value, _, _ in self.order]
        return [*self.arguments, *more, *([] if self.condition is None else [self.condition])]

    def read_columns(self) -> list[str]:
        return [column for value in self.read_values() for column in value.columns]

    def reads_of_match(self, name: str) -> bool:
        """Is it of `_classifier`, or of `_match_number`?"""
        return any(name in columns_of(value.value) for value in self.read_values())


@dataclass(frozen=True, slots=True)
class HostCall:
    """A value over several events that the kernel has no function for: a SQL engine is asked for it.

    `value` names the cells `_0`, `_1`, ...; `arguments` says (column, position) for each.  Columns may be of any type.
    `facts`: what it reads about the match so far besides cells, named `_f0`, `_f1`, ...
    """

    value: Scalar
    arguments: tuple[tuple[str, Position], ...]
    kind: Kind
    facts: tuple[Classifier | MatchNumber | HostAggregate, ...] = ()


Fact = Classifier | MatchNumber | Aggregate | HostCall
Expression = Constant | Cell | Call | Classifier | MatchNumber | Aggregate | HostCall


def list_leaves(expression: Expression) -> list[Cell | Fact]:
    """Every cell and every fact that the expression reads, in order of appearance, without repeats."""
    found: dict[Cell | Fact, None] = {}
    stack: list[Expression] = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Call):
            stack.extend(reversed(node.arguments))
        elif not isinstance(node, Constant):
            found[node] = None
    return list(found)


def list_cells(expression: Expression) -> list[Cell]:
    """Every cell the expression reads, in order of appearance, without repeats; those inside facts are not."""
    return [leaf for leaf in list_leaves(expression) if isinstance(leaf, Cell)]


def list_facts(expression: Expression) -> list[Fact]:
    return [leaf for leaf in list_leaves(expression) if not isinstance(leaf, Cell)]


def list_columns(expression: Expression) -> dict[str, Kind]:
    """Every column the expression reads, inside aggregates too, and its kind."""
    found: dict[str, Kind] = {}
    for leaf in list_leaves(expression):
        if isinstance(leaf, Cell):
            found[leaf.column] = leaf.kind
        elif isinstance(leaf, Aggregate):
            pairs = ((leaf.column, leaf.column_kind), (leaf.by, leaf.by_kind))
            found |= {column: kind for column, kind in pairs if column is not None and kind is not None}
    return found


def list_host_columns(expression: Expression) -> list[str]:
    """Every column that the general evaluator reads."""
    calls = [leaf for leaf in list_leaves(expression) if isinstance(leaf, HostCall)]
    found = [column for call in calls for column, _ in call.arguments]
    found += [column for call in calls for fact in list_row_aggregates(call) for column in fact.read_columns()]
    return list(dict.fromkeys(found))


def reads_match_number(call: HostCall) -> bool:
    return any(isinstance(fact, MatchNumber) for fact in call.facts) or any(
        aggregate.reads_of_match("_match_number") for aggregate in list_row_aggregates(call)
    )


def reads_classifier(call: HostCall) -> bool:
    return any(isinstance(fact, Classifier) for fact in call.facts) or any(
        aggregate.reads_of_match("_classifier") for aggregate in list_row_aggregates(call)
    )


def list_row_aggregates(call: HostCall) -> list[HostAggregate]:
    return [fact for fact in call.facts if isinstance(fact, HostAggregate)]


def list_variables(expression: Expression) -> set[str]:
    """Every variable the expression names."""
    found: set[str] = set()
    for leaf in list_leaves(expression):
        if isinstance(leaf, Aggregate):
            found.update(leaf.variables)
        elif isinstance(leaf, HostCall):
            found.update(variable for _, position in leaf.arguments for variable in position.variables)
            for fact in leaf.facts:
                found.update(fact.position.variables if isinstance(fact, Classifier) else ())
                found.update(fact.variables if isinstance(fact, HostAggregate) else ())
        elif isinstance(leaf, Cell | Classifier):
            found.update(leaf.position.variables)
    return found


def show_expression(expression: Expression) -> str:
    """One line for people: `gt(b.delay, a.delay)`."""
    match expression:
        case Constant(value=value):
            return repr(value)
        case Cell(column=column, position=position):
            return show_cell(column, position)
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(show_expression(argument) for argument in arguments)})"
        case Classifier(position=position):
            return show_cell("CLASSIFIER()", position)
        case MatchNumber():
            return "MATCH_NUMBER()"
        case Aggregate():
            return show_aggregate(expression)
        case HostCall(value=value, arguments=cells, facts=facts):
            told = [f"_{number}={show_cell(*cell)}" for number, cell in enumerate(cells)]
            told += [f"_f{number}={_show_fact(fact)}" for number, fact in enumerate(facts)]
            return f"sql({show_scalar(value)}; {', '.join(told)})"
    raise AssertionError(f"not an expression: {expression!r}")


def _show_fact(fact: Classifier | MatchNumber | HostAggregate) -> str:
    return show_row_aggregate(fact) if isinstance(fact, HostAggregate) else show_expression(fact)


def show_row_aggregate(aggregate: HostAggregate) -> str:
    """`array_agg(b: _classifier)`."""
    told = [show_scalar(argument.value) for argument in aggregate.arguments] + list(aggregate.parameters)
    owner = f"{'|'.join(aggregate.variables)}: " if aggregate.variables else ""
    shown = f"{aggregate.function}({owner}{'DISTINCT ' if aggregate.distinct else ''}{', '.join(told) or '*'}"
    if aggregate.order:
        terms = [
            f"{show_scalar(value.value)}{' DESC' if descending else ''}" for value, descending, _ in aggregate.order
        ]
        shown += f" ORDER BY {', '.join(terms)}"
    where = "" if aggregate.condition is None else f" FILTER ({show_scalar(aggregate.condition.value)})"
    return f"{shown}){where}"


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


def show_aggregate(aggregate: Aggregate) -> str:
    """`avg(b.x)`, or `avg(b[..i-1].x)` where the event under test is left out."""
    owner = "|".join(aggregate.variables) + ("[..i-1]" if aggregate.before else "")
    names = [f"{owner}.{name}" if owner else name for name in (aggregate.column or "*", aggregate.by) if name]
    return f"{aggregate.function}({'DISTINCT ' if aggregate.distinct else ''}{', '.join(names)})"


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
