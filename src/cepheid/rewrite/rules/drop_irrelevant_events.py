"""Filter out events that can play no step of a sequence, right at their producer.

    Sequence(ticks a: a.x > 5, ticks b: b.y < 2)        Sequence(...)
      Project                                     =>      Project
        Source(ticks)                                       Filter(x > 5 OR y < 2)
                                                              Source(ticks)

Safe for strategies that skip events anyway; `strict` and `partition_contiguity` count every event as a neighbour.
Pays when every step of a stream has a condition on single events: the rest never leaves the host.
"""

from __future__ import annotations

from cepheid.graph.operators import Filter, Project, Sequence
from cepheid.graph.predicate import answer_columns
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import Cell, Expression, Position, list_columns, list_leaves, split_conjunction
from cepheid.kernel.pattern import Absent, Step
from cepheid.rewrite.condition_sql import condition_sql
from cepheid.rewrite.sql_text import (
    columns_of,
    is_plain_column,
    join_conjunction,
    join_disjunction,
    substitute_columns,
)


def drop_irrelevant_events(graph: QueryGraph) -> QueryGraph | None:
    for vertex, node in graph.vertices.items():
        if not isinstance(node, Sequence) or node.program.strategy not in ("skip_till_any", "skip_till_next"):
            continue
        for port, layout in enumerate(graph.inputs(vertex)):
            changed = _filter_stream(graph, node, port, layout)
            if changed is not None:
                return changed
    return None


def _filter_stream(graph: QueryGraph, node: Sequence, port: int, layout: str) -> QueryGraph | None:
    project = graph.vertices[layout]
    (feeding,) = graph.inputs(layout)
    if not isinstance(project, Project):
        return None
    answers = answer_columns(node.predicates)
    conditions = [_own_condition(term, answers) for term in node.program.terms if term.stream == port]
    if not conditions or None in conditions:
        return None
    known = [condition for condition in conditions if condition is not None]
    predicate = join_disjunction(list(dict.fromkeys(known)))
    meanings = dict(project.columns)
    if not all(is_plain_column(meanings[name]) for name in columns_of(predicate)):
        return None
    predicate = substitute_columns(predicate, meanings)
    below = graph.vertices[feeding]
    if isinstance(below, Filter) and predicate in below.predicate:
        return None
    return graph.insert_above(feeding, Filter(predicate=predicate), only_for=layout)


def _own_condition(term: Step | Absent, answers: set[str]) -> str | None:
    """The part of a term's condition that looks at the event at hand only, as SQL.

    `answers`: columns that functions in Python make, which the host does not have.
    """
    alone = [part for part in split_conjunction(term.condition) if _looks_at_one(part, term.variable)]
    parts = [condition_sql(part) for part in alone if answers.isdisjoint(list_columns(part))]
    own = [part for part in parts if part is not None]
    return join_conjunction(own) if own else None


def _looks_at_one(condition: Expression, variable: str) -> bool:
    leaves = list_leaves(condition)
    return bool(leaves) and all(isinstance(leaf, Cell) and leaf.position == Position((variable,)) for leaf in leaves)
