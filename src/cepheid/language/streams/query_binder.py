"""What those who bind a part of a query ask of the one who binds the whole (binder.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from cepheid.graph.node import PlanNode
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.catalog import Catalog
from cepheid.language.expressions.host_types import HostTypes
from cepheid.language.parsing.syntax import StreamWindowClause
from cepheid.language.relations.simple_select import SimpleSelect


@dataclass(frozen=True, slots=True)
class BoundTable:
    """Something that can stand in FROM: a vertex, the schema of its rows, and what people call it."""

    vertex: str
    schema: pa.Schema
    label: str


class QueryBinder(Protocol):
    known: Catalog
    graph: QueryGraph
    tables: dict[str, BoundTable]  # by placeholder
    windows: dict[str, StreamWindowClause]  # by placeholder
    roots: list[tuple[exp.Expr, exp.Expr | None]]  # trees apart, and where they belong
    carriers: dict[str, exp.Table]  # by placeholder: where a clause stands
    added_columns: set[str]  # those that windows add to their input

    @property
    def describe(self) -> HostTypes: ...

    def add(self, node: PlanNode, *inputs: str) -> str:
        """One more vertex, and its name."""
        ...

    def add_query(self, query: exp.Expr, timed: bool = False) -> BoundTable:
        """The rows of a query; timed: they are to tell their own time, where they have one."""
        ...

    def add_simple(self, simple: SimpleSelect, query: exp.Select, table: BoundTable) -> BoundTable:
        """A filter and a projection of a table."""
        ...

    def find_item(self, item: exp.Table | exp.Subquery) -> BoundTable:
        """What stands in FROM."""
        ...

    def find_timed(self, item: exp.Expr) -> BoundTable:
        """The same for a window, which asks for the time of rows."""
        ...

    def name_part(self) -> str:
        """A name for a table that nothing else has."""
        ...

    def visible_ctes(self, at: exp.Expr) -> dict[str, exp.CTE]: ...

    def around(self, node: exp.Expr | None) -> exp.Expr | None: ...
