"""Which settings of the session the rows of a query depend on: what a checkpoint keeps of them (stage_record.py).

    a.value < 8 AND b.value > 12      nothing: columns and literals of one type mean the same in any session
    hour(ts) >= 8, '7' + 1, any SQL   the zone, ANSI mode and whatever else Spark reads its SQL by

Spark fixes them when cep.sql makes the DataFrame, and keeps none of them in its checkpoints: a query that was started
again in another zone would go on with other hours and days, beside state that was made with the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from cepheid.execution.engine import Engine
from cepheid.execution.spark.stage_record import DIALECT
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Filter, Project, Sink, Source, Union
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import HostCall
from cepheid.language.expressions.worker_sql import type_in_worker
from cepheid.settings import DialectName

ALWAYS_TOLD = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.mapKeyDedupPolicy",
)
TOLD_IF_SET = "spark.sql.legacy."


def read_meaning(
    graph: QueryGraph, schemas: Mapping[str, pa.Schema], spark: SparkSession, dialect: DialectName
) -> dict[str, str]:
    """The settings by name, if anything in the query may depend on them; schemas: of the DataFrames."""
    if means_the_same_anywhere(graph, schemas):
        return {}
    chosen = {name: str(spark.conf.get(name)) for name in ALWAYS_TOLD}
    chosen |= {name: str(value) for name, value in spark.conf.getAll.items() if name.startswith(TOLD_IF_SET)}
    return {DIALECT: dialect, **chosen}


def means_the_same_anywhere(graph: QueryGraph, schemas: Mapping[str, pa.Schema]) -> bool:
    """Is it proved by types that no value of the query depends on the session?"""
    found: dict[str, pa.Schema | None] = {}
    for vertex in graph.order:
        inputs = [found[name] for name in graph.inputs(vertex)]
        known = [schema for schema in inputs if schema is not None]
        if len(known) < len(inputs):
            return False
        found[vertex] = _type_rows(graph.vertices[vertex], known, schemas)
    return None not in found.values()


def _type_rows(node: PlanNode, inputs: list[pa.Schema], schemas: Mapping[str, pa.Schema]) -> pa.Schema | None:
    """The schema of its rows, if they are the same in any session."""
    match node:
        case Source(name=name):
            return schemas[name]
        case Filter(predicate=predicate):
            return inputs[0] if type_in_worker(predicate, inputs[0], ansi=False) is not None else None
        case Project(columns=columns):
            types = [(name, type_in_worker(value, inputs[0], ansi=False)) for name, value in columns]
            return pa.schema(types) if all(found is not None for _, found in types) else None
        case EngineNode():
            if f"{HostCall.__name__}(" in repr(node):
                return None
            (cells,) = Engine([node], inputs).schemas
            return cells
        case Union() | Sink():
            return inputs[0]
    return None
