"""Aggregates over the elements of a repeated term of SEQ.

    avg(b[].x)  avg(b.x)     over the elements so far
    avg(b[..i-1].x)          over those before the element under test
    count(b[])  count(b.*)   how many elements

An argument that is more than a column is computed by the host, event by event, before events reach the pattern.
"""

from __future__ import annotations

from typing import TypeGuard

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.kernel.aggregates.catalog import list_names
from cepheid.kernel.expression import Aggregate
from cepheid.language.expressions.aggregates import find_definition, only_where, suggest_number
from cepheid.language.expressions.scope import InputColumn
from cepheid.language.parsing.parser import span_of
from cepheid.language.patterns.elements import Element
from cepheid.language.patterns.sequence_scope import SequenceScope
from cepheid.language.relations.sql_values import read_value, write_tree


def is_aggregate(node: exp.Expr) -> TypeGuard[exp.AggFunc]:
    return isinstance(node, exp.AggFunc) and not isinstance(node, exp.First | exp.Last)


def find_aggregated(node: exp.Expr, scope: SequenceScope) -> Element | None:
    """The repeated term whose elements the aggregate is over; None if it is not over such elements alone."""
    if not is_aggregate(node) or any(is_aggregate(inner) for inner in node.walk() if inner is not node):
        return None
    columns = list(node.find_all(exp.Column))
    elements = []
    for column in columns:
        qualifier = column.args.get("table")
        named = qualifier if qualifier is not None else column.this
        if named.name.split("[", 1)[0].lower() not in scope.variables.members:
            return None
        if qualifier is None and not column.name.endswith("]"):
            return None
        elements.append(scope.known_element(named))
    if not elements or not all(scope.roles[element.variable].repeated for element in elements):
        return None
    if not all(element.kind in ("plain", "all", "earlier") for element in elements):
        return None
    return elements[0]


def bind_aggregate(node: exp.AggFunc, over: Element, scope: SequenceScope) -> Aggregate:
    """The aggregate over the elements of a term that `find_aggregated` found."""
    columns = list(node.find_all(exp.Column))
    elements = [scope.find_element(column) for column in columns]
    if any(element.variable != over.variable for element in elements):
        raise InvalidQuery(
            "an aggregate is over the elements of one term", span=span_of(node), hint="write an aggregate for each"
        )
    before = {element.kind == "earlier" for element in elements}
    if len(before) > 1:
        raise InvalidQuery("the aggregate mixes different elements", span=span_of(node), hint="write b[..i-1] for each")
    definition = find_definition(node, "measures")
    if definition is None:
        hint = f"there are {', '.join(sorted(list_names('measures')))}"
        raise NotSupportedYet(f"the aggregate {node.sql_name()} over elements of a term", span=span_of(node), hint=hint)
    distinct = isinstance(node.this, exp.Distinct)
    arguments = [*(node.this.expressions if distinct else [node.this]), node.args.get("expression")]
    arguments += [*(node.args.get("expressions") or []), node.args.get("count")]  # max(x, 2), min_by(x, y, 2)
    arguments = [argument for argument in arguments if argument is not None]
    if len(arguments) != (2 if definition.has_measure else 1):
        column = f"{over.variable}[].x"
        needed = f"{column}, {over.variable}[].y" if definition.has_measure else column
        raise InvalidQuery(
            f"{node.sql_name()} has the wrong number of arguments",
            span=span_of(node),
            hint=f"write {node.sql_name().lower()}({needed})",
        )
    value = _read_argument(arguments[0], node, over, scope)
    measure = _read_argument(arguments[1], node, over, scope) if len(arguments) == 2 else None
    if value is None and definition.name != "count":
        hint = f"write {node.sql_name().lower()}({over.variable}[].x)"
        raise InvalidQuery(f"{node.sql_name()} needs a column", span=span_of(node), hint=hint)
    if value is not None and not definition.accepts(value.type):
        hint = suggest_number(arguments[0].sql(), value.type)
        raise TypeMismatch(f'"{value.name}" of type {value.type} cannot be summed', span=span_of(node), hint=hint)
    return Aggregate(
        function=definition.name,
        column=None if value is None else value.layout,
        column_kind=None if value is None else value.kind,
        kind=definition.kind_of_answer((value.kind if value is not None else None) or "float"),
        variables=(over.variable,),
        by=None if measure is None else measure.layout,
        by_kind=None if measure is None else measure.kind,
        distinct=distinct,
        before=before.pop(),
    )


def _read_argument(written: exp.Expr, node: exp.Expr, over: Element, scope: SequenceScope) -> InputColumn | None:
    """The column that is aggregated; None: the events themselves."""
    source = scope.source_of(over.variable)
    if isinstance(written, exp.Column):
        if isinstance(written.this, exp.Star) or written.args.get("table") is None:
            return None  # b.* or b[]
        if not isinstance(node, exp.CountIf):
            return source.column(written)
    plain = written.copy() if not isinstance(written, exp.Column) else exp.Paren(this=written.copy())
    for column in list(plain.find_all(exp.Column)):
        if column.args.get("table") is None or isinstance(column.this, exp.Star):
            raise InvalidQuery(f'"{column.name}" is no value', span=span_of(written), hint="name a column")
        column.replace(write_tree(source.column(column).value))
    if isinstance(node, exp.CountIf):  # counts what is not null
        plain = only_where(plain, exp.Literal.number(1))
    try:
        return source.compute(read_value(plain))
    except InvalidQuery as problem:
        raise InvalidQuery(problem.message, span=span_of(written), hint=problem.hint) from None
