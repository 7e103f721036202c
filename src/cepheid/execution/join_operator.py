"""Joins at work on the events of several streams in order: one kernel for all joins over the same events.

The kernel finds candidates by key and window; what else the condition asks of a pair, DuckDB answers for many pairs
at once.
"""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.event_time import restore_values
from cepheid.execution.blob import read_blob, write_blob
from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.execution.event_log import EventLog
from cepheid.execution.numbering import Numbering
from cepheid.execution.operator import KeptEvents, kept_events
from cepheid.graph.operators import WindowJoin
from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.join import CompiledJoin
from cepheid.kernel.join import Accept, JoinEvents, JoinRows
from cepheid.kernel.reference.join import ReferenceJoin


class JoinOperator:
    def __init__(self, nodes: list[WindowJoin], layout: pa.Schema, twin: str) -> None:
        self._nodes = nodes
        self._layout = layout
        types = {field.name: field.type for field in layout}
        self.schemas = [pa.schema([(cell.name, types[cell.column]) for cell in node.cells]) for node in nodes]
        self._interner = Interner()
        first = nodes[0]
        self._keys = Numbering([f"_key{number}" for number in range(first.keys)], layout, self._interner)
        parts = [f"_part{number}" for number in range(max(first.parts))]
        self._parts = Numbering(parts, layout, self._interner)
        programs = tuple(node.program for node in nodes)
        self._kernel = CompiledJoin(programs) if twin == "compiled" else None
        self._reference = [ReferenceJoin(program) for program in programs if twin != "compiled"]
        self._accepts = [self._make_accept(node) for node in nodes]
        self._log = EventLog(layout)

    def expect(self, count: int) -> None:
        pass

    def step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> list[pa.Table]:
        events = self._read_events(released, times)
        self._log.append(released)
        found = self._find_rows(events, horizon, final)
        return [self._write_rows(number, rows) for number, rows in enumerate(found)]

    def _find_rows(self, events: JoinEvents, horizon: int, final: bool) -> list[JoinRows]:
        if self._kernel is not None:
            return self._kernel.step(events, horizon, final, self._accepts)
        asked = zip(self._reference, self._accepts, strict=True)
        return [reference.step(events, final, accept) for reference, accept in asked]

    def take_dropped(self) -> int:
        return 0

    def is_waiting(self) -> bool:
        return self._compiled.is_waiting()

    def floor(self, horizon: int) -> int:
        return self._compiled.floor(horizon)

    def count_kept(self) -> int:
        return len(self._log)

    def count_needed(self, horizon: int) -> int:
        return int(self._compiled.needed(horizon).sum())

    def keep(self, horizon: int) -> KeptEvents:
        state = io.BytesIO()
        np.savez(state, **self._compiled.keep(horizon))  # type: ignore[arg-type]
        table = self._log.take_rows(self._compiled.needed(horizon))
        return kept_events(table, write_blob({"leavers": self._compiled.leavers}, [state.getvalue()]))

    def pick(self, partials: bytes, members: list[int]) -> bytes:
        if not partials:
            return partials
        header, (state,) = read_blob(partials)
        arrays = dict(np.load(io.BytesIO(state)))
        leavers = [header["leavers"][member] for member in members]
        rows = sorted(row for row in leavers if row >= 0)
        arrays["settled"] = arrays["settled"][rows]
        written = io.BytesIO()
        np.savez(written, **arrays)
        renumbered = [rows.index(row) if row >= 0 else row for row in leavers]
        return write_blob({"leavers": renumbered}, [written.getvalue()])

    def replay(self, kept: KeptEvents, times: Int64s, order: Int64s | None) -> None:
        if not kept.partials:
            return
        _, (state,) = read_blob(kept.partials)
        table = kept.table if order is None else kept.table.take(pa.array(order))
        self._log.append(table)
        self._compiled.restore(self._read_events(table, times), dict(np.load(io.BytesIO(state))))

    @property
    def _compiled(self) -> CompiledJoin:
        assert self._kernel is not None, "the reference twin runs whole tables"
        return self._kernel

    def _read_events(self, table: pa.Table, times: Int64s) -> JoinEvents:
        keys, has_null = self._keys.number(table)
        if has_null.any():
            keys = np.where(has_null, -1, keys)  # null equals nothing
        partitions, _ = self._parts.number(table)
        return JoinEvents(times, keys, table.column("_stream").to_numpy(), partitions)

    def _make_accept(self, node: WindowJoin) -> Accept | None:
        if node.condition is None:
            return None
        asked = f"SELECT coalesce({write_duckdb(node.condition)}, FALSE) AS holds FROM _input"
        cells = [cell for cell in node.cells if cell.input >= 0]

        def accept(candidates: Int64s) -> npt.NDArray[np.bool_]:
            columns = {cell.name: self._log.take(cell.column, candidates[:, cell.input].copy()) for cell in cells}
            answers = run_duckdb(asked, {"_input": pa.table(columns)}).column(0)
            holds: npt.NDArray[np.bool_] = answers.to_numpy()
            return holds

        return accept

    def _write_rows(self, number: int, found: JoinRows) -> pa.Table:
        schema = self.schemas[number]
        if not len(found):
            return schema.empty_table()
        columns = [
            restore_values(found.moments, schema.field(cell.name).type)
            if cell.input < 0
            else self._log.take(cell.column, np.ascontiguousarray(found.rows[:, cell.input]))
            for cell in self._nodes[number].cells
        ]
        return pa.Table.from_arrays(columns, schema=schema)
