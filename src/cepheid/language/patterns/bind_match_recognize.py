"""MATCH_RECOGNIZE to a RowPattern vertex between two projections.

Project (measures: the host's arithmetic over cells)
  RowPattern (cells)
    Project (event layout)
      input
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.errors import InvalidQuery, InvalidWithin
from cepheid.graph.operators import Project, RowPattern
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.pattern import Exclusion, walk_pattern
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.parsing.syntax import MatchRecognizeClause
from cepheid.language.patterns.bind_row_pattern import BoundPattern, bind_row_pattern, look_ahead, order_of_rows
from cepheid.language.patterns.clause_fields import read_row_fields
from cepheid.language.patterns.measures import MeasureBinder, uses_timed_out
from cepheid.language.relations.output_names import refuse_double_names
from cepheid.scalars.value import Column, Scalar


def bind_match_recognize(clause: MatchRecognizeClause, source: EventInput) -> tuple[Project, RowPattern, Project]:
    """The layout projection, the pattern, and the projection that computes measures."""
    clause = read_row_fields(clause, source)
    unmatched = clause.empty_matches == "with_unmatched"
    if unmatched:
        _check_unmatched(clause)
    _check_timeouts(clause, unmatched)
    bound = bind_row_pattern(clause, source)
    all_rows = clause.rows_per_match == "all"
    measures = MeasureBinder(source, bound.variables, all_rows, timeouts=clause.timeouts is not None)
    outputs = _bind_outputs(clause, source, bound, measures, unmatched)
    if not measures.cells:  # MEASURES 1 AS one: a row without cells would be no row
        measures.cell(OutputCell(name="", kind="row", column="_time"))
    cells = measures.named_cells()
    node = RowPattern(
        program=replace(
            bound.program,
            lookahead=look_ahead(cells),
            unmatched=unmatched,
            timeouts=clause.timeouts is not None,
        ),
        cells=cells,
        keys=len(bound.keys),
        order=order_of_rows(bound),
        all_rows=all_rows,
        show_empty=clause.empty_matches != "omit",
    )
    return source.projection(), node, Project(columns=outputs)


def _check_unmatched(clause: MatchRecognizeClause) -> None:
    for part in walk_pattern(clause.pattern):
        if isinstance(part, Exclusion):
            raise InvalidQuery(
                "{- -} leaves rows out of the output, and WITH UNMATCHED ROWS asks for all of them",
                span=part.span,
                hint="write SHOW EMPTY MATCHES, or take the braces away",
            )


def _check_timeouts(clause: MatchRecognizeClause, unmatched: bool) -> None:
    if clause.timeouts is None:
        return
    if clause.within is None:
        raise InvalidWithin(
            "TIMEOUT ROWS needs WITHIN: without it no match runs out of time",
            span=clause.timeouts,
            hint="write WITHIN INTERVAL '10' MINUTE TIMEOUT ROWS",
        )
    if unmatched:
        raise InvalidQuery(
            "TIMEOUT ROWS cannot stand beside WITH UNMATCHED ROWS",
            span=clause.timeouts,
            hint="a row of a match that ran out of time would be told twice: choose one of the two",
        )
    if not any(uses_timed_out(measure) for measure in clause.measures):
        raise InvalidQuery(
            "TIMEOUT ROWS needs TIMED_OUT() in MEASURES: nothing else tells partial matches from whole ones",
            span=clause.timeouts,
            hint="add MEASURES TIMED_OUT() AS timed_out",
        )


def _bind_outputs(
    clause: MatchRecognizeClause,
    source: EventInput,
    bound: BoundPattern,
    measures: MeasureBinder,
    unmatched: bool,
) -> tuple[tuple[str, Scalar], ...]:
    """Columns of the result, in the standard's order, over cells."""

    def row_cell(column: InputColumn) -> tuple[str, Scalar]:
        cell = measures.cell(OutputCell(name="", kind="row", column=column.layout))
        return column.name, Column(cell.name)

    keys, ordered = bound.keys, source.list_order(bound.ordered)
    bind = measures.bind_where_matched if unmatched else measures.bind
    outputs = [row_cell(key) for key in keys]
    computed = [(measure.name.text, bind(measure)) for measure in clause.measures]
    if clause.rows_per_match == "one":
        outputs += computed
    else:
        leading = {column.value for column in (*keys, *ordered)}
        outputs += [row_cell(column) for column in ordered if column.value not in {key.value for key in keys}]
        outputs += computed
        outputs += [row_cell(source.named(name)) for name in source.shown_names if Column(name) not in leading]
    _check_names(clause, [name for name, _ in outputs])
    return tuple(outputs)


def _check_names(clause: MatchRecognizeClause, names: list[str]) -> None:
    if not names:
        raise InvalidQuery("the pattern gives no columns", span=clause.head, hint="add MEASURES, or ALL ROWS PER MATCH")
    measured = {measure.name.text: measure.name.span for measure in clause.measures}
    others = list(names)
    for name, span in measured.items():
        others.remove(name)
        refuse_double_names([*others, name], span)
