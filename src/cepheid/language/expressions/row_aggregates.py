"""Aggregates over the rows of a match that the kernel does not compute: from the way they are written to the record.

    array_agg(CLASSIFIER())                     of values that only a match has
    sum(b.x * MATCH_NUMBER())
    map_agg(b.k, b.x), max(b.x, 3)              kernel/aggregates/of_rows.py lists them
    array_agg(b.x ORDER BY b.y DESC)            in another order than that of the rows
    my_mean(b.x)                                cep.Aggregate

As with the others, all columns in one aggregate are of one variable, or of none; CLASSIFIER(b) is of b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.aggregates.of_rows import (
    WITH_NUMBER,
    RowFunction,
    accepts,
    find_row_function,
    is_row_function,
    row_function,
)
from cepheid.kernel.expression import HostAggregate, RowValue
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.language.expressions.aggregates import (
    FACTS,
    WrittenAggregate,
    check_inside,
    check_types,
    compute_column,
    find_definition,
    find_members,
    names_of_call,
    read_aggregate,
)
from cepheid.language.expressions.navigation import rebuild
from cepheid.language.expressions.scope import EventInput, InputColumn, Variables
from cepheid.language.expressions.worker_sql import check_worker_sql
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.sql_values import read_value
from cepheid.scalars.value import Column, Scalar

WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
OF_MATCH = {"_classifier": pa.string(), "_match_number": pa.int64()}


@dataclass(frozen=True, slots=True)
class _Parts:
    """A call taken apart: its columns in order, and what stands around them."""

    node: exp.Expr
    function: str
    columns: tuple[exp.Expr, ...]
    parameters: tuple[exp.Literal, ...] = ()
    distinct: bool = False
    order: tuple[exp.Ordered, ...] = ()
    condition: exp.Expr | None = None
    python: PythonAggregate | None = None
    plain: WrittenAggregate | None = None  # one of the catalog

    @property
    def parts(self) -> list[exp.Expr]:
        more = [] if self.condition is None else [self.condition]
        return [*self.columns, *(term.this for term in self.order), *more]


def needs_rows(node: exp.Expr, source: EventInput, in_condition: bool) -> bool:
    """Is this an aggregate that the kernel leaves to others?"""
    call = _unwrap(node)
    if isinstance(call, exp.AnonymousAggFunc):
        return True
    definition = find_definition(call, "measures")
    if definition is None:
        return find_row_function(names_of_call(call), source.describe.dialect) is not None
    if any(_is_fact(inner) for inner in node.walk()) or _has_number(call):
        return True
    if isinstance(call.this, exp.Order) or (definition.keeps_nulls and isinstance(node, exp.Filter)):
        return True
    return in_condition and "condition" not in definition.places


def bind_row_aggregate(node: exp.Expr, source: EventInput, variables: Variables) -> HostAggregate:
    written = _read(node, source)
    check_inside(written.parts, facts=True)
    members = find_members(node, written.parts, variables)
    values = [_bind_value(part, source, variables, members) for part in written.columns]
    types = [arrow_type for _, arrow_type in values]
    order = tuple(
        (_bind_value(term.this, source, variables, members)[0], bool(term.args.get("desc")), _nulls_first(term, source))
        for term in written.order
    )
    condition = None
    if written.condition is not None:
        condition, kind = _bind_value(written.condition, source, variables, members)
        if not pa.types.is_boolean(kind):
            hint = "compare it with something: FILTER (WHERE b.y > 0)"
            raise TypeMismatch("FILTER needs a condition", span=span_of(written.condition), hint=hint)
    return HostAggregate(
        written.function,
        tuple(value for value, _ in values),
        _type_of(written, types),
        members,
        tuple(parameter.sql() for parameter in written.parameters),
        written.distinct,
        order,
        condition,
        written.python,
    )


# --- what is written --------------------------------------------------------------------------------------


def _unwrap(node: exp.Expr) -> exp.Expr:
    while isinstance(node, WRAPPERS):
        node = node.this
    return node


def _is_fact(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in FACTS


def _has_number(call: exp.Expr) -> bool:
    return bool(call.args.get("count") or (isinstance(call, exp.Max | exp.Min) and call.expressions))


def _read(node: exp.Expr, source: EventInput) -> _Parts:
    call, condition, order = node, None, ()
    while isinstance(call, WRAPPERS):
        if isinstance(call, exp.Filter):
            condition = call.expression.this
        elif isinstance(call, exp.WithinGroup):
            order = tuple(call.expression.expressions)
        call = call.this
    if isinstance(call, exp.AnonymousAggFunc):
        return _read_python(node, call, condition, source)
    definition = find_definition(call, "measures")
    if definition is not None and not _has_number(call):
        if isinstance(call.this, exp.Order):
            order = (*call.this.expressions,)
            call = call.copy()
            call.set("this", call.this.this)
        plain = read_aggregate(call, facts=True)
        ordered = order if definition.name == "array_agg" else ()
        if ordered and plain.distinct:
            raise NotSupportedYet(
                "DISTINCT and ORDER BY in one aggregate", span=span_of(node), hint="sort the array: array_sort(...)"
            )
        return _Parts(node, plain.function, tuple(plain.parts), (), plain.distinct, ordered, condition, plain=plain)
    found = _read_row_function(node, call, None if definition is None else definition.name, source)
    return replace(found, condition=condition, order=(*order, *_order_inside(call)))


def _order_inside(call: exp.Expr) -> tuple[exp.Ordered, ...]:
    given = [part for part in call.iter_expressions() if isinstance(part, exp.Order)]
    return tuple(term for part in given for term in part.expressions)


def _read_row_function(node: exp.Expr, call: exp.Expr, known: str | None, source: EventInput) -> _Parts:
    names = names_of_call(call)
    found = row_function(WITH_NUMBER[known]) if known else find_row_function(names, source.describe.dialect)
    if found is None:
        hint = "in a match, PREV, NEXT, FIRST and LAST read other rows"
        raise NotSupportedYet(f"{names[0].upper()} over the rows of a match", span=span_of(node), hint=hint)
    given = [part.this if isinstance(part, exp.Order) else part for part in _arguments_of(call)]
    distinct = bool(given) and isinstance(given[0], exp.Distinct)
    if distinct:
        given = [*given[0].expressions, *given[1:]]
    columns, parameters = given[: found.columns], given[found.columns :]
    if len(columns) < found.columns or len(parameters) > (found.parameter is not None):
        raise InvalidQuery(
            f"{names[0]} takes {found.columns} column{'s' * (found.columns > 1)}"
            + (f" and a {found.parameter}" if found.parameter else ""),
            span=span_of(node),
            hint="name the columns alone: each is one argument",
        )
    if distinct and found.name not in ("string_agg", "set_agg", "any_value", "approx_distinct"):
        raise NotSupportedYet(f"DISTINCT in {names[0]}", span=span_of(node), hint="leave it out")
    return _Parts(node, found.name, tuple(columns), _read_parameters(found, parameters, node), distinct)


def _arguments_of(call: exp.Expr) -> list[exp.Expr]:
    """In the order in which they are written."""
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    known = [call.args.get(name) for name in ("this", "expression", "count", "separator", "quantile")]
    return [part for part in (*known, *call.expressions) if isinstance(part, exp.Expr)]


def _read_parameters(found: RowFunction, given: list[exp.Expr], node: exp.Expr) -> tuple[exp.Literal, ...]:
    if found.parameter in ("number", "share") and not given:
        raise InvalidQuery(f"{found.name} needs a {found.parameter}", span=span_of(node), hint="write max(b.x, 3)")
    for part in given:
        is_literal = isinstance(part, exp.Literal) and part.is_string == (found.parameter == "text")
        whole = found.parameter != "number" or (is_literal and part.this.isdigit() and int(part.this) > 0)
        if not is_literal or not whole:
            hint = "write the text itself, as in ', '" if found.parameter == "text" else "write the number itself"
            raise NotSupportedYet(f'"{part.sql()}" as a parameter of an aggregate', span=span_of(part), hint=hint)
    return tuple(part for part in given if isinstance(part, exp.Literal))


def _read_python(node: exp.Expr, call: exp.AnonymousAggFunc, condition: exp.Expr | None, source: EventInput) -> _Parts:
    if len(call.expressions) != 1:
        hint = f"write {call.name}(b.x)"
        raise InvalidQuery(
            f'"{call.name}" is an aggregate in Python: it takes one column', span=span_of(node), hint=hint
        )
    python = source.python[call.name.lower()]
    return _Parts(node, "python", tuple(call.expressions), condition=condition, python=python)


# --- its values -------------------------------------------------------------------------------------------


def _bind_value(
    part: exp.Expr, source: EventInput, variables: Variables, members: tuple[str, ...]
) -> tuple[RowValue, pa.DataType]:
    """A value of one row of the match; what the event alone tells is computed by the host before matching."""
    inner = part.unnest()
    if not any(_is_fact(node) for node in inner.walk()):
        column = source.column(inner) if isinstance(inner, exp.Column) else compute_column(inner, source)
        return RowValue(Column(column.layout), (column.layout,)), column.type
    if source.describe.dialect == "spark":
        return _bind_for_spark(inner, source, members or _all_variables(variables))
    value, columns = _spell(inner, source)
    return RowValue(value, tuple(columns)), _describe(inner, value, columns, source)


def _all_variables(variables: Variables) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in variables.members.values() for name in names))


def _spell(written: exp.Expr, source: EventInput) -> tuple[Scalar, dict[str, pa.DataType]]:
    """The value over columns of the layout, `_classifier` and `_match_number`; which columns it reads."""
    columns: dict[str, pa.DataType] = {}

    def spell(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.upper() in ("CLASSIFIER", "MATCH_NUMBER"):
            return exp.column(f"_{node.name.lower()}", quoted=True)
        if isinstance(node, exp.Column):
            column = source.column(node)
            columns[column.layout] = column.type
            return exp.column(column.layout, quoted=True)
        return rebuild(node, spell)

    return read_value(spell(written)), columns


def _describe(written: exp.Expr, value: Scalar, columns: dict[str, pa.DataType], source: EventInput) -> pa.DataType:
    try:
        return source.describe.of_value(value, pa.schema([*columns.items(), *OF_MATCH.items()]))
    except InvalidQuery as problem:
        raise InvalidQuery(problem.message, span=span_of(written), hint=problem.hint) from None


def _bind_for_spark(written: exp.Expr, source: EventInput, members: tuple[str, ...]) -> tuple[RowValue, pa.DataType]:
    """Spark computes it for each variable that the row may have; with the number of the match, if workers can."""
    value, columns = _spell(written, source)
    arrow_type = _describe(written, value, columns, source)
    if isinstance(value, Column):
        return RowValue(value, tuple(columns)), arrow_type
    facts = {node.name.upper() for node in written.walk() if _is_fact(node)}
    if "MATCH_NUMBER" in facts:
        schema = pa.schema([*columns.items(), *OF_MATCH.items()])
        rules = source.describe.rules
        assert rules is not None, "the query is in Spark's dialect"
        check_worker_sql(value, schema, "an aggregate with MATCH_NUMBER()", rules.ansi, span_of(written))
        return RowValue(value, tuple(columns)), arrow_type
    chosen: dict[str, InputColumn] = {}
    for name in members:
        literal = exp.Literal.string(name)
        chosen[name] = compute_column(_with_classifier(written, literal), source)
    branches = [
        exp.If(
            this=exp.EQ(this=exp.column("_classifier", quoted=True), expression=exp.Literal.string(name)),
            true=exp.column(column.layout, quoted=True),
        )
        for name, column in chosen.items()
    ]
    told = read_value(exp.Case(ifs=branches))
    return RowValue(told, tuple(column.layout for column in chosen.values())), arrow_type


def _with_classifier(written: exp.Expr, name: exp.Literal) -> exp.Expr:
    if _is_fact(written):
        return name.copy()
    return rebuild(written, lambda child: _with_classifier(child, name))


def _nulls_first(term: exp.Ordered, source: EventInput) -> bool:
    given = term.args.get("nulls_first")
    if given is not None:
        return bool(given)
    return source.describe.dialect == "spark" and not term.args.get("desc")


# --- types ------------------------------------------------------------------------------------------------


def _type_of(written: _Parts, types: list[pa.DataType]) -> pa.DataType:
    if written.python is not None:
        return written.python.type
    if is_row_function(written.function):
        return _type_of_row_function(written, types)
    definition = find_aggregate(written.function)
    if types and written.plain is not None:
        columns = [
            InputColumn(part.sql(), "", kind, Column("")) for part, kind in zip(written.columns, types, strict=True)
        ]
        check_types(written.plain, columns[0], columns[1] if len(columns) > 1 else None)
    if definition.gives == "count" or not types:
        return pa.int64()
    return definition.type_of_answer(types[0])


def _type_of_row_function(written: _Parts, types: list[pa.DataType]) -> pa.DataType:
    function = row_function(written.function)
    for part, kind in zip(written.columns, types, strict=True):
        if not accepts(function, kind):
            told = {"numbers": "a number", "integers": "an integer", "texts": "a text", "maps": "a map"}[function.takes]
            raise TypeMismatch(
                f'"{part.sql()}" of type {kind} is no {told.split()[-1]}',
                span=span_of(part) or span_of(written.node),
                hint=f"{written.function} is of {told}: write CAST({part.sql()} AS ...)",
            )
    return function.type(types)


def with_python(tree: exp.Expr, python: Mapping[str, PythonAggregate]) -> exp.Expr:
    """The tree in which aggregates of the user are aggregates."""

    def name(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.lower() in python:
            found = exp.AnonymousAggFunc(this=node.this, expressions=node.expressions)
            found.meta.update(node.meta)
            return found
        return node

    return tree.transform(name) if python else tree
