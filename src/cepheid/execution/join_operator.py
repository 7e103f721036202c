"""Joins at work on the events of several streams in order: one kernel for all joins over the same events.

The kernel finds candidates by key and window; what else the condition asks of a pair, DuckDB answers for many pairs
at once.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.event_time import restore_values
from cepheid.execution.blob import read_blob, write_blob
from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.execution.event_log import EventLog
from cepheid.execution.kept_parts import merge_events, refuse_split, split_events
from cepheid.execution.numbering import Numbering
from cepheid.execution.operator import KeptEvents, Owners, PlacedRows, Share, kept_events
from cepheid.execution.placed_rows import Ordinals, Places, take_events
from cepheid.graph.operators import WindowJoin
from cepheid.graph.operators.window_join import JoinCell
from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.join import CompiledJoin
from cepheid.kernel.join import Accept, JoinEvents, JoinProgram, JoinRows
from cepheid.kernel.partition_rows import Arrays, list_rows
from cepheid.schema import empty_table

if TYPE_CHECKING:  # the reference twin is loaded if it is asked for
    from cepheid.kernel.reference.join import ReferenceJoin


class JoinOperator:
    def __init__(self, nodes: list[WindowJoin], layout: pa.Schema, twin: str, few: bool = False) -> None:
        """few: events will come a few at a time as well."""
        self._nodes = nodes
        self._layout = layout
        types = {field.name: field.type for field in layout}
        self.schemas = [pa.schema([(cell.name, types[cell.column]) for cell in node.cells]) for node in nodes]
        self._interner = Interner()
        first = nodes[0]
        keys = [f"_key{number}" for number in range(first.keys)]
        self._keys = Numbering(keys, layout, self._interner, few)
        parts = [f"_part{number}" for number in range(max(first.parts))]
        self._parts = Numbering(parts, layout, self._interner, few)
        self._computed = [*keys, *parts, "_stream"]
        programs = tuple(node.program for node in nodes)
        self._kernel = CompiledJoin(programs) if twin == "compiled" else None
        self._reference = [] if twin == "compiled" else _make_reference(programs)
        self._log = EventLog(layout, self._interner if few else None)
        self._accepts = [_make_accept(node, self._log) for node in nodes]
        self._ordinals = Ordinals()

    # --- a few events at a time (execution/lane) -----------------------------------------------------------
    @property
    def interner(self) -> Interner:
        return self._interner

    @property
    def log(self) -> EventLog:
        return self._log

    @property
    def kernel(self) -> CompiledJoin | None:
        return self._kernel

    @property
    def cells(self) -> tuple[JoinCell, ...]:
        return self._nodes[0].cells

    @property
    def has_conditions(self) -> bool:
        return any(accept is not None for accept in self._accepts)

    def list_numberings(self) -> list[Numbering]:
        """Of keys, and of partitions."""
        return [self._keys, self._parts]

    def expect(self, count: int) -> None:
        self._log.expect(count)

    def step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> list[pa.Table]:
        events = self._read_events(released, times)
        self._log.append(released)
        found = self._find_rows(events, horizon, final)
        return [self._write_rows(number, rows) for number, rows in enumerate(found)]

    def step_placed(self, share: Share) -> list[PlacedRows]:
        self._ordinals.append(share.events, share.first)
        events = self._read_events(take_events(share.released, self._computed, share.events), share.times)
        self._log.append(share.released, share.events)
        found = self._find_rows(events, share.horizon, share.final)
        return [
            PlacedRows(self._write_rows(number, rows), self._place_rows(number, rows))
            for number, rows in enumerate(found)
        ]

    def _place_rows(self, number: int, found: JoinRows) -> Places:
        """By triggers; those that leave come behind all triggers of the moment."""
        ordinals = self._ordinals.take(found.rows.max(axis=1))
        if not self._nodes[number].program.emits_leavers:
            return (ordinals,)
        return found.moments, (found.rows.min(axis=1) < 0).astype(np.int64), ordinals

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
        table = self._log.take_rows(self._compiled.needed(horizon))
        header = {"leavers": self._compiled.leavers}
        return kept_events(table, _write_state(header, self._compiled.keep(horizon)))

    def pick(self, partials: bytes, members: list[int]) -> bytes:
        if not partials:
            return partials
        header, arrays = _read_state(partials)
        leavers = [header["leavers"][member] for member in members]
        rows = sorted(row for row in leavers if row >= 0)
        arrays["settled"] = arrays["settled"][rows]
        return _write_state({"leavers": [rows.index(row) if row >= 0 else row for row in leavers]}, arrays)

    def split(self, kept: KeptEvents, owners: Owners, count: int) -> list[KeptEvents]:
        self._refuse_split(count)
        if count == 1:
            return [kept]
        parts, owner = split_events(kept, owners, count, self._nodes[0])
        if not kept.partials:
            return parts
        header, arrays = _read_state(kept.partials)
        return [
            replace(part, partials=_write_state(header, {**arrays, "settled": arrays["settled"][:, rows]}))
            for part, rows in zip(parts, list_rows(owner, count), strict=True)
        ]

    def merge(self, parts: list[KeptEvents]) -> KeptEvents:
        self._refuse_split(len(parts))
        if len(parts) == 1:
            return parts[0]
        merged, places = merge_events(parts, self._nodes[0])
        told = [
            (*_read_state(part.partials), where) for part, where in zip(parts, places, strict=True) if part.partials
        ]
        if not told:
            return merged
        settled = np.zeros((len(told[0][1]["settled"]), sum(map(len, places))), dtype=np.uint8)
        for _, arrays, where in told:
            settled[:, where] = arrays["settled"]
        last = np.max([arrays["last"] for _, arrays, _ in told], axis=0)
        return replace(merged, partials=_write_state(told[0][0], {"settled": settled, "last": last}))

    def _refuse_split(self, count: int) -> None:
        refuse_split(self._nodes, count)
        programs = [node.program for node in self._nodes]
        if count > 1 and any(program.emits_leavers and None in _list_sizes(program) for program in programs):
            raise NotSupportedYet(
                "an outer join whose rows come at the end of all streams, on several engines",
                hint="bound the times of both sides, or run it on one engine",
            )

    def replay_placed(self, kept: KeptEvents, times: Int64s, ordinals: Int64s) -> None:
        self.replay(kept, times, None)
        self._ordinals.append(ordinals)

    def replay(self, kept: KeptEvents, times: Int64s, order: Int64s | None) -> None:
        if not kept.partials:
            return
        _, arrays = _read_state(kept.partials)
        table = kept.table if order is None else kept.table.take(pa.array(order))
        self._log.append(table)
        self._compiled.restore(self._read_events(table, times), arrays)

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

    def _write_rows(self, number: int, found: JoinRows) -> pa.Table:
        schema = self.schemas[number]
        if not len(found):
            return empty_table(schema)
        columns = [
            restore_values(found.moments, schema.field(cell.name).type)
            if cell.input < 0
            else self._log.take(cell.column, np.ascontiguousarray(found.rows[:, cell.input]))
            for cell in self._nodes[number].cells
        ]
        return pa.Table.from_arrays(columns, schema=schema)


def _make_accept(node: WindowJoin, log: EventLog) -> Accept | None:
    if node.condition is None:
        return None
    asked = f"SELECT coalesce({write_duckdb(node.condition)}, FALSE) AS holds FROM _input"
    cells = [cell for cell in node.cells if cell.input >= 0]

    def accept(candidates: Int64s) -> npt.NDArray[np.bool_]:
        columns = {cell.name: log.take(cell.column, candidates[:, cell.input].copy()) for cell in cells}
        answers = run_duckdb(asked, {"_input": pa.table(columns)}).column(0)
        holds: npt.NDArray[np.bool_] = answers.to_numpy()
        return holds

    return accept


def _write_state(header: dict[str, Any], arrays: Arrays) -> bytes:
    state = io.BytesIO()
    np.savez(state, **arrays)  # type: ignore[arg-type]
    return write_blob(header, [state.getvalue()])


def _read_state(partials: bytes) -> tuple[dict[str, Any], Arrays]:
    header, (state,) = read_blob(partials)
    return header, dict(np.load(io.BytesIO(state)))


def _list_sizes(program: JoinProgram) -> list[int | None]:
    return [window.size for window in program.inputs]


def _make_reference(programs: tuple[JoinProgram, ...]) -> list[ReferenceJoin]:
    from cepheid.kernel.reference.join import ReferenceJoin

    return [ReferenceJoin(program) for program in programs]
