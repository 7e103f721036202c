"""OVER at work on rows in order: the kernel says which are settled and what they pick, columns come from the log."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.execution.blob import read_blob, write_blob
from cepheid.execution.event_log import EventLog
from cepheid.execution.frame_aggregates import aggregate_frames
from cepheid.execution.kept_parts import merge_events, refuse_split, split_events
from cepheid.execution.numbering import Numbering
from cepheid.execution.operator import KeptEvents, Owners, PlacedRows, Share, kept_events
from cepheid.execution.placed_rows import Ordinals, Places, take_events
from cepheid.graph.cell_types import type_of_over_cell, type_of_windowed
from cepheid.graph.operators import OverRows
from cepheid.graph.operators.over_rows import OverCell
from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.over import OverEvents, SettledRows
from cepheid.kernel.over_rows import OverRowsKernel
from cepheid.kernel.partition_rows import Arrays, list_rows
from cepheid.schema import empty_table

if TYPE_CHECKING:  # the reference twin is loaded if it is asked for
    from cepheid.kernel.reference.over_rows import ReferenceOverRows


class OverOperator:
    def __init__(self, node: OverRows, layout: pa.Schema, twin: str) -> None:
        self._node = node
        types = {field.name: field.type for field in layout}
        self.schemas = [
            pa.schema([(cell.name, type_of_over_cell(cell, types, node.aggregates)) for cell in node.cells])
        ]
        self._types = [type_of_windowed(aggregate, types) for aggregate in node.aggregates]
        keys = [f"_key{number}" for number in range(node.keys)]
        self._keys = Numbering(keys, layout, Interner())
        self._valued = node.value_columns()
        self._computed = list(dict.fromkeys([*keys, *self._valued]))
        self._kernel: OverRowsKernel | ReferenceOverRows = (
            OverRowsKernel(node.program) if twin == "compiled" else _make_reference(node)
        )
        self._log = EventLog(layout)
        self._ordinals = Ordinals()

    def expect(self, count: int) -> None:
        self._log.expect(count)

    def step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> list[pa.Table]:
        self._log.append(released)
        return [self._write_rows(self._kernel.step(self._read_events(released, times), horizon, final))]

    def step_placed(self, share: Share) -> list[PlacedRows]:
        self._ordinals.append(share.events, share.first)
        events = self._read_events(take_events(share.released, self._computed, share.events), share.times)
        self._log.append(share.released, share.events)
        found = self._kernel.step(events, share.horizon, share.final)
        return [PlacedRows(self._write_rows(found), self._place_rows(found))]

    def _place_rows(self, found: SettledRows) -> Places:
        by_row = found.triggers >= 0
        triggers = np.full(len(found), -1, dtype=np.int64)
        triggers[by_row] = self._ordinals.take(found.triggers[by_row])
        return found.moments, (~by_row).astype(np.int64), triggers, self._ordinals.take(found.rows)

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
        needed = self._compiled.needed(horizon)
        return kept_events(self._log.take_rows(needed), _write_arrays(self._compiled.keep(needed)))

    def pick(self, partials: bytes, members: list[int]) -> bytes:
        assert members == [0], "it shares its engine with no other"
        return partials

    def split(self, kept: KeptEvents, owners: Owners, count: int) -> list[KeptEvents]:
        refuse_split([self._node], count)
        if count == 1:
            return [kept]
        parts, owner = split_events(kept, owners, count, self._node)
        if not kept.partials:
            return parts
        arrays = _read_arrays(kept.partials)
        return [
            replace(part, partials=_write_arrays({name: values[rows] for name, values in arrays.items()}))
            for part, rows in zip(parts, list_rows(owner, count), strict=True)
        ]

    def merge(self, parts: list[KeptEvents]) -> KeptEvents:
        refuse_split([self._node], len(parts))
        if len(parts) == 1:
            return parts[0]
        merged, places = merge_events(parts, self._node)
        told = [
            (_read_arrays(part.partials), where) for part, where in zip(parts, places, strict=True) if part.partials
        ]
        if not told:
            return merged
        arrays = {name: np.zeros(sum(map(len, places)), dtype=np.int64) for name in told[0][0]}
        for read, where in told:
            for name, values in read.items():
                arrays[name][where] = values
        return replace(merged, partials=_write_arrays(arrays))

    def replay(self, kept: KeptEvents, times: Int64s, order: Int64s | None) -> None:
        if not kept.partials:
            return
        table = kept.table if order is None else kept.table.take(pa.array(order))
        self._log.append(table)
        self._compiled.restore(self._read_events(table, times), _read_arrays(kept.partials))

    def replay_placed(self, kept: KeptEvents, times: Int64s, ordinals: Int64s) -> None:
        self.replay(kept, times, None)
        if kept.partials:
            self._ordinals.append(ordinals)

    @property
    def _compiled(self) -> OverRowsKernel:
        assert isinstance(self._kernel, OverRowsKernel), "the reference twin runs whole tables"
        return self._kernel

    def _read_events(self, table: pa.Table, times: Int64s) -> OverEvents:
        keys, _ = self._keys.number(table)
        with_value = {name: pc.is_valid(table.column(name)).to_numpy() for name in self._valued}
        return OverEvents(times, keys, with_value)

    def _write_rows(self, found: SettledRows) -> pa.Table:
        (schema,) = self.schemas
        if not len(found):
            return empty_table(schema)
        aggregates: list[pa.Array] = []
        if found.frames is not None:
            aggregates = aggregate_frames(self._node.aggregates, self._types, self._log, *found.frames)
        columns = [self._write_cell(cell, found, aggregates) for cell in self._node.cells]
        return pa.Table.from_arrays(columns, schema=schema)

    def _write_cell(self, cell: OverCell, found: SettledRows, aggregates: list[pa.Array]) -> pa.Array | pa.ChunkedArray:
        match cell.kind:
            case "aggregate":
                return aggregates[cell.number]
            case "number":
                return pa.array(found.answers[cell.number])
            case "found":
                return pa.array(found.answers[cell.number] >= 0)
        assert cell.column is not None, f"{cell.kind} reads a column"
        return self._log.take(cell.column, found.rows if cell.kind == "row" else found.answers[cell.number])


def _write_arrays(arrays: Arrays) -> bytes:
    state = io.BytesIO()
    np.savez(state, **arrays)  # type: ignore[arg-type]
    return write_blob({}, [state.getvalue()])


def _read_arrays(partials: bytes) -> Arrays:
    _, (state,) = read_blob(partials)
    return dict(np.load(io.BytesIO(state)))


def _make_reference(node: OverRows) -> ReferenceOverRows:
    from cepheid.kernel.reference.over_rows import ReferenceOverRows

    return ReferenceOverRows(node.program)
