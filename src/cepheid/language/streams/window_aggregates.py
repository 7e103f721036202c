"""Aggregates over a window: from the way they are written to the kernel's record.

avg(a1)                                          WindowedAggregate("avg", "a1")
sum(a1 * a2) FILTER (WHERE a3 > 0)               the host computes CASE WHEN a3 > 0 THEN a1 * a2 END before
percentile_cont(0.9) WITHIN GROUP (ORDER BY x)   WindowedAggregate("percentile_cont", "x", parameter=0.9)
max(x, 3)                                        WindowedAggregate("greatest", "x", parameter=3)
variance and the like of decimals                of doubles
listagg(x, ',')                                  the host joins the texts of array_agg(x)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.graph.cell_types import type_of_windowed
from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import Kind
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.kernel.window import WindowedAggregate
from cepheid.language.expressions.aggregates import OTHERS, find_definition, only_where, suggest_number
from cepheid.language.expressions.decimals import fits_whole, has_exact_mean, write_whole
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.stream_layout import StreamLayout

MOST_VALUES = 1_000_000  # of max(x, n)
ARGUMENTS_HINT = "see docs/reference/windows.md for the aggregates of windows"


@dataclass(frozen=True, slots=True)
class BoundAggregate:
    """An aggregate and the Arrow type of its answer; decimal: what the answer, a whole number of last digits, has to be
    made again (`put_scale_back`)."""

    aggregate: WindowedAggregate
    type: pa.DataType
    decimal: pa.DataType | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    node: exp.Expr
    function: str
    argument: exp.Expr | None
    by: exp.Expr | None = None
    parameter: exp.Expr | None = None
    distinct: bool = False
    of_logic: bool = False


def is_windowed_aggregate(node: exp.Expr, python: Mapping[str, PythonAggregate]) -> bool:
    if isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        return True
    if isinstance(node, exp.Anonymous):
        is_known = find_definition(node, "window") is not None or node.name.upper() in OTHERS
        return is_known or node.name.lower() in python
    return isinstance(node, exp.AggFunc | exp.First | exp.Last | exp.FirstValue | exp.LastValue | exp.ApproxQuantile)


def bind_windowed_aggregate(
    node: exp.Expr, layout: StreamLayout, python: Mapping[str, PythonAggregate]
) -> BoundAggregate:
    """The aggregate that is written, and the type of its answer."""
    call, condition = (node.this, node.expression.this) if isinstance(node, exp.Filter) else (node, None)
    if isinstance(call, exp.Anonymous) and call.name.lower() in python:
        return _bind_python(call, condition, layout, python[call.name.lower()])
    written = _read_call(call, node)
    for part in (written.argument, written.by, condition):
        for inner in part.walk() if part is not None else ():
            if is_windowed_aggregate(inner, python):
                hint = "aggregate in a subquery first, and put a window on it: FROM (SELECT ...) [ROWS 100]"
                raise InvalidQuery("an aggregate cannot stand inside another", span=span_of(inner), hint=hint)
            if isinstance(inner, exp.Query | exp.Window):
                place = span_of(inner) or span_of(node)
                hint = "compute it as a column in a subquery, and aggregate that"
                raise NotSupportedYet(f"{inner.key.upper()} inside an aggregate", span=place, hint=hint)
    if condition is not None:
        written = _filter(written, condition)
    return _bind(written, layout)


def split_mean(node: exp.Expr, layout: StreamLayout) -> tuple[exp.Expr, exp.Expr, pa.DataType] | None:
    """avg of decimals on Spark, which is a decimal: the sum and the count it is made of, and the type of values."""
    call = node.this if isinstance(node, exp.Filter) else node
    if layout.describe.dialect != "spark" or type(call) is not exp.Avg or isinstance(call.this, exp.Distinct):
        return None
    _, given = layout.read(call.this)
    if not fits_whole(given) or not has_exact_mean(given):
        return None
    parts: list[exp.Expr] = []
    for made in (exp.Sum(this=call.this.copy()), exp.Count(this=call.this.copy())):
        made.meta.update(call.meta)
        parts.append(exp.Filter(this=made, expression=node.expression.copy()) if call is not node else made)
    return parts[0], parts[1], given


def gather_texts(node: exp.Expr) -> exp.Expr | None:
    """LISTAGG and STRING_AGG, in the order of events: the texts of array_agg, joined; null where there are none."""
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, exp.GroupConcat) or isinstance(call.this, exp.Order | exp.Distinct):
        return None
    value = call.this if call is node else only_where(node.expression.this, call.this)
    gathered, counted = exp.ArrayAgg(this=value.copy()), exp.Count(this=value.copy())
    for made in (gathered, counted):
        made.meta.update(call.meta)
    separator = call.args.get("separator") or exp.Literal.string(",")
    joined = exp.ArrayToString(this=gathered, expression=separator.copy())
    return only_where(exp.GT(this=counted, expression=exp.Literal.number(0)), joined)


# --- what is written --------------------------------------------------------------------------------------


def _read_call(call: exp.Expr, node: exp.Expr) -> _Written:
    if isinstance(call, exp.WithinGroup):
        return _read_within_group(call, node)
    if isinstance(call, exp.RespectNulls) and isinstance(
        call.this, exp.First | exp.Last | exp.FirstValue | exp.LastValue
    ):
        call = call.this
    definition = find_definition(call, "window")
    if definition is None:
        name = call.name.upper() if isinstance(call, exp.Anonymous) else _name_of(call)
        if isinstance(call, exp.GroupConcat):
            name, hint = (
                "that joins texts (LISTAGG, STRING_AGG)",
                "without DISTINCT and ORDER BY it joins them as they come",
            )
        else:
            hint = ARGUMENTS_HINT
        raise NotSupportedYet(f"the aggregate {name} over a window", span=span_of(node), hint=hint)
    arguments = _list_arguments(call)
    if isinstance(call, exp.Median):
        arguments.append(exp.Literal.number("0.5"))
    if definition.parameter == "share":
        if len(arguments) != 2:
            raise InvalidQuery(
                f"{_name_of(call)} needs a column and a share",
                span=span_of(node),
                hint="for example quantile_cont(x, 0.9)",
            )
        if isinstance(arguments[0], exp.Distinct | exp.Order | exp.Star):
            hint = f"write {_name_of(call)} of a column, without DISTINCT and ORDER BY"
            raise NotSupportedYet(f'"{call.sql()}" over a window', span=span_of(node), hint=hint)
        return _Written(node, definition.name, arguments[0], parameter=arguments[1])
    return _read_plain(call, node, definition.name, arguments)


def _read_plain(call: exp.Expr, node: exp.Expr, function: str, arguments: list[exp.Expr]) -> _Written:
    of_logic = isinstance(call, exp.LogicalAnd | exp.LogicalOr) or (
        isinstance(call, exp.Anonymous) and call.name.upper() == "EVERY"
    )
    if not arguments:
        if function == "count":
            return _Written(node, function, None)
        raise InvalidQuery(f"{_name_of(call)} needs a column", span=span_of(node), hint=f"write {_name_of(call)}(x)")
    first, *more = arguments
    if isinstance(first, exp.Order):
        raise NotSupportedYet("ORDER BY inside an aggregate", span=span_of(node), hint="events are in order of time")
    distinct = isinstance(first, exp.Distinct)
    if distinct:
        first, *others = first.expressions or [exp.Star()]
        if others:
            hint = "make one column of them in a subquery"
            raise NotSupportedYet("DISTINCT over several columns", span=span_of(node), hint=hint)
    star = first.this if isinstance(first, exp.Column) else first
    if isinstance(star, exp.Star) or (
        function == "count" and isinstance(first, exp.Literal) and not distinct and not isinstance(call, exp.CountIf)
    ):
        if function != "count" or distinct:
            hint = f"write {_name_of(call)}({'DISTINCT ' if distinct else ''}x)"
            raise InvalidQuery(f"{_name_of(call)} needs a column", span=span_of(node), hint=hint)
        return _Written(node, function, None)
    if function in ("min", "max") and len(more) == 1 and not of_logic:
        return _Written(node, "least" if function == "min" else "greatest", first, parameter=more[0])
    if find_aggregate(function).has_measure:
        if len(more) != 1:
            hint = f"write {_name_of(call)}(x, y): the x of the event with that y"
            raise InvalidQuery(f"{_name_of(call)} needs two columns", span=span_of(node), hint=hint)
        return _Written(node, function, first, by=more[0])
    if more:
        raise NotSupportedYet(f'"{call.sql()}" with so many arguments', span=span_of(node), hint=ARGUMENTS_HINT)
    if isinstance(call, exp.CountIf):
        first = only_where(first, exp.Literal.number(1))
    if distinct and function == "count":
        function = "count_distinct"
    elif distinct and function not in ("min", "max"):
        hint = "leave DISTINCT out; count(DISTINCT x), min and max know it"
        raise NotSupportedYet(f"{_name_of(call)} of DISTINCT values over a window", span=span_of(node), hint=hint)
    return _Written(node, function, first, of_logic=of_logic)


def _read_within_group(call: exp.WithinGroup, node: exp.Expr) -> _Written:
    inner = call.this
    definition = find_definition(inner, "window")
    terms = call.expression.expressions if call.expression is not None else []
    if definition is None or definition.parameter != "share" or len(terms) != 1:
        raise NotSupportedYet(f'"{call.sql()}" over a window', span=span_of(node), hint=ARGUMENTS_HINT)
    (share, *_) = _list_arguments(inner)
    (term,) = terms
    column = term.this if isinstance(term, exp.Ordered) else term
    if isinstance(term, exp.Ordered) and term.args.get("desc"):
        share = exp.Sub(this=exp.Literal.number(1), expression=share.copy())
        if definition.name == "percentile_disc":
            raise NotSupportedYet("percentile_disc in descending order", span=span_of(node), hint="order it ascending")
    return _Written(node, definition.name, column, parameter=share)


def _list_arguments(call: exp.Expr) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    found = [call.args.get(part) for part in ("this", "expression", "quantile", "count")]
    return [part for part in [*found, *(call.args.get("expressions") or [])] if isinstance(part, exp.Expr)]


def _name_of(call: exp.Expr) -> str:
    if isinstance(call, exp.Anonymous):
        return call.name.upper()
    return call.sql_name() if isinstance(call, exp.Func) else call.key.upper()


def _filter(written: _Written, condition: exp.Expr) -> _Written:
    """Leave other events out by making their values null."""
    if find_aggregate(written.function).keeps_nulls:
        raise NotSupportedYet(
            f"FILTER on {written.function}", span=span_of(written.node), hint="it keeps nulls: filter in a subquery"
        )
    if written.argument is None:
        return replace(written, argument=only_where(condition, exp.Literal.number(1)))
    by = None if written.by is None else only_where(condition, written.by)
    return replace(written, argument=only_where(condition, written.argument), by=by)


# --- what it means ----------------------------------------------------------------------------------------


def _bind(written: _Written, layout: StreamLayout) -> BoundAggregate:
    if written.argument is None:
        return BoundAggregate(WindowedAggregate(function="count"), pa.int64())
    decimal = None
    if _gives_decimals(written):
        written, decimal = _scale_decimals(written, layout)
    assert written.argument is not None, "it had one"
    column, arrow_type = _read_argument(written.argument, written, layout)
    _check_type(written, arrow_type)
    by, by_type = (None, None) if written.by is None else _read_argument(written.by, written, layout)
    kind = _kind_of(arrow_type)
    aggregate = WindowedAggregate(
        function=written.function,
        column=column,
        column_kind=kind,
        kind=find_aggregate(written.function).kind_of_answer(kind),
        by=by,
        by_kind=None if by_type is None else _kind_of(by_type),
        parameter=_read_parameter(written),
    )
    return BoundAggregate(aggregate, type_of_windowed(aggregate, layout.types()), decimal)


def _scale_decimals(written: _Written, layout: StreamLayout) -> tuple[_Written, pa.DataType | None]:
    """Decimals that fit 64 bits are computed as whole numbers, which is exact; gives the type of the answer."""
    assert written.argument is not None, "count(*) has no argument"
    _, arrow_type = layout.read(written.argument)
    if not fits_whole(arrow_type):
        return written, None
    if _is_of_literals(written.argument, layout):
        return written, None
    whole = replace(written, argument=write_whole(written.argument, arrow_type))
    return whole, find_aggregate(written.function).type_of_answer(arrow_type)


def _is_of_literals(argument: exp.Expr, layout: StreamLayout) -> bool:
    """Did only literals bring the decimals in?  In Trino's dialect `x * 1.1` is meant as a double."""
    if layout.describe.dialect == "spark":
        return False
    return not any(pa.types.is_decimal(layout.read(column)[1]) for column in argument.find_all(exp.Column))


