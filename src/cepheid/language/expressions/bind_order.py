"""ORDER BY and WITHIN of a pattern: which columns order events, and how long a match may last."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, InvalidWithin, NotSupportedYet, Span
from cepheid.event_time import can_order, in_microseconds, is_event_time, is_marked, mark_event_time
from cepheid.language.expressions.scope import ADDED, EventInput, InputColumn
from cepheid.language.parsing.parser import span_of
from cepheid.language.parsing.syntax import OrderTerm, Within
from cepheid.scalars.value import Column, Literal, Scalar

LONGEST = 1 << 62  # 146,000 years: more would be no 64-bit number behind a time


def bind_order(
    terms: Iterable[OrderTerm], source: EventInput, around: Span, within: Within | None, lasting: Iterable[Within] = ()
) -> list[InputColumn]:
    """Give the ORDER BY columns their places in the layout, each once; the first is the event's time.

    lasting: durations behind FOR, which need a time as WITHIN does.
    """
    spans = [("WITHIN", within)] if within is not None else []
    spans += [("FOR", duration) for duration in lasting]
    columns = {column.name: column for column in (_bind_term(term, source) for term in terms)}
    if not columns and source.whole and not spans:
        source.computed[Literal("0")] = ("_time", pa.int64())  # all at one time: they stay in the order of the table
        return []
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
    for word, span in spans:
        if ordered[0].name.startswith(ADDED):
            raise InvalidWithin(
                f"{word} needs events in the order of their time, oldest first",
                span=span.span,
                hint=_suggest_time(source, "order by a timestamp first, ascending"),
            )
        _check_span(word, span, ordered[0], source)
    return ordered


def _check_span(word: str, within: Within, time: InputColumn, source: EventInput) -> None:
    if isinstance(within.duration, int):
        if not pa.types.is_integer(time.type):
            raise InvalidWithin(
                f'{word} {within.duration} has no unit, and "{time.name}" is {time.type}',
                span=within.span,
                hint=f"write {word} INTERVAL '{within.duration}' SECOND; a number alone is for whole numbers",
            )
    elif not is_event_time(time.type):
        advice = "order by a timestamp"
        raise InvalidWithin(
            f'{word} needs event time, but "{time.name}" is {time.type}',
            span=within.span,
            hint=_suggest_time(source, f"write {word} 10, or {advice}" if pa.types.is_integer(time.type) else advice),
        )


def read_within(within: Within | None, word: str = "WITHIN") -> int | None:
    if within is None:
        return None
    duration = within.duration
    microseconds = duration if isinstance(duration, int) else in_microseconds(duration)
    if microseconds <= 0:
        told = str(duration) if isinstance(duration, int) else f"{duration.total_seconds():g} s"
        raise InvalidWithin(
            f"{word} must be longer than zero, not {told}",
            span=within.span,
            hint=f"write for instance {word} INTERVAL '10' SECOND",
        )
    return min(microseconds, LONGEST)


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
    """The column that is said to be the time of events; else those that are surely points in time."""
    marked = [column.name for column in schema if is_marked(column)]
    return marked or [column.name for column in schema if pa.types.is_timestamp(column.type)]


def carry_time(columns: Iterable[tuple[str, Scalar]], given: pa.Schema, made: pa.Schema) -> pa.Schema:
    """The schema of columns over others, in which the time of events stays what it is."""
    for name, value in columns:
        if isinstance(value, Column) and is_marked(given.field(value.name)) and name in made.names:
            made = mark_event_time(made, name)
    return made


def _bind_term(term: OrderTerm, source: EventInput) -> InputColumn:
    column = source.column(plain_column(term.expression, "ORDER BY"))
    if term.descending:
        hint = "time only goes forward; whole numbers behind it may descend, and a whole table can be read backwards"
        raise NotSupportedYet("ORDER BY ... DESC in a pattern over a stream", span=term.span, hint=hint)
    if term.nulls_first is not None:
        hint = "leave it out: events whose time is null take no part; of whole numbers behind the time it may be said"
        raise NotSupportedYet("NULLS FIRST or LAST in the order of a stream", span=term.span, hint=hint)
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
