"""MATCH_RECOGNIZE to a RowPattern vertex between two projections.

Project (measures: the host's arithmetic over cells)
  RowPattern (cells)
    Project (event layout)
      input
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, InvalidWithin, NotSupportedYet, Span, UnknownVariable
from cepheid.event_time import can_order, in_microseconds, is_event_time
from cepheid.graph.operators import Project, RowPattern
from cepheid.graph.operators.project import quote_name
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.expression import Expression, Position
from cepheid.kernel.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    RowPatternProgram,
    Skip,
    list_terms,
)
from cepheid.kernel.pattern import (
    RowPattern as Pattern,
)
from cepheid.language.measures import MeasureBinder
from cepheid.language.navigation import Path, position_of
from cepheid.language.parser import span_of
from cepheid.language.scalar import ScalarBinder
from cepheid.language.scope import EventInput, InputColumn, Variables
from cepheid.language.syntax import MatchRecognizeClause, Name, OrderTerm, Within

COMING = {Permutation: "PERMUTE", Exclusion: "exclusion {- -}", Anchor: "an anchor (^ or $)"}


def bind_match_recognize(clause: MatchRecognizeClause, source: EventInput) -> tuple[Project, RowPattern, Project]:
    """The layout projection, the pattern, and the projection that computes measures."""
    refuse_coming_patterns(clause.pattern)
    variables = _collect_variables(clause)
    keys = _bind_keys(clause, source)
    bind_order(clause.order_by, source, clause.span, clause.within)
    conditions = _bind_conditions(clause, source, variables)
    all_rows = clause.rows_per_match == "all"
    if clause.empty_matches == "with_unmatched":
        raise NotSupportedYet("ALL ROWS PER MATCH WITH UNMATCHED ROWS", span=clause.span)
    measures = MeasureBinder(source, variables, all_rows)
    outputs = _bind_outputs(clause, source, keys, measures)
    cells = measures.named_cells()
    node = RowPattern(
        program=RowPatternProgram(
            pattern=clause.pattern,
            conditions=conditions,
            skip=_bind_skip(clause, variables),
            within=read_within(clause.within),
            lookahead=max([0, *(cell.position.shift for cell in cells)]),
        ),
        cells=cells,
        keys=len(keys),
        order=len(clause.order_by),
        all_rows=all_rows,
        show_empty=clause.empty_matches != "omit",
    )
    return Project(columns=source.projection()), node, Project(columns=outputs)


def refuse_coming_patterns(pattern: Pattern) -> None:
    match pattern:
        case Permutation(span=span) | Exclusion(span=span) | Anchor(span=span):
            raise NotSupportedYet(COMING[type(pattern)], span=span)
        case Concatenation(items=parts) | Alternation(options=parts):
            for part in parts:
                refuse_coming_patterns(part)
        case Repetition(item=item):
            refuse_coming_patterns(item)


def _collect_variables(clause: MatchRecognizeClause) -> Variables:
    spelling: dict[str, str] = {}
    for term in list_terms(clause.pattern):
        spelling.setdefault(term.variable.lower(), term.variable)
    variables = Variables.of(list(spelling.values()))
    for subset in clause.subsets:
        members = tuple(_resolve_name(variables, member)[0] for member in subset.members)
        if subset.name.text.lower() in variables.members:
            raise InvalidQuery(f'SUBSET "{subset.name.text}" has the name of a variable', span=subset.name.span)
        variables = variables.with_union(subset.name.text, members)
    return variables


def _resolve_name(variables: Variables, name: Name) -> tuple[str, ...]:
    found = variables.members.get(name.text.lower())
    if found is None:
        raise UnknownVariable(name.text, (members[0] for members in variables.members.values()), span=name.span)
    return found


def _bind_keys(clause: MatchRecognizeClause, source: EventInput) -> list[InputColumn]:
    keys: list[InputColumn] = []
    for number, written in enumerate(clause.partition_by):
        column = source.column(_plain_column(written, "PARTITION BY"))
        if column.layout.startswith("_key"):
            raise InvalidQuery(f'PARTITION BY names "{column.name}" twice', span=span_of(written))
        if column.kind is None:
            raise NotSupportedYet(f"PARTITION BY a column of type {column.type}", span=span_of(written))
        source.layouts[column.name] = f"_key{number}"
        keys.append(source.named(column.name))
    return keys


def _plain_column(written: exp.Expression, clause: str) -> exp.Column:
    if isinstance(written, exp.Paren):
        return _plain_column(written.this, clause)
    if isinstance(written, exp.Column):
        return written
    raise NotSupportedYet(
        f'{clause} an expression ("{written.sql()}")', span=span_of(written), hint="compute it in a subquery"
    )


def bind_order(
    terms: tuple[OrderTerm, ...], source: EventInput, around: Span, within: Within | None
) -> list[InputColumn]:
    """Give the ORDER BY columns their places in the layout; the first is the event's time."""
    if not terms:
        raise InvalidOrder(
            "events have no order: ORDER BY is missing", span=around, hint=f"add ORDER BY {_guess_time(source)}"
        )
    ordered: list[InputColumn] = []
    for number, term in enumerate(terms):
        column = source.column(_plain_column(term.expression, "ORDER BY"))
        if term.descending:
            raise NotSupportedYet("ORDER BY ... DESC in a pattern", span=term.span)
        if not can_order(column.type):
            raise InvalidOrder(
                f'column "{column.name}" of type {column.type} does not order events',
                span=term.span,
                hint=f"order by a timestamp or a number, for instance {_guess_time(source)}",
            )
        if column.layout.startswith(("_key", "_time", "_order")):
            # the value is needed in two places of the layout: compute the second one
            source.computed[quote_name(column.name)] = ("_time" if number == 0 else f"_order{number}", column.type)
        else:
            source.layouts[column.name] = "_time" if number == 0 else f"_order{number}"
        ordered.append(source.named(column.name))
    if within is not None and not is_event_time(ordered[0].type):
        raise InvalidWithin(
            f'WITHIN needs event time, but "{ordered[0].name}" is {ordered[0].type}',
            span=within.span,
            hint=f"order by a timestamp, for instance {_guess_time(source)}",
        )
    return ordered


