"""PATTERN SEQ to a Sequence vertex, fed by one projection per stream.

Equalities that tie all events of a sequence together (`a.id = b.id`) become its key, by which it can be split over
engines.  The other conditions go to the step at which all their events are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, InvalidWithin, NotSupportedYet, TypeMismatch
from cepheid.graph.operators import Project, Sequence
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.predicate import Predicate
from cepheid.kernel.expression import Cell, Position, show_aggregate, show_cell
from cepheid.kernel.pattern import Absent, AnyOrder, Choice, SequenceItem, SequenceProgram, Step
from cepheid.language.expressions.bind_order import bind_order, list_times, read_within
from cepheid.language.expressions.navigation import Path, enter_navigation
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.parsing.parser import span_of
from cepheid.language.parsing.syntax import OrderTerm, SequenceClause, SequenceTerm, TermGroup
from cepheid.language.patterns.clause_fields import SequenceFields
from cepheid.language.patterns.sequence_aggregates import bind_aggregate, find_aggregated, is_aggregate
from cepheid.language.patterns.sequence_conditions import BoundConditions, ConditionBinder
from cepheid.language.patterns.sequence_keys import KeyFinder, can_meet
from cepheid.language.patterns.sequence_scope import SequenceScope
from cepheid.language.patterns.sequence_text import show_items
from cepheid.language.patterns.sequence_ways import build_ways


@dataclass
class SequenceBinder:
    """Binds one clause: `bind`, then `take_cell` of each node that the rest of the query reads, then `node`."""

    clause: SequenceClause
    inputs: Mapping[str, EventInput]  # by stream name as written, lower case
    cells: dict[OutputCell, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fields = SequenceFields(self.clause, self.inputs)
        self.clause = self.fields.read_clause(self.clause)
        self.scope = SequenceScope(self.clause, self.inputs)
        self.within = read_within(self.clause.within)
        _check_clauses(self.clause)

    def bind(self) -> None:
        """Order, keys and conditions; only then columns have their places in the layout."""
        self._bind_orders()
        self.keys, rest = KeyFinder(self.scope).find(_split_and(self.clause.where))
        conditions = ConditionBinder(self.scope).bind(rest)
        self.predicates = self._bind_predicates(conditions)
        self.joint = tuple(conditions.joint)
        self.flow = build_ways(self.clause) if self.clause.has_ways else None
        items = self.clause.items if self.flow is None else self.clause.terms
        self.items = tuple(self._bind_item(item, conditions) for item in items)

    def layouts(self) -> dict[str, Project]:
        """The projection of each stream into the event layout."""
        return {stream: self.inputs[stream].projection() for stream in self.scope.streams}

    def node(self) -> Sequence:
        clause = self.clause
        program = SequenceProgram(
            items=self.items,
            joint=self.joint,
            strategy=clause.strategy,
            within=self.within,
            consume=clause.consume,
            limit=None if clause.limit is None else clause.limit.count,
            overflow="refuse" if clause.limit is None else clause.limit.overflow,
            timeouts=clause.timeouts is not None,
            flow=self.flow,
        )
        if program.timeouts and not any(cell.kind == "timed_out" for cell in self.cells):
            raise InvalidQuery(
                "nothing tells rows of TIMEOUT ROWS from whole matches",
                span=clause.timeouts,
                hint="add TIMED_OUT() to SELECT",
            )
        if not self.cells and program.flow is not None:
            self._moment()
        if not self.cells:  # a row without cells would be no row
            first = Position((program.steps[0].variable,))
            self.cells[OutputCell(name="_time", column="_time", position=first)] = None
        return Sequence(
            program=program,
            cells=tuple(self.cells),
            streams=tuple(self.scope.streams),
            keys=self.keys,
            order=self.order,
            predicates=self.predicates,
            written=show_items(clause.items) if program.flow is not None else "",
        )

    # --- what the rest of the query reads -----------------------------------------------------------------
    def take_cell(self, node: exp.Expr) -> str | None:
        """The output column that stands for a node of the rest of the query; None: it is none of ours."""
        if isinstance(node, exp.Anonymous) and node.name.upper() == "TIMED_OUT":
            return self._timed_out(node)
        if isinstance(node, exp.Anonymous) and node.name.upper() == "MATCH_TIME":
            return self._match_time(node)
        over = find_aggregated(node, self.scope)
        if over is not None and is_aggregate(node) and not isinstance(node.parent, exp.Window):
            if over.kind == "earlier":
                raise InvalidQuery(
                    "no element is under test in SELECT",
                    span=span_of(node),
                    hint=f"write {over.variable}[] for all elements",
                )
            aggregate = bind_aggregate(node, over, self.scope)
            return self._name(OutputCell(name="", kind="aggregate", aggregate=aggregate, final=True))
        if isinstance(node, exp.First | exp.Last) and self._navigates(node):
            inside = enter_navigation(node, Path())
            assert inside is not None, "FIRST and LAST navigate"
            return self._column_cell(*inside)
        return self._column_cell(node, Path()) if isinstance(node, exp.Column) else None

    def _navigates(self, node: exp.Expr) -> bool:
        """FIRST and LAST of a repeated term; of other variables they are the host's, if it has such functions."""
        inner = node.this
        if not isinstance(inner, exp.Column) or inner.args.get("table") is None:
            return False
        found = self.scope.variables.members.get(inner.table.lower())
        return found is not None and self.scope.roles[found[0]].repeated

    def _column_cell(self, node: exp.Expr, path: Path) -> str:
        assert isinstance(node, exp.Column), "the host takes no function inside FIRST or LAST"
        _, found, position, element = self.scope.read_column(node, path)
        role = self.scope.roles[element.variable]
        if role.negated:
            raise InvalidQuery(
                f'"{element.variable}" is absent from every match and has no columns',
                span=span_of(node),
                hint=f"read the columns of another variable; only conditions read those of {element.variable}",
            )
        if element.kind in ("test", "back"):
            raise InvalidQuery(
                "no element is under test in SELECT",
                span=span_of(node),
                hint=f"write {element.variable}[1], {element.variable}[last], or an aggregate of {element.variable}[]",
            )
        name = show_cell(found.name, position)
        cell = OutputCell(name=name, column=found.layout, position=position)
        self.cells.setdefault(cell)
        return name

    def _timed_out(self, node: exp.Anonymous) -> str:
        if node.expressions:
            raise InvalidQuery("TIMED_OUT takes no argument", span=span_of(node), hint="write TIMED_OUT()")
        if self.clause.timeouts is None:
            raise InvalidQuery(
                "TIMED_OUT() says something only of TIMEOUT ROWS",
                span=span_of(node) or self.clause.head,
                hint="write WITHIN ... TIMEOUT ROWS in the pattern",
            )
        return self._name(OutputCell(name="", kind="timed_out"))

    def _match_time(self, node: exp.Anonymous) -> str:
        if node.expressions:
            raise InvalidQuery("MATCH_TIME takes no argument", span=span_of(node), hint="write MATCH_TIME()")
        return self._moment()

    def _moment(self) -> str:
        self.cells.setdefault(OutputCell(name="MATCH_TIME()", kind="moment", column="_time"))
        return "MATCH_TIME()"

    def _name(self, cell: OutputCell) -> str:
        name = "TIMED_OUT()" if cell.aggregate is None else show_aggregate(cell.aggregate)
        self.cells.setdefault(replace(cell, name=name))
        return name

    # --- parts of the program -----------------------------------------------------------------------------
    def _bind_item(self, item: SequenceTerm | TermGroup, conditions: BoundConditions) -> SequenceItem:
        if isinstance(item, SequenceTerm):
            return self._bind_term(item, conditions)
        steps = [self._bind_term(term, conditions) for term in item.terms if isinstance(term, SequenceTerm)]
        positive = tuple(step for step in steps if isinstance(step, Step))
        return Choice(positive) if item.kind == "one_of" else AnyOrder(positive)

    def _bind_term(self, term: SequenceTerm, conditions: BoundConditions) -> Step | Absent:
        variable = term.variable.text
        stream = self.scope.streams.index(term.stream.text.lower())
        condition = conditions.condition_of(variable)
        if term.negated:
            return Absent(variable, stream, condition)
        return Step(variable, stream, condition, self.scope.roles[variable].repeated)

    def _bind_predicates(self, conditions: BoundConditions) -> tuple[Predicate, ...]:
        """Functions in Python: each is a column of answers, and a condition that reads it."""
        found: list[Predicate] = []
        for term in self.clause.terms:
            variable = term.variable.text
            for function in term.predicates:
                source = self.scope.source_of(variable)
                reads = tuple((name, source.layout_of(name)) for name in source.schema.names)
                column = f"_q{len(found)}"
                stream = self.scope.streams.index(self.scope.roles[variable].stream)
                found.append(Predicate(column, function, reads, stream))
                conditions.own[variable].append(Cell(column, "bool", Position((variable,))))
        return tuple(found)

    def _bind_orders(self) -> None:
        ordered: list[list[InputColumn]] = []
        for stream in self.scope.streams:
            source = self.inputs[stream]
            terms = self.clause.order_by or (_only_time(source, self.clause),)
            ordered.append(bind_order(terms, source, self.clause.head, self.clause.within))
            if not all(map(can_meet, ordered[0], ordered[-1])):
                kinds = " and ".join(", ".join(str(column.type) for column in columns) for columns in ordered)
                raise TypeMismatch(
                    f"the streams are ordered by different types: {kinds}",
                    span=terms[0].span or self.clause.head,
                    hint="cast one of them in a subquery",
                )
        self.order = len(ordered[0])


