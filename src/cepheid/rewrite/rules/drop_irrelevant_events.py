"""Filter out events that can be no step of a sequence, right at their producer.

    Sequence(ticks a: a.x > 5, ticks b: b.y < 2)        Sequence(...)
      Project                                     =>      Project
        Source(ticks)                                       Filter(x > 5 OR y < 2)
                                                              Source(ticks)

Safe for strategies that skip events anyway; `strict` and `partition_contiguity` count every event as a neighbour.
Pays when every step of a stream has a condition on single events: the rest never leaves the host.
"""

from __future__ import annotations

from cepheid.cost.estimate import Estimate
from cepheid.graph.operators import Filter, Project, Sequence
from cepheid.graph.predicate import answer_columns
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import Cell, Expression, Position, list_columns, list_leaves, split_conjunction
from cepheid.kernel.pattern import Absent, SequenceProgram, Step
from cepheid.rewrite.condition_value import condition_value
from cepheid.rewrite.known_conditions import is_ensured
from cepheid.rewrite.rule import Rule
from cepheid.scalars.value import (
    Column,
    Scalar,
    columns_of,
    join_conjunction,
    join_disjunction,
    substitute_columns,
    weigh_value,
)

PASSING = 0.5  # guessed: events that fit a step


def drop_irrelevant_events(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    for port, layout in enumerate(graph.inputs(vertex)):
        changed = _filter_stream(graph, vertex, port, layout)
        if changed is not None:
            return changed
    return None


def _filter_stream(graph: QueryGraph, vertex: str, port: int, layout: str) -> QueryGraph | None:
    predicate = _find_predicate(graph, vertex, port, layout)
    if predicate is None:
        return None
    (feeding,) = graph.inputs(layout)
    if is_ensured(graph, feeding, predicate):
        return None
    return graph.insert_above(feeding, Filter(predicate=predicate), only_for=layout)


def _find_predicate(graph: QueryGraph, vertex: str, port: int, layout: str) -> Scalar | None:
    """What an event must fulfil to be any step, over the columns under the layout."""
    node, project = graph.vertices[vertex], graph.vertices[layout]
    assert isinstance(node, Sequence), "the rule looks at sequences"
    if not _skips_events(node.program) or not isinstance(project, Project):
        return None
    answers = answer_columns(node.predicates)
    conditions = [_own_condition(term, answers) for term in node.program.terms if term.stream == port]
    known = [condition for condition in conditions if condition is not None]
    if not known or len(known) < len(conditions):
        return None
    predicate = join_disjunction(known)
    meanings = dict(project.columns)
    if not all(isinstance(meanings[name], Column) for name in columns_of(predicate)):
        return None
    return substitute_columns(predicate, meanings)


def _skips_events(program: SequenceProgram) -> bool:
    if program.flow is not None:
        return not program.flow.asks_for_all
    return program.strategy in ("skip_till_any", "skip_till_next")


def _own_condition(term: Step | Absent, answers: set[str]) -> Scalar | None:
    """The part of a term's condition that looks at the event at hand only.

    `answers`: columns that functions in Python make, which the host does not have.
    """
    alone = [part for part in split_conjunction(term.condition) if _looks_at_one(part, term.variable)]
    parts = [condition_value(part) for part in alone if answers.isdisjoint(list_columns(part))]
    own = [part for part in parts if part is not None]
    return join_conjunction(own) if own else None


def _looks_at_one(condition: Expression, variable: str) -> bool:
    leaves = list_leaves(condition)
    return bool(leaves) and all(isinstance(leaf, Cell) and leaf.position == Position((variable,)) for leaf in leaves)


def _saves_events(estimate: Estimate, vertex: str) -> bool:
    """What is dropped would have cost the sequence more than the filter costs every event."""
    graph = estimate.graph
    found = [_find_predicate(graph, vertex, port, layout) for port, layout in enumerate(graph.inputs(vertex))]
    return any(
        (1 - PASSING) * estimate.ipe(vertex) > weigh_value(predicate) for predicate in found if predicate is not None
    )


DROP_IRRELEVANT_EVENTS = Rule(
    name="drop_irrelevant_events",
    looks_at=(Sequence,),
    apply=drop_irrelevant_events,
    safe="strategies that skip events skip these anyway; where every event is a neighbour nothing is dropped",
    gain="events that fit no step never leave the host",
    pays=_saves_events,
)
