"""A row pattern in WINDOW to a RowPattern vertex that tells every row of its input, with its match or without.

    SELECT id, m OVER w, count(*) OVER w ...

Project (columns of the input; _over_1 = CASE WHEN <match> THEN m END; _over_2 = count)
  RowPattern (frame; a cell for each column of the row itself, cells over the match of the row)
    Project (event layout)
      input
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, TypeMismatch, suggest_name
from cepheid.graph.operators import Project, RowPattern
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Frame,
    Permutation,
    Repetition,
    walk_pattern,
)
from cepheid.kernel.pattern import RowPattern as Pattern
from cepheid.language.expressions.aggregates import compute_column, find_definition, is_aggregate
from cepheid.language.expressions.navigation import read_offset
from cepheid.language.expressions.row_aggregates import needs_rows
from cepheid.language.expressions.scope import EventInput
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import Measure, PatternWindowClause, WindowFunction
from cepheid.language.patterns.bind_row_pattern import bind_row_pattern, look_ahead, order_of_rows
from cepheid.language.patterns.clause_fields import read_row_fields
from cepheid.language.patterns.facts import refuse_match_number
from cepheid.language.patterns.measures import MeasureBinder
from cepheid.language.relations.output_names import refuse_double_names
from cepheid.language.relations.sql_values import read_value
from cepheid.scalars.value import Column, Scalar

FUNCTIONS_HINT = (
    "over a row pattern there are measures (m OVER w), count, sum, avg, min, max and the other aggregates, array_agg, "
    "first_value, last_value and nth_value, and what numbers rows (row_number, rank, lag)"
)
OF_PLACES = (exp.FirstValue, exp.LastValue, exp.NthValue)


def bind_pattern_window(clause: PatternWindowClause, source: EventInput) -> tuple[Project, RowPattern, Project]:
    """The layout projection, the pattern, and the projection that adds what the SELECT reads with OVER."""
    clause = read_row_fields(clause, source)
    _check_pattern(clause)
    clause = replace(clause, pattern=_without_exclusions(clause.pattern))
    bound = bind_row_pattern(clause, source)
    frame = Frame(clause.seek, clause.following, _bind_frame_end(clause, source))
    cells = MeasureBinder(source, bound.variables, all_rows=False, in_window=True)
    outputs = [(name, _row_cell(name, source, cells)) for name in source.carried_names]
    outputs += [(function.output, _bind_function(function, clause, cells)) for function in clause.functions]
    refuse_double_names((name for name, _ in outputs), clause.head)
    named = cells.named_cells()
    node = RowPattern(
        program=replace(bound.program, lookahead=look_ahead(named), frame=frame),
        cells=named,
        keys=len(bound.keys),
        order=order_of_rows(bound),
    )
    return source.projection(), node, Project(columns=tuple(outputs))


def places_of_functions(clause: PatternWindowClause) -> dict[str, exp.Expr]:
    """What stands behind each column that the window adds: the measure, or the window function."""
    measures = {measure.name.text.lower(): measure.expression for measure in clause.measures}
    return {
        function.output: measures.get(function.expression.name.lower(), function.expression)
        if isinstance(function.expression, exp.Column)
        else function.expression
        for function in clause.functions
    }


def _check_pattern(clause: PatternWindowClause) -> None:
    for part in walk_pattern(clause.pattern):
        if isinstance(part, Anchor):
            raise InvalidQuery(
                "^ and $ have no meaning in WINDOW",
                span=part.span,
                hint="a match is sought among the rows of a frame, which begins at each row",
            )
    seen: list[str] = []
    for measure in clause.measures:
        refuse_double_names([*seen, measure.name.text], measure.name.span)
        seen.append(measure.name.text)


def _without_exclusions(pattern: Pattern) -> Pattern:
    """{- -} leaves rows out of ALL ROWS PER MATCH, which a window does not have."""
    match pattern:
        case Exclusion(item=item):
            return _without_exclusions(item)
        case Concatenation(items=items) | Permutation(items=items):
            return replace(pattern, items=tuple(map(_without_exclusions, items)))
        case Alternation(options=options):
            return replace(pattern, options=tuple(map(_without_exclusions, options)))
        case Repetition(item=item):
            return replace(pattern, item=_without_exclusions(item))
    return pattern


def _bind_frame_end(clause: PatternWindowClause, source: EventInput) -> str | None:
    """The column that says how many rows the frame of each row has behind it."""
    if clause.frame_end is None:
        return None
    written = _without_qualifiers(clause.frame_end, clause).unnest()
    span = span_of(written) or clause.head
    if written.find(exp.AggFunc, exp.Query, exp.Window):
        hint = "compute it as a column in a subquery of FROM"
        raise NotSupportedYet(f'a frame that ends at "{written.sql()}"', span=span, hint=hint)
    column = source.column(written) if isinstance(written, exp.Column) else compute_column(written, source)
    if not pa.types.is_integer(column.type):
        hint = f"write CAST({written.sql()} AS BIGINT)"
        raise TypeMismatch(f'"{written.sql()}" of type {column.type} is no number of rows', span=span, hint=hint)
    return column.layout


def _row_cell(name: str, source: EventInput, cells: MeasureBinder) -> Scalar:
    cell = cells.cell(OutputCell(name="", kind="row", column=source.named(name).layout))
    return Column(cell.name)


def _bind_function(function: WindowFunction, clause: PatternWindowClause, cells: MeasureBinder) -> Scalar:
    written = function.expression
    if isinstance(written, exp.Column):
        return cells.bind_where_matched(_find_measure(written, clause))
    return read_value(cells.take_cells(_as_measure(_without_qualifiers(written, clause), cells.source)))


def _find_measure(written: exp.Column, clause: PatternWindowClause) -> Measure:
    measures = {measure.name.text.lower(): measure for measure in clause.measures}
    found = measures.get(written.name.lower())
    if found is None or written.table:
        raise InvalidQuery(
            f'"{written.sql()}" is not a measure of the window',
            span=span_of(written),
            hint=suggest_name(written.name, [measure.name.text for measure in clause.measures]),
        )
    return found


def _as_measure(written: exp.Expr, source: EventInput) -> exp.Expr:
    """A window function over the rows of the match, as a measure says it."""
    if isinstance(written, OF_PLACES):
        return _navigate(written)
    call = written.this if isinstance(written, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) else written
    name = call.name.upper() if isinstance(call, exp.Anonymous) else call.key.upper()
    if name == "MATCH_NUMBER":
        raise refuse_match_number(written)
    if is_aggregate(written) and needs_rows(written, source, in_condition=False):
        return written
    if isinstance(written, exp.IgnoreNulls | exp.RespectNulls):
        name = f'"{written.sql()}"'
    elif find_definition(call, "measures") is not None:
        return written
    raise NotSupportedYet(f"{name} over a row pattern in WINDOW", span=span_of(written), hint=FUNCTIONS_HINT)


def _navigate(written: exp.Expr) -> exp.Expr:
    """first_value(x) is FIRST(x), last_value(x) is LAST(x), nth_value(x, 3) is FIRST(x, 2)."""
    value = written.this
    if isinstance(written, exp.LastValue):
        return exp.Last(this=value)
    if isinstance(written, exp.FirstValue):
        return exp.First(this=value)
    place = read_offset(written.args.get("offset"), 1, written)
    if place == 0 or written.args.get("from_first") is False:
        hint = "write nth_value(x, 1) for the first row; last_value(x) is the last one"
        raise InvalidQuery("nth_value counts from 1, from the first row on", span=span_of(written), hint=hint)
    return exp.First(this=value, expression=exp.Literal.number(place - 1))


def _without_qualifiers(written: exp.Expr, clause: PatternWindowClause) -> exp.Expr:
    """Columns in window functions are of the table in FROM, not of pattern variables."""
    table = clause.source.alias_or_name

    def spell(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or not node.table:
            return node
        if node.table.lower() != table.lower():
            raise InvalidQuery(
                f'"{node.table}" is not the table in FROM',
                span=span_of(node.args["table"]),
                hint=f'window functions read columns of "{table}"; what is of a pattern variable goes to MEASURES',
            )
        plain = node.copy()
        plain.set("table", None)
        return plain

    return written.transform(spell)