def _check_clauses(clause: SequenceClause) -> None:
    """What the clauses ask of one another."""
    if clause.has_ways:
        _check_ways(clause)
        return
    positive = [item for item in clause.items if isinstance(item, TermGroup) or not item.negated]
    if not positive:
        raise InvalidQuery("SEQ needs an event that is there", span=clause.items[0].span, hint="add a term without ~")
    for item, where in ((clause.items[0], "start"), (clause.items[-1], "end")):
        if isinstance(item, SequenceTerm) and item.negated and clause.within is None:
            raise InvalidWithin(
                f"an absence at the {where} of SEQ needs WITHIN: how long must nothing come?",
                span=item.span,
                hint="add for instance WITHIN INTERVAL '10' SECOND",
            )
    last = clause.items[-1]
    if clause.consume and isinstance(last, SequenceTerm) and last.negated:
        raise NotSupportedYet(
            "CONSUME MATCHED with an absence at the end of SEQ",
            span=last.span,
            hint="write REUSE, or put a term behind the absence",
        )
    if clause.timeouts is not None and clause.within is None:
        raise InvalidWithin("TIMEOUT ROWS needs WITHIN", span=clause.timeouts, hint="write WITHIN in front of it")
    if clause.timeouts is not None and clause.strategy == "skip_till_any":
        raise NotSupportedYet(
            "TIMEOUT ROWS with STRATEGY skip_till_any",
            span=clause.timeouts,
            hint="every combination of events would run out of time; use skip_till_next",
        )