def _gives_decimals(written: _Written) -> bool:
    """Is the answer for decimals a decimal?"""
    definition = find_aggregate(written.function)
    return definition.gives in ("value", "sum") and not definition.gives_list


def _bind_python(
    call: exp.Anonymous, condition: exp.Expr | None, layout: StreamLayout, python: PythonAggregate
) -> BoundAggregate:
    if len(call.expressions) != 1:
        raise InvalidQuery(
            f'"{call.name}" is an aggregate in Python: it takes one column',
            span=span_of(call),
            hint=f"write {call.name}(x)",
        )
    (argument,) = call.expressions
    written = _Written(call, "python", argument)
    if condition is not None:
        written = _filter(written, condition)
    assert written.argument is not None, "it has one"
    column, arrow_type = _read_argument(written.argument, written, layout)
    kind = _kind_of(arrow_type)
    aggregate = WindowedAggregate(function="python", column=column, column_kind=kind, kind="float", python=python)
    return BoundAggregate(aggregate, type_of_windowed(aggregate, layout.types()))


def _read_argument(argument: exp.Expr, written: _Written, layout: StreamLayout) -> tuple[str, pa.DataType]:
    column, arrow_type = layout.read(argument)
    if pa.types.is_decimal(arrow_type) and (_is_of_literals(argument, layout) or not _gives_decimals(written)):
        return layout.read_double(argument)
    if written.function == "count" and kind_of(arrow_type) is None:
        return layout.read(
            only_where(exp.Not(this=exp.Is(this=argument.copy(), expression=exp.Null())), exp.Literal.number(1))
        )
    if kind_of(arrow_type) is None:
        raise NotSupportedYet(
            f"{written.function} over a column of type {arrow_type} in a window",
            span=span_of(argument) or span_of(written.node),
            hint=f"write CAST({argument.sql()} AS DOUBLE)"
            if pa.types.is_decimal(arrow_type)
            else "compute it in a subquery",
        )
    return column, arrow_type


