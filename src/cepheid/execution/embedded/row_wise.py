"""Filters, projections and row-wise queries made ready once, to be run over many small batches.

    prepare_vertex(Project(columns=(("r", <"c1" - "c0">),)), [schema])  =>  run: tables -> table, and its schema

What `arrow_scalar` can compute is computed here; all else is left to DuckDB.  Either way the same rows come out, of the
same types.  Nothing is computed for a batch without rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from cepheid.errors import InvalidQuery
from cepheid.execution.duck_sql import run_duckdb
from cepheid.execution.embedded.arrow_scalar import Planned, Unsure, list_typed_parts, plan_scalar
from cepheid.execution.embedded.relations import run_relational, stays_in_duckdb
from cepheid.execution.embedded.vectors import is_true, write_array
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project
from cepheid.language.relations.sql_values import translate_value, write_host_tree
from cepheid.scalars.value import Column, Scalar
from cepheid.schema import empty_table

Run = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class PreparedVertex:
    """A vertex that looks at each row by itself, ready to run.  picks: if it only picks columns of its input, which."""

    run: Callable[[list[pa.Table]], pa.Table]
    schema: pa.Schema
    picks: tuple[int, ...] | None = None


def prepare_vertex(node: PlanNode, schemas: list[pa.Schema]) -> PreparedVertex:
    """The vertex over inputs of these schemas."""
    if isinstance(node, Project):
        picked = _prepare_pick(node, schemas[0])
        if picked is not None:
            return picked
    made, compute = _plan_vertex(node, schemas)
    empty = empty_table(made)

    def run(tables: list[pa.Table]) -> pa.Table:
        if not any(map(len, tables)):
            return empty
        try:
            return run_relational(node, tables) if compute is None else compute(tables[0])
        except Unsure:
            return run_relational(node, tables)

    return PreparedVertex(run, made)


def _plan_vertex(node: PlanNode, schemas: list[pa.Schema]) -> tuple[pa.Schema, Run | None]:
    """The schema of its rows, and how to run it here; None: DuckDB has to."""
    try:
        match node:
            case Filter():
                return _plan_filter(node, schemas[0])
            case Project():
                return _plan_project(node, schemas[0])
    except (Unsure, InvalidQuery):
        pass
    return _ask_schema(node, schemas), None


def _ask_schema(node: PlanNode, schemas: list[pa.Schema]) -> pa.Schema:
    return run_relational(node, [empty_table(schema) for schema in schemas]).schema


def _prepare_pick(node: Project, schema: pa.Schema) -> PreparedVertex | None:
    """Plain columns under new names: nothing is computed, and types stay."""
    known = {Column(name): number for number, name in enumerate(schema.names)}
    if any(value not in known for _, value in node.columns):
        return None
    numbers = [known[value] for _, value in node.columns if isinstance(value, Column)]
    made = pa.schema(
        [schema.field(number).with_name(name) for number, (name, _) in zip(numbers, node.columns, strict=True)]
    )

    def run(tables: list[pa.Table]) -> pa.Table:
        return pa.Table.from_arrays([tables[0].column(number) for number in numbers], schema=made)

    return PreparedVertex(run, made, tuple(numbers))


def _plan_filter(node: Filter, schema: pa.Schema) -> tuple[pa.Schema, Run]:
    (planned,) = plan_values([node.predicate], schema)
    if planned.family != "bool":
        raise Unsure
    stay = all(stays_in_duckdb(column.type) for column in schema)
    made = pa.schema([(column.name, column.type) for column in schema]) if stay else _ask_schema(node, [schema])
    fits = [_fit_column(column.name, schema, column.type) for column in made]

    def run(table: pa.Table) -> pa.Table:
        kept = is_true(planned.evaluate(table), len(table))
        table = pa.Table.from_arrays([fit(table) for fit in fits], schema=made)
        return table if kept.all() else table.filter(pa.array(kept))

    return made, run


def _plan_project(node: Project, schema: pa.Schema) -> tuple[pa.Schema, Run]:
    computed: list[Scalar] = [value for _, value in node.columns if not isinstance(value, Column)]
    planned = dict(zip(computed, plan_values(computed, schema), strict=True))
    made = _type_project(node, schema, planned)
    columns: list[Callable[[pa.Table], pa.Array | pa.ChunkedArray]] = []
    for name, value in node.columns:
        wanted = made.field(name).type
        if isinstance(value, Column):
            columns.append(_fit_column(value.name, schema, wanted))
        else:
            columns.append(_write_column(planned[value], wanted))

    def run(table: pa.Table) -> pa.Table:
        return pa.Table.from_arrays([column(table) for column in columns], schema=made)

    return made, run


def _type_project(node: Project, schema: pa.Schema, planned: Mapping[Scalar, Planned]) -> pa.Schema:
    types = []
    for name, value in node.columns:
        if not isinstance(value, Column):
            types.append((name, planned[value].type))
        elif value.name in schema.names and stays_in_duckdb(schema.field(value.name).type):
            types.append((name, schema.field(value.name).type))
        else:
            return _ask_schema(node, [schema])
    return pa.schema(types)


def _write_column(planned: Planned, arrow_type: pa.DataType) -> Callable[[pa.Table], pa.Array]:
    return lambda table: write_array(planned.evaluate(table), arrow_type, len(table))


def _fit_column(name: str, schema: pa.Schema, wanted: pa.DataType) -> Callable[[pa.Table], pa.ChunkedArray]:
    """A column that is passed on, in the type that DuckDB would give it."""
    if name not in schema.names:
        raise Unsure
    number = schema.get_field_index(name)
    given = schema.field(number).type
    if given == wanted:
        return lambda table: table.column(number)
    if not _says_the_same(given, wanted):
        raise Unsure
    return lambda table: table.column(number).cast(wanted)


def _says_the_same(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Are these two ways to write down the same values?"""
    if pa.types.is_dictionary(given):
        return bool(given.value_type == wanted) or _says_the_same(given.value_type, wanted)
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(wanted):
        return bool(given.unit == wanted.unit) and (given.tz is None) == (wanted.tz is None)
    return pa.types.is_large_string(given) and pa.types.is_string(wanted)


def plan_values(values: Sequence[Scalar], schema: pa.Schema) -> list[Planned]:
    """The values, planned together: DuckDB is asked once for the types of all their parts."""
    meant = [translate_value(value, "duckdb") for value in values]
    parts = list(dict.fromkeys(part for value in meant for part in list_typed_parts(value)))
    asked = ", ".join(f"{write_host_tree(part, 'duckdb')} AS c{number}" for number, part in enumerate(parts))
    types = run_duckdb(f"SELECT {asked} FROM _input", {"_input": empty_table(schema)}).schema.types
    by_part = dict(zip(parts, types, strict=True))
    return [plan_scalar(value, schema, by_part) for value in meant]