def _guess_time(source: EventInput) -> str:
    times = [field.name for field in source.schema if is_event_time(field.type)]
    return times[0] if times else "a timestamp column"


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


def _bind_conditions(
    clause: MatchRecognizeClause, source: EventInput, variables: Variables
) -> tuple[tuple[str, Expression], ...]:
    def resolve(column: exp.Column, path: Path) -> tuple[EventInput, InputColumn, Position]:
        return source, source.column(column), position_of(column, path, variables)

    binder = ScalarBinder(resolve)
    conditions: dict[str, Expression] = {}
    terms = {term.variable.lower(): term.variable for term in list_terms(clause.pattern)}
    for definition in clause.definitions:
        written = definition.variable
        variable = terms.get(written.text.lower())
        if variable is None:
            raise UnknownVariable(written.text, terms.values(), span=written.span)
        if variable in conditions:
            raise InvalidQuery(f'DEFINE names "{written.text}" twice', span=written.span)
        conditions[variable] = binder.condition(definition.condition)
    return tuple(conditions.items())


def _bind_skip(clause: MatchRecognizeClause, variables: Variables) -> Skip:
    after = clause.after_match
    if after.variable is None:
        return Skip(after.kind)
    return Skip(after.kind, _resolve_name(variables, after.variable))


def _bind_outputs(
    clause: MatchRecognizeClause, source: EventInput, keys: list[InputColumn], measures: MeasureBinder
) -> tuple[tuple[str, str], ...]:
    """Columns of the result, in the standard's order, as SQL over cells."""

    def row_cell(column: InputColumn) -> tuple[str, str]:
        cell = measures.cell(OutputCell(name="", kind="row", column=column.layout))
        return column.name, cell.sql(dialect="trino")

    outputs = [row_cell(key) for key in keys]
    computed = [(measure.name.text, measures.bind(measure)) for measure in clause.measures]
    if clause.rows_per_match == "one":
        outputs += computed
    else:
        ordered = [source.named(name) for name in _ordered_names(clause, source)]
        leading = {column.name for column in (*keys, *ordered)}
        outputs += [row_cell(column) for column in ordered if column.name not in {key.name for key in keys}]
        outputs += computed
        outputs += [row_cell(source.named(name)) for name in source.schema.names if name not in leading]
    refuse_double_names((name for name, _ in outputs), clause.span)
    return tuple(outputs)


def _ordered_names(clause: MatchRecognizeClause, source: EventInput) -> list[str]:
    names = [source.column(_plain_column(term.expression, "ORDER BY")).name for term in clause.order_by]
    return list(dict.fromkeys(names))


def refuse_double_names(names: Iterable[str], span: Span | None) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidQuery(
                f'the result has two columns called "{name}"', span=span, hint="rename one of them with AS"
            )
        seen.add(name.lower())