def _kind_of(arrow_type: pa.DataType) -> Kind:
    kind = kind_of(arrow_type)
    assert kind is not None, f"_read_argument refuses {arrow_type}"
    return kind


def _check_type(written: _Written, arrow_type: pa.DataType) -> None:
    assert written.argument is not None, "count(*) has no type to check"
    place = span_of(written.argument) or span_of(written.node)
    shown = written.argument.sql()
    kind = kind_of(arrow_type)
    if kind not in find_aggregate(written.function).takes:
        hint = suggest_number(shown, arrow_type)
        raise TypeMismatch(f'"{shown}" of type {arrow_type} is no number', span=place, hint=hint)
    if written.of_logic and kind != "bool":
        hint = f"compare it with something: {shown} = ..."
        raise TypeMismatch(f'"{shown}" of type {arrow_type} is neither true nor false', span=place, hint=hint)


def _read_parameter(written: _Written) -> float:
    if written.parameter is None:
        return 0.0
    place = span_of(written.parameter) or span_of(written.node)
    value = _read_number(written.parameter)
    if find_aggregate(written.function).parameter == "share":
        if value is None or not 0 <= value <= 1:
            raise InvalidQuery(
                f"a percentile is a number from 0 to 1, not {written.parameter.sql()}",
                span=place,
                hint="0.5 is the median",
            )
        return value
    if value is None or not 1 <= value <= MOST_VALUES or value != int(value):
        raise InvalidQuery(
            f'"{written.parameter.sql()}" is not a whole number from 1 to {MOST_VALUES}',
            span=place,
            hint="for example max(x, 3)",
        )
    return value


def _read_number(expression: exp.Expr) -> float | None:
    match expression.unnest():
        case exp.Literal() as literal if not literal.is_string:
            return float(literal.name)
        case exp.Neg(this=inner):
            value = _read_number(inner)
            return None if value is None else -value
        case exp.Sub() as difference:
            left, right = _read_number(difference.left), _read_number(difference.right)
            return None if left is None or right is None else left - right
    return None
