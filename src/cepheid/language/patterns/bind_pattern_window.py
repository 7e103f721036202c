"""A row pattern in WINDOW to a RowPattern vertex that tells every row of its input, with its match or without.

    SELECT id, m OVER w, count(*) OVER w ...

Project (columns of the input; _over_1 = CASE WHEN <match> THEN m END; _over_2 = count)
  RowPattern (frame; a cell for each column of the row itself, cells over the match of the row)
    Project (event layout)
      input
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, suggest_name
from cepheid.graph.operators import Project, RowPattern
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.pattern import Anchor, Exclusion, Frame, walk_pattern
from cepheid.language.expressions.aggregates import find_definition
from cepheid.language.expressions.navigation import read_offset
from cepheid.language.expressions.scope import EventInput
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import Measure, PatternWindowClause, WindowFunction
from cepheid.language.patterns.bind_row_pattern import bind_row_pattern, look_ahead
from cepheid.language.patterns.clause_fields import read_row_fields
from cepheid.language.patterns.facts import refuse_match_number
from cepheid.language.patterns.measures import MeasureBinder
from cepheid.language.relations.output_names import refuse_double_names
from cepheid.language.relations.sql_values import read_value
from cepheid.scalars.value import Column, Scalar

FUNCTIONS_HINT = (
    "over a row pattern there are measures (m OVER w), count, sum, avg, min, max and the other aggregates, array_agg, "
    "first_value, last_value and nth_value"
)
OF_PLACES = (exp.FirstValue, exp.LastValue, exp.NthValue)


def bind_pattern_window(clause: PatternWindowClause, source: EventInput) -> tuple[Project, RowPattern, Project]:
    """The layout projection, the pattern, and the projection that adds what the SELECT reads with OVER."""
    clause = read_row_fields(clause, source)
    _check_pattern(clause)
    bound = bind_row_pattern(clause, source)
    cells = MeasureBinder(source, bound.variables, all_rows=False, in_window=True)
    outputs = [(name, _row_cell(name, source, cells)) for name in source.schema.names]
    outputs += [(function.output, _bind_function(function, clause, cells)) for function in clause.functions]
    refuse_double_names((name for name, _ in outputs), clause.head)
    named = cells.named_cells()
    node = RowPattern(
        program=replace(bound.program, lookahead=look_ahead(named), frame=Frame(clause.seek, clause.following)),
        cells=named,
        keys=len(bound.keys),
        order=len(bound.ordered),
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
        if isinstance(part, Exclusion):
            raise InvalidQuery(
                "{- -} has no meaning in WINDOW", span=part.span, hint="it leaves rows out of ALL ROWS PER MATCH only"
            )
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


def _row_cell(name: str, source: EventInput, cells: MeasureBinder) -> Scalar:
    cell = cells.cell(OutputCell(name="", kind="row", column=source.named(name).layout))
    return Column(cell.name)


def _bind_function(function: WindowFunction, clause: PatternWindowClause, cells: MeasureBinder) -> Scalar:
    written = function.expression
    if isinstance(written, exp.Column):
        return cells.bind_where_matched(_find_measure(written, clause))
    return read_value(cells.take_cells(_as_measure(_without_qualifiers(written, clause))))


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


def _as_measure(written: exp.Expr) -> exp.Expr:
    """A window function over the rows of the match, as a measure says it."""
    if isinstance(written, OF_PLACES):
        return _navigate(written)
    call = written.this if isinstance(written, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) else written
    name = call.name.upper() if isinstance(call, exp.Anonymous) else call.key.upper()
    if name == "MATCH_NUMBER":
        raise refuse_match_number(written)
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
