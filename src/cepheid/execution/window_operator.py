"""Windows at work on events in order: one kernel for all windows over the same events, cells out of its rows.

Events that WHERE leaves out have their place in the window all the same: they make up groups of their own, of which
no row is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.event_time import restore_values
from cepheid.execution.arrange_rows import arrange_rows, rank_rows
from cepheid.execution.event_log import EventLog
from cepheid.execution.kept_parts import merge_events, refuse_split, split_events
from cepheid.execution.kernel_arrays import write_answers
from cepheid.execution.log_column import NumberColumn, Picked
from cepheid.execution.numbering import Numbering
from cepheid.execution.operator import KeptEvents, Owners, PlacedRows, Share, kept_events
from cepheid.execution.placed_rows import KeyOrders, Ordinals, Places, take_events
from cepheid.execution.window_state import Grouping, KnownNumbers, WindowState, merge_numbers
from cepheid.graph.cell_types import type_of_window_cell, type_of_windowed
from cepheid.graph.operators import WindowAggregate
from cepheid.graph.operators.window_aggregate import KEPT, WindowCell
from cepheid.kernel.columns import Int64s, Interner, kind_of, read_column
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import WindowEvents, WindowProgram, WindowRows, take_rows
from cepheid.schema import empty_table

if TYPE_CHECKING:  # the reference twin is loaded if it is asked for
    from cepheid.kernel.reference.windows import ReferenceWindows

LAST = np.int64(2**63 - 1)


class WindowOperator:
    def __init__(
        self, nodes: list[WindowAggregate], layout: pa.Schema, twin: str, counts: bool = False, few: bool = False
    ) -> None:
        """`counts`: events of others count in the windows, though they are not given; so the times of those that are,
        are their ordinals among all; few: events will come a few at a time as well."""
        self._nodes = nodes
        self._counts = counts
        self._layout = layout
        types = {field.name: field.type for field in layout}
        self._aggregate_types = [[type_of_windowed(each, types) for each in node.program.aggregates] for node in nodes]
        self.schemas = [
            pa.schema([(cell.name, type_of_window_cell(cell, types, aggregates)) for cell in node.cells])
            for node, aggregates in zip(nodes, self._aggregate_types, strict=True)
        ]
        self._interner = Interner()
        self._keys = [f"_key{number}" for number in range(nodes[0].keys)]
        self._groupings = [_name_grouping(node) for node in nodes]
        self._numberings = {
            grouping: Numbering([*self._keys, *grouping], layout, self._interner, few)
            for grouping in ((), *self._groupings)
        }
        self._columns = list(dict.fromkeys(column for node in nodes for column in node.aggregate_columns()))
        grouped = [column for grouping in self._groupings for column in grouping]
        self._computed = list(dict.fromkeys([*self._keys, *grouped, *self._columns]))
        programs = tuple(_by_ordinals(node.program) if counts else node.program for node in nodes)
        find_rows = CompiledWindows if twin == "compiled" else _load_reference()
        self._kernel: CompiledWindows | ReferenceWindows = find_rows(programs, self._interner)
        self._keeps_events = not isinstance(self._kernel, CompiledWindows) or self._kernel.keeps_events
        self._log = EventLog(layout, self._interner if few and self._keeps_events else None)
        self._base = 0  # events that are no longer in the log: only where none are kept
        self._ordinals: Ordinals | None = None  # if rows are placed among those of others
        self._key_orders = [KeyOrders() for _ in nodes]

    def expect(self, count: int) -> None:
        if self._keeps_events:
            self._log.expect(count)

    def step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> list[pa.Table]:
        events = self._read_events(released, times)
        self._begin_log()
        self._log.append(released)
        return [rows.table for rows in self._find_rows(events, horizon, final)]

    def step_placed(self, share: Share) -> list[PlacedRows]:
        events = self._read_events(take_events(share.released, self._computed, share.events), share.times)
        self._begin_log()
        self._log.append(share.released, share.events)
        self._learn_places(events, share.ordinals)
        return self._find_rows(events, share.horizon, share.final)

    def _begin_log(self) -> None:
        """Where no events are kept, only those of this step are in the log."""
        if not self._keeps_events:
            self._base += len(self._log)
            self._log = EventLog(self._layout)

    def _find_rows(self, events: WindowEvents, horizon: int, final: bool) -> list[PlacedRows]:
        if isinstance(self._kernel, CompiledWindows):  # program by program: many of them need no more room than one
            found = self._kernel.step_each(events, horizon, final)
        else:
            found = iter(self._kernel.step(events, horizon, final))
        return [self._write_rows(number, rows) for number, rows in enumerate(found)]

    def take_dropped(self) -> int:
        return 0

    def is_waiting(self) -> bool:
        return self._compiled.is_waiting()

    def floor(self, horizon: int) -> int:
        return self._compiled.floor(horizon)

    @property
    def _compiled(self) -> CompiledWindows:
        assert isinstance(self._kernel, CompiledWindows), "the reference twin runs whole tables"
        return self._kernel

    # --- a few events at a time (execution/lane) -----------------------------------------------------------
    @property
    def interner(self) -> Interner:
        return self._interner

    @property
    def log(self) -> EventLog:
        return self._log

    @property
    def kernel(self) -> CompiledWindows | ReferenceWindows:
        return self._kernel

    @property
    def cells(self) -> tuple[WindowCell, ...]:
        return self._nodes[0].cells

    @property
    def can_pick(self) -> bool:
        """Are the rows of the first vertex what the kernel gives, cell by cell?"""
        node = self._nodes[0]
        arranged = node.arrangement.order or node.arrangement.limit is not None or node.arrangement.offset
        return not (node.filtered or arranged or any(cell.kind == "rank" for cell in node.cells))

    @property
    def aggregated(self) -> dict[str, Any] | None:
        """The columns that are aggregated, and their types in the kernel; None: there are some that are no numbers."""
        kinds = {name: kind_of(self._layout.field(name).type) for name in self._columns}
        if None in kinds.values():
            return None
        return {name: np.float64 if kind == "float" else np.int64 for name, kind in kinds.items()}

    def list_numberings(self) -> list[Numbering]:
        """Of keys, and of the groups of the first vertex."""
        return list(dict.fromkeys([self._numberings[()], self._numberings[self._groupings[0]]]))

    def pick_cell(self, cell: WindowCell, rows: WindowRows) -> Picked:
        """A cell of the first vertex that is a value of an event or of a group."""
        return self.column_of(cell).pick(rows.groups if cell.kind == "group" else rows.events, None)

    def column_of(self, cell: WindowCell) -> NumberColumn:
        """Where such a cell is read from."""
        log = self._numberings[self._groupings[0]].rows if cell.kind == "group" else self._log
        columns = log.columns
        assert columns is not None, "a lane has logs of arrays"
        assert cell.column is not None, f"{cell.kind} reads a column"
        return columns[cell.column]

    def write_rows(self, number: int, rows: WindowRows) -> pa.Table:
        return self._write_rows(number, rows).table

    def write_cell(
        self, number: int, cell: WindowCell, rows: WindowRows, arrow_type: pa.DataType
    ) -> pa.Array | pa.ChunkedArray:
        return self._write_cell(number, cell, rows, arrow_type)

    # --- state -------------------------------------------------------------------------------------------
    def count_kept(self) -> int:
        kept = len(self._log) if self._keeps_events else 0
        return kept + sum(map(len, self._numberings.values()))

    def count_needed(self, horizon: int) -> int:
        if self._keeps_events:
            events = int(self._compiled.needed(horizon).sum())
            return events + sum(min(len(numbering), events) for numbering in self._numberings.values())
        return sum(len(numbers) for numbers in self._known_numbers().values())

    def keep(self, horizon: int) -> KeptEvents:
        table = self._log.take_rows(self._compiled.needed(horizon)) if self._keeps_events else empty_table(self._layout)
        numbers = {
            grouping: KnownNumbers(known, self._numberings[grouping].take_rows(known))
            for grouping, known in self._known_numbers().items()
        }
        texts = self._interner.texts() if self._holds_texts() else []
        return kept_events(table, WindowState(self._compiled.keep(horizon), numbers, texts).write())

    def pick(self, partials: bytes, members: list[int]) -> bytes:
        if not partials:
            return partials
        state = WindowState.read(partials)
        numbers = {f"{old}.": f"{new}." for new, old in enumerate(members)}
        picked = {
            numbers[name[: name.index(".") + 1]] + name[name.index(".") + 1 :]: array
            for name, array in state.arrays.items()
            if name[: name.index(".") + 1] in numbers
        }
        return WindowState(picked, state.numbers, state.texts).write()

    def split(self, kept: KeptEvents, owners: Owners, count: int) -> list[KeptEvents]:
        refuse_split(self._nodes, count)
        if count == 1:
            return [kept]
        parts, events = split_events(kept, owners, count, self._nodes[0])
        if not kept.partials:
            return parts
        state = WindowState.read(kept.partials)
        whose = {grouping: known.find_owners(owners, self._keys) for grouping, known in state.numbers.items()}
        groups = tuple(whose[grouping] for grouping in self._groupings)
        arrays = self._compiled.split(state.arrays, count, whose[()], groups, events)
        numbers = {grouping: known.split(whose[grouping], count) for grouping, known in state.numbers.items()}
        told = [
            WindowState(arrays[part], {grouping: split[part] for grouping, split in numbers.items()}, state.texts)
            for part in range(count)
        ]
        return [replace(part, partials=of_part.write()) for part, of_part in zip(parts, told, strict=True)]

    def merge(self, parts: list[KeptEvents]) -> KeptEvents:
        refuse_split(self._nodes, len(parts))
        if len(parts) == 1:
            return parts[0]
        merged, places = merge_events(parts, self._nodes[0])
        told = [
            (WindowState.read(part.partials), where) for part, where in zip(parts, places, strict=True) if part.partials
        ]
        if not told:
            return merged
        states = [state for state, _ in told]
        numbers, renumbered = merge_numbers([state.numbers for state in states])
        arrays = self._compiled.merge(
            [state.arrays for state in states],
            [of_part[()] for of_part in renumbered],
            [tuple(of_part[grouping] for grouping in self._groupings) for of_part in renumbered],
            [where for _, where in told],
        )
        texts = list(dict.fromkeys(text for state in states for text in state.texts))
        return replace(merged, partials=WindowState(arrays, numbers, texts).write())

    def replay(self, kept: KeptEvents, times: Int64s, order: Int64s | None) -> None:
        if not kept.partials:
            return
        state = WindowState.read(kept.partials)
        for text in state.texts:
            self._interner.number_of(text)
        renumbered: dict[Grouping, Int64s] = {}
        for grouping, known in state.numbers.items():
            if grouping in self._numberings:  # those of vertices that are no longer there are not
                renumbered[grouping] = self._numberings[grouping].renumber(known.numbers, known.rows)
        table = kept.table if order is None else kept.table.take(pa.array(order))
        events = self._read_events(table, times)
        self._log.append(table)
        groups = tuple(renumbered[grouping] for grouping in self._groupings)
        self._compiled.restore(events, state.arrays, renumbered[()], groups)

    def replay_placed(self, kept: KeptEvents, times: Int64s, ordinals: Int64s) -> None:
        self.replay(kept, times, None)
        self._ordinals = Ordinals()
        if not kept.partials:
            return
        self._ordinals.append(ordinals)
        numbers = WindowState.read(kept.partials).numbers
        keys = self._numberings[()]
        new, _ = keys.number(numbers[()].rows)
        of_events, _ = keys.number(kept.table)
        for number, grouping in enumerate(self._groupings):
            if not _follows_events(self._nodes[number]):
                known, groups = self._key_orders[number], self._numberings[grouping]
                known.learn(new, new[:0], numbers[()].numbers)
                rows = numbers[grouping].rows
                known.learn(keys.number(rows)[0], groups.number(rows)[0], np.zeros(len(rows), dtype=np.int64))
                known.learn(of_events, groups.number(kept.table)[0], ordinals)

    def _known_numbers(self) -> dict[Grouping, Int64s]:
        """Numbers that the kernel's state tells of, ascending, for each numbering."""
        known: dict[Grouping, list[Int64s]] = {(): [self._compiled.known_keys()]}
        for number, grouping in enumerate(self._groupings):
            known.setdefault(grouping, []).append(self._compiled.known_groups(number))
        return {grouping: np.unique(np.concatenate(numbers)) for grouping, numbers in known.items()}

    def _holds_texts(self) -> bool:
        return not self._keeps_events and any(
            "string" in (aggregate.column_kind, aggregate.by_kind)
            for node in self._nodes
            for aggregate in node.program.aggregates
        )

    # --- events in ---------------------------------------------------------------------------------------
    def _read_events(self, table: pa.Table, times: Int64s) -> WindowEvents:
        numbers = {grouping: numbering.number(table)[0] for grouping, numbering in self._numberings.items()}
        columns = {name: read_column(table.column(name), self._interner) for name in self._columns}
        return WindowEvents(times, numbers[()], tuple(numbers[grouping] for grouping in self._groupings), columns)

    # --- places ------------------------------------------------------------------------------------------
    def _learn_places(self, events: WindowEvents, ordinals: Int64s) -> None:
        if self._ordinals is None:
            self._ordinals = Ordinals()
        elif not self._keeps_events:
            self._ordinals.forget()
        self._ordinals.append(ordinals)
        for number, node in enumerate(self._nodes):
            if not _follows_events(node):
                self._key_orders[number].learn(events.keys, events.groups[number], ordinals)

    def _place_rows(self, number: int, rows: WindowRows) -> Places:
        """What decides about the order of rows among those of other operators: the event at which they came out; of
        what time brings about, the moment and then the key that came first.

        What is due at a moment M because a window [a, M) closes comes before the events of M, all else behind them,
        and what is open at the end behind everything."""
        node = self._nodes[number]
        assert self._ordinals is not None, "they were learned"
        if _follows_events(node):
            return (self._ordinals.take(rows.events),)
        window = node.program.window
        orders = self._key_orders[number].take(rows.groups)
        if window.peers or window.kind == "session":
            return rows.moments, np.full(len(rows), 2), orders
        if window.kind == "time" and window.slide is not None:
            return rows.moments, np.zeros(len(rows), dtype=np.int64), orders
        at_event = rows.events >= 0
        ordinals = orders.copy()
        ordinals[at_event] = self._ordinals.take(rows.events[at_event])
        return np.where(at_event, rows.moments, LAST), np.where(at_event, 1, rows.moments), ordinals

    # --- rows out ----------------------------------------------------------------------------------------
    def _write_rows(self, number: int, rows: WindowRows) -> PlacedRows:
        node, schema = self._nodes[number], self.schemas[number]
        if node.filtered and len(rows):
            rows = take_rows(rows, self._find_kept(number, rows))
        if not len(rows):
            return PlacedRows(empty_table(schema), ())
        cells: dict[str, pa.Array | pa.ChunkedArray] = {}
        for cell in node.cells:  # ranks come last: they look at others
            if cell.kind != "rank":
                cells[cell.name] = self._write_cell(number, cell, rows, schema.field(cell.name).type)
        for cell in node.cells:
            if cell.kind == "rank":
                cells[cell.name] = pa.array(rank_rows(cell.function, cell.order, cells, rows.evaluations))
        table = pa.Table.from_arrays([cells[name] for name in schema.names], schema=schema)
        places = () if self._ordinals is None else self._place_rows(number, rows)
        order = arrange_rows(node.arrangement, cells, rows.evaluations)
        if order is None:
            return PlacedRows(table, places)
        return PlacedRows(table.take(pa.array(order)), tuple(place[order] for place in places))

    def _find_kept(self, number: int, rows: WindowRows) -> npt.NDArray[np.bool_]:
        """bool[rows]: are they about what WHERE leaves in?"""
        if self._nodes[number].program.members:
            kept = self._log.take(KEPT, rows.events - self._base)
        else:
            kept = self._numberings[self._groupings[number]].take(KEPT, rows.groups)
        found: npt.NDArray[np.bool_] = kept.to_numpy()
        return found

    def _write_cell(
        self, number: int, cell: WindowCell, rows: WindowRows, arrow_type: pa.DataType
    ) -> pa.Array | pa.ChunkedArray:
        match cell.kind:
            case "aggregate":
                return write_answers(rows.values[cell.number], arrow_type, self._interner)
            case "start":
                return restore_values(rows.starts, arrow_type)
            case "end" | "moment" if self._counts:
                return self._log.take("_time", rows.events - self._base)
            case "end":
                return restore_values(rows.ends, arrow_type)
            case "moment":
                return restore_values(rows.moments, arrow_type)
            case "evaluation":
                return pa.array(rows.evaluations)
            case "sign":
                assert rows.signs is not None, "the program shows changes"
                return pa.array(rows.signs.astype(np.int64))
        assert cell.column is not None, f"{cell.kind} reads a column"
        if cell.kind == "row":
            return self._log.take(cell.column, rows.events - self._base)
        return self._numberings[self._groupings[number]].take(cell.column, rows.groups)


def _name_grouping(node: WindowAggregate) -> Grouping:
    """The columns that part the events of a key into groups."""
    if node.program.members:
        return ()
    groups = tuple(f"_group{number}" for number in range(node.groups))
    return (*groups, KEPT) if node.filtered else groups


def _by_ordinals(program: WindowProgram) -> WindowProgram:
    """The last R events, where each one's time is its ordinal: those of a span of R."""
    assert program.window.kind == "count", "a window that counts"
    assert program.window.is_sliding, "and slides"
    return replace(program, window=replace(program.window, kind="time"))


def _follows_events(node: WindowAggregate) -> bool:
    """Does each row come out at an event, in the order of events?  Of the whole stream peers do as well: there is no
    other key that could come between them."""
    if node.program.evaluation.when == "event":
        return not (node.program.window.peers and node.keys)
    return node.program.evaluation.when == "count"


def _load_reference() -> type[ReferenceWindows]:
    from cepheid.kernel.reference.windows import ReferenceWindows

    return ReferenceWindows
