"""MATCH_RECOGNIZE to a RowPattern vertex between two projections.

Project (measures: the host's arithmetic over cells)
  RowPattern (cells)
    Project (event layout)
      input
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, Span, UnknownVariable
from cepheid.graph.operators import Project, RowPattern
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
from cepheid.language.bind_order import bind_order, plain_column, read_within
from cepheid.language.measures import MeasureBinder
from cepheid.language.navigation import Path, position_of
from cepheid.language.parser import span_of
from cepheid.language.scalar import ScalarBinder
from cepheid.language.scope import EventInput, InputColumn, Variables
from cepheid.language.syntax import MatchRecognizeClause, Name

COMING = {Permutation: "PERMUTE", Exclusion: "exclusion {- -}", Anchor: "an anchor (^ or $)"}


def bind_match_recognize(clause: MatchRecognizeClause, source: EventInput) -> tuple[Project, RowPattern, Project]:
    """The layout projection, the pattern, and the projection that computes measures."""
    refuse_coming_patterns(clause.pattern)
    variables = _collect_variables(clause)
    keys = _bind_keys(clause, source)
    ordered = bind_order(clause.order_by, source, clause.head, clause.within)
    conditions = _bind_conditions(clause, source, variables)
    all_rows = clause.rows_per_match == "all"
    if clause.empty_matches == "with_unmatched":
        raise NotSupportedYet("ALL ROWS PER MATCH WITH UNMATCHED ROWS", span=clause.head)
    measures = MeasureBinder(source, variables, all_rows)
    outputs = _bind_outputs(clause, source, keys, ordered, measures)
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
        order=len(ordered),
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
        raise UnknownVariable(name.text, variables.names(), span=name.span)
    return found


def _bind_keys(clause: MatchRecognizeClause, source: EventInput) -> list[InputColumn]:
    keys: list[InputColumn] = []
    for number, written in enumerate(clause.partition_by):
        column = source.column(plain_column(written, "PARTITION BY"))
        if column.layout.startswith("_key"):
            raise InvalidQuery(f'PARTITION BY names "{column.name}" twice', span=span_of(written))
        if column.kind is None:
            raise NotSupportedYet(f"PARTITION BY a column of type {column.type}", span=span_of(written))
        source.layouts[column.name] = f"_key{number}"
        keys.append(source.named(column.name))
    return keys


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
    clause: MatchRecognizeClause,
    source: EventInput,
    keys: list[InputColumn],
    ordered: list[InputColumn],
    measures: MeasureBinder,
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
        leading = {column.name for column in (*keys, *ordered)}
        outputs += [row_cell(column) for column in ordered if column.name not in {key.name for key in keys}]
        outputs += computed
        outputs += [row_cell(source.named(name)) for name in source.schema.names if name not in leading]
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


def refuse_double_names(names: Iterable[str], span: Span | None) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidQuery(
                f'the result has two columns called "{name}"', span=span, hint="rename one of them with AS"
            )
        seen.add(name.lower())
