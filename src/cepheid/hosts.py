"""What a host is to the compiler: the rules that pay there, what its SQL engine runs, and how vertices are placed.

    EMBEDDED         DuckDB and one engine in this process; whole tables and streams
    SPARK_TABLES     Spark SQL and engines in Python workers, over whole tables
    SPARK_STREAMS    the same over streams, where chains of stateful vertices run in one engine

A new host is a record here; how it runs a placed graph is said in execution/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Changes, Filter, HostWindow, Project, Relation, TableJoin, Union
from cepheid.placement.place_chains import place_chains
from cepheid.placement.place_cores import place_cores
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.rewrite.rule import Rule
from cepheid.rewrite.rule_order import DISTRIBUTED_RULES, GENERAL_RULES, WHOLE_TABLE_RULES, in_order

Refine = Callable[[PlacedGraph], PlacedGraph]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTraits:
    """native: the kinds of vertices that it runs beside our engines; refine: what it changes about places."""

    name: Literal["embedded", "spark"]
    rules: tuple[Rule, ...]
    native: tuple[type[PlanNode], ...]
    refine: tuple[Refine, ...] = ()


_RELATIONAL = (Filter, Project, Relation, Union, Changes, TableJoin)

EMBEDDED = HostTraits(name="embedded", rules=in_order(GENERAL_RULES), native=_RELATIONAL, refine=(place_cores,))
SPARK_TABLES = HostTraits(name="spark", rules=in_order(WHOLE_TABLE_RULES), native=(*_RELATIONAL, HostWindow))
SPARK_STREAMS = HostTraits(name="spark", rules=in_order(DISTRIBUTED_RULES), native=_RELATIONAL, refine=(place_chains,))
