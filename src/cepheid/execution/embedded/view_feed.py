"""A view of a continuous query at work: relational SQL over rows that come, and maybe go, kept up to date.

shows "changes"    every row that comes or goes, as rows that travel (changing/change_rows.py)
shows "final"      rows that can no longer change: at once, if rows of the view never go, else at the end
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.changing.change_rows import GONE, HIDDEN, drop_hidden, read_flags, with_carried
from cepheid.execution.duck_sql import run_duckdb, write_duckdb_query
from cepheid.execution.embedded.engine_feed import Heard, Tables
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.engine_identity import EngineIdentity
from cepheid.execution.views.delta import Delta
from cepheid.execution.views.row_names import RowNames
from cepheid.execution.views.spine import Trace
from cepheid.execution.views.view import open_view
from cepheid.graph.operators import Relation
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.views.view_order import write_order
from cepheid.measurement import Counts
from cepheid.schema import empty_table


class ViewFeed:
    """inputs: schemas of what it reads, of rows that travel or not; changes: are changes shown?"""

    reads_streams = False  # it orders nothing, so nothing is late

    def __init__(
        self, graph: QueryGraph, vertex: str, inputs: list[pa.Schema], changing: list[bool], changes: bool
    ) -> None:
        node = graph.vertices[vertex]
        assert isinstance(node, Relation), "a view is a relation"
        plain = [drop_hidden(schema) for schema in inputs]
        made = run_relational(node, [empty_table(schema) for schema in plain]).schema
        self.view = open_view(
            write_duckdb_query(node.query),
            dict(zip(node.inputs, plain, strict=True)),
            [not each for each in changing],
            made,
        )
        digest = graph.digests[vertex]
        self.vertices = [vertex]
        self.identity = EngineIdentity((digest,), (f"{vertex}: {node.describe()}",), {})
        self.counts = Counts()
        self.schemas = [with_carried(made) if changes else made]
        self._changes = changes
        self._names = RowNames(digest, by_values=not self.view.plan.identity)
        self._order = "" if changes else write_order(node.query, made.names)
        waits = not changes and (bool(self._order) or not self.view.plan.appends)
        self._waiting = Trace(made) if waits else None  # rows for the end
        self._version = 0
        self._places = 0

    def explain_kept_rows(self) -> list[str]:
        return self.view.explain_kept_rows()

    def explain_waiting(self) -> str | None:
        """Why its rows come at the end only; None: they come as they are made."""
        if self._waiting is None:
            return None
        return (
            f"rows of {self.identity.described[0]} may always change: they come when the query is finished; "
            'emit="changes" gives each of them when it comes and when it goes'
        )

    def push(self, inputs: list[pa.Table], tables: Tables, heard: Heard) -> list[pa.Table]:  # noqa: ARG002
        """What came and went with one more batch."""
        given = [_read_changes(table) for table in inputs]
        self.counts.events += sum(map(len, given))
        delta, identity = self.view.push(given)
        self._version += 1
        if self._changes:
            rows = self._names.name(delta, identity, self._version, self._places)
            self._places += len(rows)
        elif self._waiting is not None:
            self._waiting.add(np.zeros(len(delta), dtype=np.uint64), delta)
            rows = self.schemas[0].empty_table()
        else:
            single = delta.single()
            assert not len(single) or single.weights.min() > 0, "rows of this view never go"
            rows = single.rows
        self.counts.rows += len(rows)
        return [rows]

    def finish(self, inputs: list[pa.Table]) -> list[pa.Table]:
        """The rows that are left, given the last ones that come in."""
        rows = self.push(inputs, {}, {})
        if self._waiting is None:
            return rows
        last = self._waiting.rows().single().rows
        if self._order:
            last = run_duckdb(f"SELECT * FROM _0 ORDER BY {self._order}", {"_0": last}).cast(last.schema)
        self.counts.rows += len(last)
        return [last]

    def take_late(self) -> pa.Table:
        return self.schemas[0].empty_table()

    def list_clocks(self) -> list[tuple[str, int]]:
        """It waits for no stream."""
        return []

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> tuple[dict[str, Any], list[bytes]]:
        """What the view knows: a header for JSON, and parts."""
        kept = self.view.keep()
        header = {
            **self.identity.header(),
            "view": [len(tables) for tables in kept],
            "version": self._version,
            "places": self._places,
            "counts": self.counts.as_dict(),
        }
        tables = [table for part in kept for table in part]
        tables.append(self._names.keep())
        if self._waiting is not None:
            tables.append(self._waiting.rows().weighted())
        return header, [write_table(table) for table in tables]

    def read_state(self, header: Mapping[str, Any], parts: list[bytes]) -> None:
        """Go on from there."""
        tables = [read_table_bytes(part) for part in parts]
        kept = []
        for count in header["view"]:
            kept.append(tables[:count])
            tables = tables[count:]
        self.view.restore(kept)
        self._names.restore(tables[0])
        if self._waiting is not None and len(tables) > 1:
            delta = Delta.read(tables[1])
            self._waiting.add(np.zeros(len(delta), dtype=np.uint64), delta)
        self._version, self._places = header["version"], header["places"]
        self.counts = Counts(**header["counts"])


def _read_changes(table: pa.Table) -> Delta:
    """Rows that travel, or that only come."""
    if GONE not in table.column_names:
        return Delta.inserts(table)
    gone = read_flags(table.column(GONE))
    rows = table.select([name for name in table.column_names if name not in HIDDEN])
    return Delta(rows, np.where(gone, -1, 1).astype(np.int64))
