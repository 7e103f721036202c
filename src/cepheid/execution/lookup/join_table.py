"""A TableJoin vertex over a batch of events."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.execution.lookup.database import DatabaseTable
from cepheid.execution.lookup.enrich import Fits, enrich
from cepheid.execution.lookup.found import Lookup
from cepheid.execution.lookup.in_memory import open_memory_table
from cepheid.graph.operators import TableJoin
from cepheid.kernel.columns import Int64s
from cepheid.lookups import Database, Table


def open_lookup(node: TableJoin, table: object) -> Lookup:
    """What the vertex looks events up in."""
    if isinstance(table, Table):
        return open_memory_table(table, node.keys, node.table)
    if isinstance(table, Database):
        columns = [cell.column for cell in node.cells if cell.input == 1]
        extra = [] if node.latest is None or node.latest in columns else [node.latest]
        return DatabaseTable(table, node.keys, columns=[*columns, *extra])
    raise InvalidInput(
        f'"{node.table}" is a {type(table).__name__}, not a table', hint="give cep.Table or cep.Database"
    )


def join_table(node: TableJoin, batch: pa.Table, lookup: Lookup) -> pa.Table:
    """The cells of all pairs, in the order of events."""
    keys = [f"_key{number}" for number in range(len(node.keys))]
    events, found = enrich(batch, keys, lookup, node.kind, fits=_make_fits(node, batch), latest=node.latest)
    whole = len(events) == len(batch) and bool((events == np.arange(len(batch))).all())
    left = batch if whole else batch.take(pa.array(events))
    columns = [left.column(cell.column) if cell.input == 0 else found.column(cell.column) for cell in node.cells]
    return pa.table(columns, names=[cell.name for cell in node.cells])


def join_schema(node: TableJoin, batch: pa.Schema, table: pa.Schema) -> pa.Schema:
    return pa.schema(
        [(cell.name, (batch if cell.input == 0 else table).field(cell.column).type) for cell in node.cells]
    )


def _make_fits(node: TableJoin, batch: pa.Table) -> Fits | None:
    if node.condition is None:
        return None
    asked = f"SELECT coalesce({write_duckdb(node.condition)}, FALSE) AS holds FROM _input"

    def fits(events: Int64s, rows: pa.Table) -> npt.NDArray[np.bool_]:
        pairs = {
            cell.name: batch.column(cell.column).take(pa.array(events)) if cell.input == 0 else rows.column(cell.column)
            for cell in node.cells
        }
        holds: npt.NDArray[np.bool_] = run_duckdb(asked, {"_input": pa.table(pairs)}).column(0).to_numpy()
        return holds

    return fits
