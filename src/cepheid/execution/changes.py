"""ISTREAM and DSTREAM over rows that say how they changed: what stands on both sides cancels out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.graph.operators import Changes


def net_changes(node: Changes, rows: pa.Table, carried: tuple[str, ...] = ()) -> pa.Table:
    """The rows that are new (ISTREAM) or gone (DSTREAM) at each evaluation; rows of one evaluation are all there.
    carried: columns that are passed on besides; of equal rows, those of the first."""
    columns = list(node.columns)
    shown = list(dict.fromkeys((*columns, *carried)))
    if not len(rows):
        return rows.select(shown)
    told = rows.append_column("_row", pa.array(np.arange(len(rows))))
    alike = ["_evaluation", *node.keys, *columns]
    grouped = told.group_by(alike).aggregate([("_sign", "sum"), ("_row", "min")])
    net = grouped.column("_sign_sum").to_numpy() * (1 if node.kind == "istream" else -1)
    first = grouped.column("_row_min").to_numpy()
    chosen = np.repeat(first[net > 0], net[net > 0])
    return rows.select(shown).take(pa.array(np.sort(chosen)))


def result_schema(node: Changes, schema: pa.Schema) -> pa.Schema:
    return pa.schema([schema.field(name) for name in node.columns])
