"""Between syntax trees and values: what the parser read becomes a value, and a value becomes the SQL of a host.

    exp.GT(this=exp.Column("delay"), expression=exp.Literal("5"))  <=>  Operation("gt", this=..., expression=...)

Values have no parentheses: they are put back where an operator stands under another one.

A value is in the dialect of its query (`source`).  Those of Trino's are translated for the host; those of Spark's are
for Spark, which is given them as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.errors import ParseError, UnsupportedError
from sqlglot.parser import Parser

from cepheid.errors import InvalidQuery
from cepheid.language.parsing.dialect import CepheidSpark, SparkText, TrinoText
from cepheid.language.parsing.own_functions import write_own_functions
from cepheid.scalars.value import (
    Column,
    Literal,
    Operation,
    Part,
    Scalar,
    join_conjunction,
    join_disjunction,
    split_conjunction,
    split_disjunction,
)
from cepheid.settings import DialectName

_WRITERS = {"trino": TrinoText, "spark": SparkText}
DIALECT: DialectName = "trino"  # of values and texts between our parts, if nothing else is said
_OPERATORS = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Bracket, exp.AtTimeZone, exp.Interval, exp.Collate)
_LOOSE = (exp.Binary, exp.Not, exp.Between, exp.In, exp.AtTimeZone, exp.Lambda, exp.Collate)
_TIGHT = (exp.Dot, exp.Escape, exp.Pow)  # binary for the parser, but not written as operators between operands

_SUMS = (exp.Add, exp.Sub)
_CHAINS: Mapping[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.Add: _SUMS, exp.Sub: _SUMS, exp.Mul: (exp.Mul,), exp.DPipe: (exp.DPipe,),
}  # fmt: skip


# --- from the tree ---------------------------------------------------------------------------------------
def read_value(tree: exp.Expr) -> Scalar:
    """The tree as a value."""
    match tree:
        case exp.Paren(this=inner):
            return read_value(inner)
        case exp.Column() if not tree.table and not tree.args.get("db") and isinstance(tree.this, exp.Identifier):
            return Column(tree.name)
        case exp.Literal(this=text):
            return Literal(text, tree.is_string)
        case exp.And():
            return join_conjunction([read_value(operand) for operand in tree.flatten()])
        case exp.Or():
            return join_disjunction([read_value(operand) for operand in tree.flatten()])
    parts = ((name, _read_part(value)) for name, value in sorted(tree.args.items()) if _says_something(value))
    return Operation(tree.key, tuple(parts))


def _says_something(value: Any) -> bool:
    return value is not None and not (isinstance(value, list) and not value)  # False may say a lot: UNION ALL


def _read_part(value: Any) -> Part:
    if isinstance(value, exp.Expr):
        return read_value(value)
    if isinstance(value, list | tuple):
        return tuple(_read_part(each) for each in value)
    if isinstance(value, exp.DType):
        return value.value
    assert isinstance(value, str | int | float | bool), f"a tree has a {type(value).__name__} in it"
    return value


def read_condition(text: str) -> Scalar | None:
    """A condition that stands alone, as a value; None if it is none."""
    try:
        return read_value(sqlglot.parse_one(text, dialect=TrinoText))
    except ParseError:
        return None


# --- to the tree and to text -----------------------------------------------------------------------------
def write_tree(value: Scalar) -> exp.Expr:
    """The value as a tree."""
    match value:
        case Column(name=name):
            return exp.Column(this=exp.Identifier(this=name, quoted=True))
        case Literal(text=text, is_text=is_text):
            return exp.Literal(this=text, is_string=is_text)
        case Operation(kind="and"):
            return _join_trees(exp.And, split_conjunction(value))
        case Operation(kind="or"):
            return _join_trees(exp.Or, split_disjunction(value))
        case Operation(kind="dot"):  # in parentheses, or the host would look for a table of that name
            owner, field = value.part("this"), value.part("expression")
            assert isinstance(owner, Scalar), "a field is of something"
            assert isinstance(field, Scalar), "a field has a name"
            return exp.Dot(this=exp.Paren(this=write_tree(owner)), expression=write_tree(field))
    kind = exp.EXPR_CLASSES[value.kind]
    is_operator = issubclass(kind, _OPERATORS) and not issubclass(kind, _TIGHT)
    known = dict(value.parts)
    names = [name for name in kind.arg_types if name in known]  # in the order in which functions take them
    parts = {name: _write_part(known[name], is_operator) for name in dict.fromkeys((*names, *known))}
    left = parts.get("this")
    if isinstance(left, exp.Paren) and type(left.this) in _CHAINS.get(kind, ()):
        parts["this"] = left.this  # (a + b) + c is read from a + b + c
    if kind is exp.DataType:
        parts["this"] = exp.DType(parts["this"])
    is_column = kind is exp.Bracket and isinstance(parts["this"], exp.Column | exp.Dot)
    if is_column and parts["this"].name.upper() in Parser.ARRAY_CONSTRUCTORS:
        parts["this"] = exp.Paren(this=parts["this"])  # "array"[1] would be read as ARRAY[1]
    if kind in (exp.Any, exp.All) and not isinstance(parts["this"], exp.Query | exp.Tuple):
        parts["this"] = exp.Paren(this=parts["this"])  # of a list; in Spark SQL, any(x > 1) is an aggregate
    return kind(**parts)


def _join_trees(kind: type[exp.Expr], operands: tuple[Scalar, ...]) -> exp.Expr:
    first, *others = map(_write_operand, operands)
    for other in others:
        first = kind(this=first, expression=other)
    return first


def _write_part(part: Part, under_operator: bool) -> Any:
    if isinstance(part, tuple):
        return [_write_part(each, under_operator=False) for each in part]
    if isinstance(part, Column | Literal | Operation):
        return _write_operand(part) if under_operator else write_tree(part)
    return part


def _write_operand(value: Scalar) -> exp.Expr:
    tree = write_tree(value)
    return exp.Paren(this=tree) if isinstance(tree, _LOOSE) and not isinstance(tree, _TIGHT) else tree


@lru_cache(maxsize=16384)
def write_sql(value: Scalar, dialect: str = DIALECT, source: DialectName = DIALECT) -> str:
    """The value in the SQL of a host: duckdb or spark; in the dialect it has between our own parts."""
    if source == "spark":
        assert dialect == "spark", "what is written for Spark is computed by Spark"
        return write_text(write_tree(value), "spark")
    if isinstance(value, Column) and dialect in ("trino", "duckdb"):
        return '"' + value.name.replace('"', '""') + '"'
    tree = write_tree(value)
    if dialect == DIALECT:
        return write_text(tree, DIALECT)
    # the parser knows things that only the text says, such as which division is meant: so it reads it once more
    read = sqlglot.parse_one(f"SELECT {write_text(tree, DIALECT)}", dialect=TrinoText)
    return _write_renamed(read, dialect, {}).removeprefix("SELECT ")


@lru_cache(maxsize=16384)
def translate_value(value: Scalar, dialect: str) -> Scalar:
    """The value as the SQL of a host says it: what that SQL leaves to conversions of its own is spelt out."""
    return read_value(sqlglot.parse_one(write_sql(value, dialect), dialect=dialect))


def write_host_tree(value: Scalar, dialect: str) -> str:
    """The text of a value that is in the host's own terms already (translate_value)."""
    return write_text(write_tree(value), dialect)


