"""The memory of partial matches that wait on ways of their own: as that of other runs, with places
(flow_advance.py)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepheid.event_time import END
from cepheid.kernel.columns import Events, Int64s
from cepheid.kernel.compiled.array_table import lay_out
from cepheid.kernel.compiled.evaluate import Cells, Machine
from cepheid.kernel.compiled.flow_advance import (
    DUE,
    EXTRA,
    LAST_TIME,
    NO_ROOM,
    advance_flow,
    flow_room_needed,
    mark_rests,
    read_rests,
    settle_flow,
    write_rests,
)
from cepheid.kernel.compiled.sequence_automaton import Automaton
from cepheid.kernel.compiled.sequence_pool import RunPool
from cepheid.kernel.compiled.sequence_records import count_written
from cepheid.kernel.compiled.sequence_runs import COUNTS, EARLIEST, FOUND_ROWS
from cepheid.kernel.matches import Matches
from cepheid.kernel.pattern import SequenceProgram

FLOW_HEAD = 5  # place, flags, how many events, since, open


class FlowPool(RunPool):
    def __init__(self, program: SequenceProgram, automaton: Automaton) -> None:
        super().__init__(program, automaton, EXTRA)
        assert program.flow is not None, "the program has a flow"
        self.keeps_runs = self.needs_only_runs = True
        self.settles = int(program.flow.waits or program.timeouts)
        self._knows_last = program.flow.repeats
        self._counters = np.concatenate([self._counters, [0]])
        assert len(self._counters) == COUNTS + 1 == LAST_TIME + 1, "the last time has a place of its own"

    def advance(self, events: Events, plays: Int64s, base: int, times: Int64s, machine: Machine, cells: Cells) -> None:
        if not len(events):
            return
        self._make_room_for(events)
        self._expect_rare(cells, base, base + len(events))
        done, why = 0, NO_ROOM
        while done < len(events):
            arrays = self._arrays(times, machine, cells)
            tables = lay_out(arrays, self._laid)
            done, why = advance_flow(events.keys, plays, base, done, tables)
            if why == NO_ROOM:
                self._grow(flow_room_needed(tables, int(events.keys[done])) + 4)
            del arrays

    def take_found(self, horizon: int) -> Matches:
        self._settle(horizon)
        count = int(self._counters[FOUND_ROWS])
        moments = self._found[:count, DUE].copy()
        matches = super().take_found(horizon)
        return replace(matches, moments=moments)

    def _settle(self, horizon: int) -> None:
        while self.settles and self._counters[EARLIEST] < horizon:
            tables, held = self._lay_runs()
            if settle_flow(tables, horizon, horizon >= END):
                return
            del held
            self._grow(8)

    # --- snapshots ---------------------------------------------------------------------------------------
    def list_held(self, seen: int, horizon: int) -> npt.NDArray[np.bool_]:
        return self._mark(seen, horizon, anchors=False)

    def list_needed(self, seen: int, horizon: int) -> npt.NDArray[np.bool_]:
        """bool[seen]: is it part of a run, does it say whose a run is, or how far time has come?"""
        needed = self._mark(seen, horizon, anchors=True)
        if self._knows_last and seen:
            needed[-1] = True
        return needed

    def _mark(self, seen: int, horizon: int, anchors: bool) -> npt.NDArray[np.bool_]:
        marked = np.zeros(seen, dtype=np.uint8)
        arrays = self._arrays()
        mark_rests(lay_out(arrays, self._laid), horizon, marked, anchors)
        return marked != 0

    def write(self, kept: npt.NDArray[np.bool_], horizon: int) -> bytes:
        places = np.cumsum(kept).astype(np.int64) - 1
        arrays = self._arrays()
        tables = lay_out(arrays, self._laid)
        written = np.zeros(write_rests(tables, horizon, places, np.zeros(0, dtype=np.int64)), dtype=np.int64)
        write_rests(tables, horizon, places, written)
        return written.tobytes()

    def restore(
        self,
        events: Events,
        plays: Int64s,  # noqa: ARG002
        kept_runs: bytes,
        times: Int64s,
        machine: Machine,
        cells: Cells,
    ) -> None:
        if not len(events):
            return
        self._make_room_for(events)
        self._expect_rare(cells, 0, len(events))
        written = np.frombuffer(kept_runs, dtype=np.int64).copy()
        runs, bound = count_written(written, FLOW_HEAD)
        self._grow_runs(runs)
        self._grow(bound)
        self._counters[LAST_TIME] = events.times[-1]
        arrays = self._arrays(times, machine, cells)
        read_rests(lay_out(arrays, self._laid), written, events.keys)
        del arrays
