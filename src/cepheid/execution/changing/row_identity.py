"""Who the rows of an engine are: ids made of what a row is about, the same in every process and for any split into
pushes.

    pattern, SEQ   the events of the match and, of several rows of a match, the row's own event
    window         its key and group, the moment of the evaluation, and the event that brought the row about (or that it
                   is); window_start and window_end, where several windows are evaluated together; of a row ON CLOSE,
                   those instead of the moment (of a session, window_start)
    join           the events of the row, and its moment

and of the digest of the vertex.  Events are told by who they are (their stream and `_match`), never by their values,
so a row whose values change keeps its id.  Rows that agree in all of that are counted in the order in which they come
out: all of them come out together (`needs_whole_moments`).

For this the vertex gets cells more, which nobody else sees.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.event_time import order_values
from cepheid.execution.changing.change_rows import Int64s
from cepheid.execution.changing.row_hash import Hashes, hash_rows, hash_text, mix, write_ids
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import OverRows, RowPattern, Sequence, WindowAggregate, WindowJoin
from cepheid.graph.operators.over_rows import OverCell
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import CellKind, WindowCell
from cepheid.graph.operators.window_join import JoinCell
from cepheid.kernel.compiled.row_ids import are_apart
from cepheid.kernel.expression import Aggregate

EVENT = "_change.event"  # column of the layout: who the event is, as a number
TELLING = (EVENT, "_stream")  # columns that say who an event is
_ID, _TURN = "_id.", "_id.turn."
MOMENT = "_id.turn.moment"
LATENESS = "_change.lateness"  # column of the layout, where it is asked for: how late the event was
NEED = "_id.turn.need"
LAST = "_id.turn.last"  # did the row come out because the input had ended?
_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)


def with_identity(node: EngineNode, needs: bool = False) -> EngineNode:
    """The vertex with cells that say what a row is about; needs: and how late the latest of its events was."""
    if needs and isinstance(node, RowPattern | Sequence):
        latest = OutputCell(name=NEED, kind="aggregate", aggregate=Aggregate("max", LATENESS), final=True)
        identified = with_identity(node)
        assert isinstance(identified, RowPattern | Sequence), "it stays what it is"
        return replace(identified, cells=(*identified.cells, latest))
    if needs and isinstance(node, WindowJoin):
        sides = [JoinCell(name=f"{NEED}.{n}", column=LATENESS, input=n) for n in range(len(node.program.inputs))]
        identified = with_identity(node)
        assert isinstance(identified, WindowJoin), "it stays what it is"
        return replace(identified, cells=(*identified.cells, *sides))
    match node:
        case RowPattern() | Sequence():
            events = Aggregate("array_agg", EVENT)
            return replace(
                node,
                cells=(
                    *node.cells,
                    OutputCell(name=f"{_ID}own", kind="row", column=EVENT),
                    OutputCell(name=f"{_ID}events", kind="aggregate", aggregate=events, final=True),
                    OutputCell(name=f"{_ID}fate", kind="timed_out"),
                    *_identify_moment(node),
                ),
            )
        case WindowAggregate():
            return replace(node, cells=(*node.cells, *_identify_window(node)))
        case WindowJoin():
            sides = [
                JoinCell(name=f"{_ID}{side}", column=EVENT, input=side) for side in range(len(node.program.inputs))
            ]
            return replace(node, cells=(*node.cells, *sides, JoinCell(name=f"{_ID}moment", column="_time", input=-1)))
        case OverRows():
            return replace(node, cells=(*node.cells, OverCell(name=f"{_ID}event", kind="row", column=EVENT)))
    raise AssertionError(f"{type(node).__name__} has no rows of its own")


def needs_whole_moments(node: EngineNode) -> bool:
    """May rows of one moment agree in all that ids are made of, if events of one time bring them about?"""
    match node:
        case RowPattern():
            return False
        case Sequence(program=program):
            return program.flow is not None
        case WindowAggregate(program=program):
            window, when = program.window, program.evaluation.when
            is_numbered = program.members or any(cell.kind == "evaluation" for cell in node.cells)
            is_told = (when == "close" and window.slide is not None) or (when == "event" and window.is_sliding)
            return window.kind != "time" or program.shows != "concerned" or bool(is_numbered) or not is_told
    return True


def _identify_moment(node: RowPattern | Sequence) -> tuple[OutputCell, ...]:
    """Where time completes matches, the same events may make several."""
    waits = isinstance(node, Sequence) and node.program.flow is not None and node.program.flow.waits
    return (OutputCell(name=f"{_ID}moment", kind="moment", column="_time"),) if waits else ()


def _identify_window(node: WindowAggregate) -> list[WindowCell]:
    program = node.program
    window, when = program.window, program.evaluation.when
    cells = [WindowCell(name=f"{_ID}key{n}", kind="key", column=f"_key{n}") for n in range(node.keys)]
    if not program.members:
        cells += [WindowCell(name=f"{_ID}group{n}", kind="group", column=f"_group{n}") for n in range(node.groups)]
    cells += [WindowCell(name=f"{_ID}{kind}", kind=kind) for kind in _list_bounds(node)]
    is_closed_by_event = when == "close" and window.kind in ("count", "semantic")
    if program.members or when in ("event", "count") or is_closed_by_event:
        cells.append(WindowCell(name=f"{_ID}event", kind="row", column=EVENT))
    if program.shows == "changes":
        cells.append(WindowCell(name=f"{_ID}sign", kind="sign"))
    is_compared = any(cell.kind == "evaluation" for cell in node.cells)
    if is_compared or when == "close":
        cells.append(WindowCell(name=MOMENT, kind="moment"))
    if is_compared:  # to tell evaluations apart, not rows
        cells.append(WindowCell(name=f"{_TURN}evaluation", kind="evaluation"))
    return cells


def _list_bounds(node: WindowAggregate) -> list[CellKind]:
    """What of a window and its evaluation stays the same if an event more or less is in it."""
    window, when = node.program.window, node.program.evaluation.when
    if when == "close":
        return ["start"] if window.kind == "session" else ["start", "end"]
    return ["moment"] if window.is_sliding or window.is_landmark else ["start", "end", "moment"]


def tell_events(events: pa.Table) -> Int64s:
    """int64[n]: who each event is; one stream may be there twice, as two inputs."""
    names = [name for name in TELLING if name in events.column_names]
    return hash_rows([events.column(name) for name in names], len(events), 0).view(np.int64)


def name_events(rows: pa.ChunkedArray) -> pa.Array:
    """The numbers that events are told by in ids."""
    return pa.array(hash_rows([rows], len(rows), 0).view(np.int64))


class RowIdentity:
    """Ids for the rows of one vertex."""

    def __init__(self, node: EngineNode, digest: str) -> None:
        """node: without the cells of its identity."""
        self._seeds = [seed ^ hash_text(digest) for seed in _SEEDS]
        cells: tuple[OutputCell | WindowCell | JoinCell, ...] = with_identity(node).cells
        self._about = [cell.name for cell in cells[len(node.cells) :] if not cell.name.startswith(_TURN)]
        self._evaluations = [cell.name for cell in cells if isinstance(cell, WindowCell) and cell.kind == "evaluation"]
        self._moments = [f"{_ID}key{number}" for number in range(node.keys)] + [MOMENT]
        self.cells = [name for name in node.cell_names() if not name.startswith("_place.")]  # those of row_queue.py

    def tell(self, rows: pa.Table) -> tuple[pa.Table, pa.Array]:
        """The rows without what only ids need, and their ids."""
        rows = self._settle_evaluations(rows)
        about = [rows.column(name) for name in self._about]
        high, low = (_mark_last(rows, hash_rows(about, len(rows), seed)) for seed in self._seeds)
        shown = rows.select([name for name in rows.column_names if not name.startswith(_ID)])
        return shown, write_ids(*tell_apart(high, low))

    def hash_values(self, shown: pa.Table) -> Int64s:
        """int64[n]: the values of rows as one number, to compare by."""
        return hash_rows([shown.column(name) for name in self.cells], len(shown), _SEEDS[0]).view(np.int64)

    def _settle_evaluations(self, rows: pa.Table) -> pa.Table:
        """Evaluations are numbered from the first event on, so that one event more or less changes all numbers after
        it; told by key, moment and turn they stay as they are."""
        if not self._evaluations or not len(rows):
            return rows
        moments = _mark_last(rows, hash_rows([rows.column(name) for name in self._moments], len(rows), 0))
        numbers = rows.column(self._evaluations[-1]).to_numpy()
        order = np.lexsort([numbers, moments])
        sorted_moments, sorted_numbers = moments[order], numbers[order]
        is_next = np.zeros(len(order), dtype=np.int64)
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = sorted_moments[1:] != sorted_moments[:-1]
        is_next[1:] = sorted_numbers[1:] != sorted_numbers[:-1]
        counted = np.cumsum(is_next)
        starts = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
        turns = np.empty(len(order), dtype=np.uint64)
        turns[order] = counted - counted[starts]
        told = pa.array(mix(moments ^ mix(turns)).view(np.int64))
        for name in self._evaluations:
            rows = rows.set_column(rows.schema.get_field_index(name), name, told)
        return rows


def find_needs(rows: pa.Table) -> Int64s | None:
    """int64[n]: how late the latest event of each row was; None: it is not known."""
    found = [name for name in rows.column_names if name.startswith(NEED)]
    if not found:
        return None
    needs = [pc.fill_null(rows.column(name), 0).to_numpy() for name in found]
    latest: Int64s = np.maximum.reduce(needs)
    return latest


def mark_finish(rows: pa.Table, finish: pa.Table, newest: int) -> pa.Table:
    """Rows, and those that came out because the input had ended: of a window that was never closed, at a moment of
    which rows came out before.  newest: time of the last event."""
    if MOMENT not in rows.column_names:
        return pa.concat_tables([rows, finish])
    moments, _ = order_values(finish.column(MOMENT))
    marked = finish.append_column(LAST, pa.array(moments <= newest))
    return pa.concat_tables([rows.append_column(LAST, pa.array(np.zeros(len(rows), dtype=np.bool_))), marked])


def _mark_last(rows: pa.Table, hashes: Hashes) -> Hashes:
    return np.where(rows.column(LAST).to_numpy(), mix(~hashes), hashes) if LAST in rows.column_names else hashes


def tell_apart(high: Hashes, low: Hashes) -> tuple[Hashes, Hashes]:
    """Of rows with equal ids the first keeps it; for the others, it is mixed with how many were before them."""
    if are_apart(high, low, np.full(1 << (2 * len(high)).bit_length(), -1, dtype=np.int64)):
        return high, low
    order = np.lexsort([np.arange(len(high)), low, high])
    same = (high[order][1:] == high[order][:-1]) & (low[order][1:] == low[order][:-1])
    is_first = np.concatenate([np.ones(1, dtype=np.bool_), ~same])
    starts = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
    turns = np.empty(len(order), dtype=np.uint64)
    turns[order] = np.arange(len(order)) - starts
    return np.where(turns > 0, mix(high ^ mix(turns)), high), np.where(turns > 0, mix(low + mix(turns)), low)