def write_query(
    query: Scalar, dialect: str, tables: Mapping[str, str] | None = None, source: DialectName = DIALECT
) -> str:
    """A whole query in the SQL of a host; tables: other names for those that it reads."""
    if source == "spark":
        return _write_renamed(write_tree(query), dialect, tables or {})
    tree = sqlglot.parse_one(write_text(write_tree(query), DIALECT), dialect=TrinoText)
    return _write_renamed(tree, dialect, tables or {})


def translate_text(
    sql: str, dialect: str, tables: Mapping[str, str] | None = None, source: DialectName = DIALECT
) -> str:
    """The same for a query that is text between our own parts."""
    tree = sqlglot.parse_one(sql, dialect=CepheidSpark if source == "spark" else TrinoText)
    return _write_renamed(tree, dialect, tables or {})


def _guard_divisors(tree: exp.Expr) -> None:
    """x / 0 and x % 0 are null, as in the kernel; DuckDB gives infinity for one and refuses the other."""
    for division in list(tree.find_all(exp.Div, exp.Mod)):
        divisor = division.expression.unnest()
        if not (isinstance(divisor, exp.Literal) and divisor.this.strip("0.")):
            guarded = exp.Nullif(this=division.expression.copy(), expression=exp.Literal.number(0))
            division.set("expression", guarded)


def _keep_null_values(tree: exp.Expr) -> None:
    """max_by(x, y) is the x of the greatest y, though it be null; DuckDB's looks for an x that is not."""
    for kind, name in ((exp.ArgMax, "ARG_MAX_NULL"), (exp.ArgMin, "ARG_MIN_NULL")):
        for call in list(tree.find_all(kind)):
            if call.expression and call.args.get("count") is None and not isinstance(call.this, exp.Distinct):
                call.replace(exp.Anonymous(this=name, expressions=[call.this.copy(), call.expression.copy()]))


def _count_conditions(tree: exp.Expr) -> None:
    """count_if is 0 where the condition never holds; DuckDB's is null if it is always null."""
    for call in list(tree.find_all(exp.CountIf)):
        if not isinstance(call.this, exp.Distinct):
            test = exp.Case(ifs=[exp.If(this=call.this.copy(), true=exp.Literal.number(1))])
            call.replace(exp.Count(this=test, big_int=True))


def _count_entries(tree: exp.Expr) -> None:
    """cardinality(x) is of arrays and of maps; what sqlglot writes for it, array_length, DuckDB has for arrays only."""
    for size in reversed(list(tree.find_all(exp.ArraySize))):
        if size.expression is None:
            count = exp.Anonymous(this="CARDINALITY", expressions=[size.this.copy()])
            size.replace(exp.Cast(this=count, to=exp.DataType.build("bigint")))


def _write_renamed(tree: exp.Expr, dialect: str, tables: Mapping[str, str]) -> str:
    if dialect == "duckdb":
        _guard_divisors(tree)
        _count_entries(tree)
        _count_conditions(tree)
        _keep_null_values(tree)
    if dialect != DIALECT:
        tree = write_own_functions(tree, dialect)
    for table in tree.find_all(exp.Table) if tables else ():
        if table.name in tables:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(tables[table.name]))
    return write_text(tree, dialect)


def write_text(tree: exp.Expr, dialect: str) -> str:
    """The tree in a dialect; what that has no words for is refused, where sqlglot would leave it out."""
    try:
        return tree.sql(dialect=_WRITERS.get(dialect, dialect), comments=False, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as problem:
        raise InvalidQuery(
            f"the host's SQL engine cannot be told this: {str(problem).splitlines()[0].rstrip('.')}",
            hint="write it in another way, or leave it out",
        ) from None