def _check_ways(clause: SequenceClause) -> None:
    """The same where steps follow one another in ways of their own."""
    if clause.consume or clause.limit is not None:
        what = "CONSUME MATCHED" if clause.consume else "LIMIT PARTIALS"
        raise NotSupportedYet(
            f"{what} beside words that say how steps follow one another",
            span=clause.head if clause.limit is None else clause.limit.span,
            hint="leave it out, or write the steps with commas and a STRATEGY only",
        )
    if clause.timeouts is not None and clause.within is None:
        raise InvalidWithin("TIMEOUT ROWS needs WITHIN", span=clause.timeouts, hint="write WITHIN in front of it")
    waits = any(term.lasting is not None for term in clause.terms)
    if not waits and all(term.negated for term in clause.terms):
        raise InvalidQuery("SEQ needs an event that is there", span=clause.items[0].span, hint="add a term without ~")


def _only_time(source: EventInput, clause: SequenceClause) -> OrderTerm:
    times = list_times(source.schema)
    if len(times) != 1:
        found = f"it has {', '.join(times)}" if times else "it has none"
        raise InvalidOrder(
            f'ORDER BY is missing, and stream "{source.label}" does not have exactly one timestamp column: {found}',
            span=clause.head,
            hint=f"add ORDER BY {times[0] if times else '<column>'} behind SEQ(...)",
        )
    return OrderTerm(exp.column(times[0], quoted=True))


def _split_and(condition: exp.Expr | None) -> list[exp.Expr]:
    if condition is None:
        return []
    if isinstance(condition, exp.And):
        return _split_and(condition.left) + _split_and(condition.right)
    if isinstance(condition, exp.Paren):
        return _split_and(condition.this)
    return [condition]
