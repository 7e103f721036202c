"""ORDER BY and WITHIN of a pattern: which columns order events, and how long a match may last."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, InvalidWithin, NotSupportedYet, Span
from cepheid.event_time import can_order, in_microseconds, is_event_time
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.parsing.parser import span_of
from cepheid.language.parsing.syntax import OrderTerm, Within


def bind_order(
    terms: Iterable[OrderTerm], source: EventInput, around: Span, within: Within | None
) -> list[InputColumn]:
    """Give the ORDER BY columns their places in the layout, each once; the first is the event's time."""
    columns = {column.name: column for column in (_bind_term(term, source) for term in terms)}
    if not columns:
        hint = f"add ORDER BY {' or '.join(list_times(source.schema)) or '<a timestamp or a number>'}"
        raise InvalidOrder("events have no order: ORDER BY is missing", span=around, hint=hint)
    for number, column in enumerate(columns.values()):
        place = f"_order{number}" if number else "_time"
        if column.layout.startswith("_key") and column.name in source.fields:
            hint = "it is the same for all events of a partition: leave it out of ORDER BY"
            raise NotSupportedYet(f'ORDER BY "{column.name}", which PARTITION BY names as well', span=around, hint=hint)
        if column.layout.startswith("_key"):
            source.computed[column.value] = (place, column.type)  # it has two places in the layout
        else:
            source.put_at(column, place)
    ordered = [source.named(name) for name in columns]
    if within is not None and not is_event_time(ordered[0].type):
        raise InvalidWithin(
            f'WITHIN needs event time, but "{ordered[0].name}" is {ordered[0].type}',
            span=within.span,
            hint=_suggest_time(source, "order by a timestamp"),
        )
    return ordered


def read_within(within: Within | None) -> int | None:
    if within is None:
        return None
    microseconds = in_microseconds(within.duration)
    if microseconds <= 0:
        raise InvalidWithin(
            f"WITHIN must be longer than zero, not {within.duration.total_seconds():g} s",
            span=within.span,
            hint="write for instance WITHIN INTERVAL '10' SECOND",
        )
    return microseconds


def plain_column(written: exp.Expr, clause: str) -> exp.Column:
    """The column, if it is no more than that."""
    inner = written.unnest()
    if isinstance(inner, exp.Column):
        return inner
    if isinstance(inner, exp.Literal):
        hint = "write the name of a column; a number does not stand for one here"
        raise InvalidQuery(f'{clause} needs a column, not "{inner.sql()}"', span=span_of(inner), hint=hint)
    hint = "compute it in a subquery"
    raise NotSupportedYet(f'{clause} an expression ("{inner.sql()}")', span=span_of(inner), hint=hint)


def list_times(schema: pa.Schema) -> list[str]:
    """The columns that are surely points in time."""
    return [column.name for column in schema if pa.types.is_timestamp(column.type)]


def _bind_term(term: OrderTerm, source: EventInput) -> InputColumn:
    column = source.column(plain_column(term.expression, "ORDER BY"))
    if term.descending:
        raise NotSupportedYet("ORDER BY ... DESC in a pattern", span=term.span, hint="time only goes forward")
    if not can_order(column.type):
        raise InvalidOrder(
            f'column "{column.name}" of type {column.type} does not order events',
            span=term.span,
            hint=_suggest_time(source, "order by a timestamp or a number"),
        )
    return column


def _suggest_time(source: EventInput, advice: str) -> str:
    times = list_times(source.schema)
    return f"{advice}, for instance {times[0]}" if times else advice
