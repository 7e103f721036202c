"""Aggregates that DuckDB computes get the types that our engines give them: one type, whoever computes it.

    SELECT k, sum(v) FROM s GROUP BY k      =>      SELECT k, CAST(sum(v) AS BIGINT) FROM s GROUP BY k

DuckDB adds integers as HUGEINT, decimals as DECIMAL(38, s), and has a type of its own for a few more.  What they are
of, DuckDB is asked: by a SELECT of the arguments from the same FROM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery
from cepheid.kernel.aggregates.definition import AggregateDefinition
from cepheid.language.expressions.aggregates import find_definition
from cepheid.language.parsing.dialect import TrinoText

Ask = Callable[[str], pa.Schema]
"""The schema of SQL text over the tables of the query."""
BESIDE_ROWS = ("group", "having", "order", "limit", "offset", "distinct", "qualify")  # of a SELECT


@dataclass(frozen=True)
class _Call:
    """written: the whole of it, with FILTER and OVER; argument: None if its type says nothing; interpolates: may the
    answer lie between two values?"""

    written: exp.Expr
    definition: AggregateDefinition
    argument: exp.Expr | None
    interpolates: bool = False


def cast_aggregates(query: exp.Expr, ask: Ask) -> None:
    """Put casts around the aggregates of a query and of those inside it."""
    for select in _list_selects(query):
        calls = [call for node in select.find_all(exp.Func) if (call := _read_call(node, select)) is not None]
        types = _find_types(query, select, [call.argument for call in calls if call.argument is not None], ask)
        for call in calls:
            given = None if call.argument is None else types.get(call.argument)
            if call.interpolates and given is not None and pa.types.is_decimal(given):
                assert call.argument is not None, "what has a type is there"
                call.argument.replace(exp.cast(call.argument.copy(), "double"))  # or it keeps the digits of the values
            target = _find_cast(call, types)
            if target is not None:
                call.written.replace(exp.cast(call.written.copy(), target))


def _list_selects(node: exp.Expr) -> list[exp.Select]:
    """What a SELECT reads comes before it: first the queries of WITH, then those inside it."""
    parts = sorted(node.iter_expressions(), key=lambda part: not isinstance(part, exp.With))
    found = [select for part in parts for select in _list_selects(part)]
    return [*found, node] if isinstance(node, exp.Select) else found


def _read_call(node: exp.Func, select: exp.Select) -> _Call | None:
    if node.parent_select is not select:
        return None
    definition = find_definition(node, "window")
    if definition is None:
        return None
    written: exp.Expr = node
    while isinstance(written.parent, exp.Filter | exp.Window | exp.WithinGroup) and written.arg_key == "this":
        written = written.parent
    interpolates = definition.name == "percentile_cont"
    ordered = written.find(exp.Ordered) if interpolates and isinstance(node.parent, exp.WithinGroup) else None
    first = node.expressions[0] if isinstance(node, exp.Anonymous) and node.expressions else node.args.get("this")
    argument = first if ordered is None else ordered.this
    if isinstance(argument, exp.Distinct):
        argument = argument.expressions[0] if len(argument.expressions) == 1 else None
    if isinstance(node, exp.CountIf) or not isinstance(argument, exp.Expr) or argument.find(exp.Star, exp.AggFunc):
        argument = None
    return _Call(written, definition, argument, interpolates)


def _find_types(
    query: exp.Expr, select: exp.Select, arguments: list[exp.Expr], ask: Ask
) -> dict[exp.Expr, pa.DataType]:
    """What the arguments are, as far as the host can say: a subquery may read columns from around it."""
    if not arguments:
        return {}
    probe = select.copy()
    for part in BESIDE_ROWS:
        probe.set(part, None)
    probe.set("expressions", [exp.alias_(each.copy(), f"c{number}") for number, each in enumerate(arguments)])
    around = query.args.get("with_")
    if around is not None and select is not query:
        probe.set("with_", around.copy())
    try:
        found = ask(probe.sql(dialect=TrinoText, comments=False))
    except InvalidQuery:
        return {}
    return dict(zip(arguments, found.types, strict=True))


def _find_cast(call: _Call, types: dict[exp.Expr, pa.DataType]) -> str | None:
    """The type to cast to, where the host's is another."""
    given = None if call.argument is None else types.get(call.argument)
    gives = call.definition.gives
    if gives == "count":
        return "BIGINT" if call.argument is None and call.written.find(exp.CountIf) else None
    if given is None or call.definition.gives_list:
        return None
    is_decimal = pa.types.is_decimal(given)
    if gives == "sum" and is_decimal:
        answer = call.definition.type_of_answer(given)
        return f"DECIMAL({answer.precision}, {answer.scale})"
    if gives == "sum":
        return "BIGINT" if pa.types.is_integer(given) else None
    if gives == "mean":
        return "DOUBLE" if is_decimal or pa.types.is_float32(given) else None
    return "REAL" if call.definition.parameter == "share" and pa.types.is_float32(given) else None
