"""Is what lies between the windows and patterns of a chain the same in workers, where DuckDB computes it, as in Spark?

Above and below a single stateful vertex Spark computes columns and conditions itself.  Between two of them, and on a
stream below the lowest, workers do: only what is proved equal may stand there (worker_sql.py), the rest is refused when
the query is started.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.errors import NotSupportedYet
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.engine import Engine
from cepheid.execution.views.find_views import is_view
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Filter, Project, Relation, Source, TableJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.expressions.worker_sql import HINT, check_worker_sql, type_in_worker
from cepheid.language.views.portable_view import check_portable_view

WHERE = "a window or pattern over the rows of another"


def spark_is_ansi(frames: Mapping[str, DataFrame]) -> bool:
    spark = next(iter(frames.values())).sparkSession
    return str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"


def check_chain(graph: QueryGraph, schemas: Mapping[str, pa.Schema], ansi: bool) -> None:
    """Refuse a chain in which workers would compute anything otherwise than Spark SQL."""
    found: dict[str, pa.Schema] = {}
    for vertex in graph.order:
        inputs = [found[name] for name in graph.inputs(vertex)]
        found[vertex] = _check_vertex(graph.vertices[vertex], inputs, schemas, ansi)


def workers_agree(graph: QueryGraph, schemas: Mapping[str, pa.Schema], ansi: bool) -> bool:
    """Would workers compute all of it as Spark SQL does?"""
    try:
        check_chain(graph, schemas, ansi)
    except NotSupportedYet:
        return False
    return True


def _check_vertex(node: PlanNode, inputs: list[pa.Schema], schemas: Mapping[str, pa.Schema], ansi: bool) -> pa.Schema:
    """The schema of its rows."""
    match node:
        case Source(name=name):
            return schemas[name]
        case Filter(predicate=predicate):
            check_worker_sql(predicate, inputs[0], WHERE, ansi)
        case Project(columns=columns):
            for _, value in columns:
                check_worker_sql(value, inputs[0], WHERE, ansi)
            return pa.schema([(name, type_in_worker(value, inputs[0], ansi)) for name, value in columns])
        case Relation(query=query) if is_view(node):
            check_portable_view(query)
            return run_relational(node, [schema.empty_table() for schema in inputs]).schema
        case Relation() | TableJoin():
            raise NotSupportedYet(f"a {type(node).__name__.lower()} below {WHERE} on Spark", hint=HINT)
        case EngineNode():
            (cells,) = Engine([node], inputs).schemas
            return cells
    return inputs[0]
