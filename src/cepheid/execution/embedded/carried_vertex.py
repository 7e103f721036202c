"""Vertices that look at single rows, over rows that come and go: what is known of a row travels with it."""

from __future__ import annotations

from dataclasses import replace

from cepheid.execution.changing.change_rows import CARRIED, NUMBER
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Relation, TableJoin, Union
from cepheid.graph.operators.window_join import JoinCell
from cepheid.language.relations.carried_columns import carry_columns
from cepheid.scalars.value import Column


def passes_numbers_on(node: PlanNode) -> bool:
    """Are its rows those of what it reads, so that their numbers tell them as well?"""
    return isinstance(node, Filter | Project)


def with_carried_columns(node: PlanNode, numbered: bool = False) -> PlanNode:
    """The vertex that also passes on the columns of ours; numbered: of rows that have a number only."""
    names = [NUMBER] if numbered else CARRIED.names
    match node:
        case Filter():
            return node
        case Project(columns=columns):
            return replace(node, columns=(*columns, *((name, Column(name)) for name in names)))
        case Union(columns=united):
            return replace(node, columns=(*united, *names))
        case TableJoin(cells=cells):
            return replace(node, cells=(*cells, *(JoinCell(name=name, column=name, input=0) for name in names)))
        case Relation(query=query):
            return replace(node, query=carry_columns(query, names))
    raise AssertionError(f"{type(node).__name__} does not look at single rows")
