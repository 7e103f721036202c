"""FIRST, LAST, PREV, NEXT: from the way they are written to a Position.

    b.x                 the last event bound to b
    FIRST(b.x, 1)       the second one
    PREV(x)             the event before the current one
    PREV(LAST(b.x), 2)  two events before the last b

Navigation may stand around an expression: LAST(b.x - b.y) reads both columns at the last b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from cepheid.errors import InvalidQuery
from cepheid.kernel.expression import CURRENT, Position
from cepheid.language.expressions.scope import CONSTANT, Variables
from cepheid.language.parsing.places import fold_identifier, span_of

PHYSICAL = {"PREV": -1, "NEXT": 1}
MOST_STEPS = 1_000_000_000  # so that sums of them stay far inside of 64 bits


@dataclass(frozen=True, slots=True)
class Path:
    """The navigation functions around the place where we are."""

    pick: Literal["first", "last"] = "last"
    offset: int = 0
    shift: int = 0
    logical: bool = False  # inside FIRST or LAST


def enter_navigation(node: exp.Expr, path: Path) -> tuple[exp.Expr, Path] | None:
    """What is inside a navigation function, and the path there; None if the node is none."""
    if isinstance(node, exp.First | exp.Last):
        if path.logical:
            raise InvalidQuery("FIRST and LAST cannot be nested", span=span_of(node), hint="put PREV or NEXT around")
        _refuse_distinct(node.this, node)
        offset = read_offset(node.args.get("expression"), 0, node)
        pick: Literal["first", "last"] = "first" if isinstance(node, exp.First) else "last"
        _check_one_variable(node)
        return node.this, replace(path, pick=pick, offset=offset, logical=True)
    if isinstance(node, exp.Anonymous) and node.name.upper() in PHYSICAL:
        if path.logical:
            raise InvalidQuery(
                f"{node.name.upper()} cannot stand inside FIRST or LAST",
                span=span_of(node),
                hint=f"write {node.name.upper()}(LAST(...))",
            )
        arguments = node.expressions
        name = node.name.upper()
        if not 1 <= len(arguments) <= 2:
            hint = f"write {name}(b.x) or {name}(b.x, 2)"
            raise InvalidQuery(f"{name} takes a value and an optional offset", span=span_of(node), hint=hint)
        _refuse_distinct(arguments[0], node)
        steps = read_offset(arguments[1] if len(arguments) == 2 else None, 1, node)
        if path.shift * PHYSICAL[name] < 0:
            hint = (
                "the row between them may be missing: write one of them, with how many rows it goes, as in PREV(b.x, 2)"
            )
            raise InvalidQuery("PREV and NEXT cannot stand inside one another", span=span_of(node), hint=hint)
        _check_one_variable(node)
        return arguments[0], replace(path, shift=path.shift + PHYSICAL[name] * steps)
    return None


def _refuse_distinct(argument: exp.Expr, node: exp.Expr) -> None:
    if isinstance(argument, exp.Distinct):
        name = node.name.upper() if isinstance(node, exp.Anonymous) else node.key.upper()
        raise InvalidQuery(
            f"DISTINCT has no meaning in {name}, which reads one row",
            span=span_of(node),
            hint="leave DISTINCT out",
        )


def _check_one_variable(node: exp.Expr) -> None:
    """A navigation function leads to one row, so that all it reads must be of one variable."""
    name = node.name if isinstance(node, exp.Anonymous) else node.key
    columns = [column for column in node.find_all(exp.Column) if not column.name.startswith(CONSTANT)]
    owners = {owner_of(column) for column in columns}
    if any(map(is_universal, node.walk())):
        owners.add("")
    inner = node.this if isinstance(node, exp.First | exp.Last) else node.expressions[0]
    if inner.find(exp.Column, exp.AggFunc, exp.Anonymous, exp.Query) is None:
        raise InvalidQuery(
            f'{name.upper()} reads a row, and "{inner.sql()}" is of none',
            span=span_of(inner) or span_of(node),
            hint=f"write {inner.sql()} alone",
        )
    if len(owners) > 1:
        raise InvalidQuery(
            f"the columns in {name.upper()} are of different variables",
            span=span_of(node),
            hint="put each of them into a call of its own",
        )


def owner_of(column: exp.Column) -> str:
    """The variable a column is of, empty if it has none; CLASSIFIER(b) is of b."""
    if is_variable(column):
        return fold_identifier(column)
    return fold_identifier(column.args["table"]) if column.table else ""


def is_variable(column: exp.Expr) -> bool:
    """Is it the b of CLASSIFIER(b)?"""
    around = column.parent
    return isinstance(around, exp.Anonymous) and around.name.upper() == "CLASSIFIER"


def is_universal(node: exp.Expr) -> bool:
    """CLASSIFIER() without a variable is of every row."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "CLASSIFIER" and not node.expressions


def rebuild(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy of the node whose children are changed."""
    copy = node.copy()
    for original, child in zip(list(node.iter_expressions()), list(copy.iter_expressions()), strict=True):
        child.replace(change(original))
    return copy


def in_parentheses(node: exp.Expr) -> exp.Expr:
    """What stood inside the parentheses of a function keeps its own when the function goes."""
    return node if isinstance(node, exp.Column | exp.Paren) else exp.Paren(this=node)


def read_offset(written: exp.Expr | None, default: int, around: exp.Expr) -> int:
    if written is None:
        return default
    if isinstance(written, exp.Literal) and not written.is_string and written.this.isdigit():
        if int(written.this) > MOST_STEPS:
            raise InvalidQuery(
                f'the offset "{written.this}" is too large',
                span=span_of(written) or span_of(around),
                hint=f"at most {MOST_STEPS} rows",
            )
        return int(written.this)
    raise InvalidQuery(
        f'the offset "{written.sql()}" is not a whole number from 0 on',
        span=span_of(written) or span_of(around),
        hint="write the number itself, as in PREV(b.x, 2)",
    )


def position_of(column: exp.Column, path: Path, variables: Variables) -> Position:
    """Where a column that is written at the end of a path is read; what is the same in every row, in the row itself."""
    if column.name.startswith(CONSTANT):
        return CURRENT
    qualifier = column.args.get("table")
    members = variables.resolve(qualifier) if qualifier is not None else ()
    return Position(members, path.pick, path.offset, path.shift)


def position_of_classifier(call: exp.Anonymous, path: Path, variables: Variables) -> Position:
    """Where the row is whose variable CLASSIFIER() or CLASSIFIER(b) tells."""
    arguments = call.expressions
    if len(arguments) > 1 or any(not isinstance(written, exp.Column) or written.table for written in arguments):
        raise InvalidQuery(
            "CLASSIFIER takes one variable, or none", span=span_of(call), hint="write CLASSIFIER() or CLASSIFIER(b)"
        )
    members = variables.resolve(arguments[0]) if arguments else ()
    return Position(members, path.pick, path.offset, path.shift)


def check_about_match(call: exp.Anonymous, path: Path) -> None:
    """MATCH_NUMBER() and TIMED_OUT() are about the match, not about one of its rows."""
    name = call.name.upper()
    if call.expressions:
        raise InvalidQuery(f"{name} takes no argument", span=span_of(call), hint=f"write {name}()")
    if path != Path():
        hint = f"write {name}() alone: it is the same for all rows of a match"
        raise InvalidQuery(f"{name}() cannot stand inside FIRST, LAST, PREV or NEXT", span=span_of(call), hint=hint)
