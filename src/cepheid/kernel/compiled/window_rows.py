"""From buffers to rows: the banks carry a buffer out, rows whose evaluation is not yet known wait for it.

buffer  --banks-->  values  --those that are settled-->  WindowRows
                           --the others-->  the top of the next buffer
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.errors import NotSupportedYet
from cepheid.kernel.columns import Column, Int64s, Interner
from cepheid.kernel.compiled.step_buffer import (
    ANSWER,
    ANSWER_COUNT,
    END,
    EVALUATION,
    EVALUATION_COUNT,
    EVENT,
    FULL,
    GROUP,
    KEY,
    LINK,
    MOMENT,
    PLAIN,
    ROOM,
    ROW_COUNT,
    SIGN,
    START,
    STEP_COUNT,
    StepBuffer,
    hang_rows,
    make_step_buffer,
    take_off_rows,
)  # fmt: skip
from cepheid.kernel.compiled.window_aggregates import MemberBank, make_banks
from cepheid.kernel.compiled.window_aggregates.cells import pack_texts, unpack_texts
from cepheid.kernel.compiled.window_parts import Owners
from cepheid.kernel.compiled.window_policy import EVENTS, Policy, State, read_steps
from cepheid.kernel.compiled.window_store import EventStore
from cepheid.kernel.compiled.window_values import join_columns, take_rows
from cepheid.kernel.partition_rows import join_arrays, shift_ends, take_arrays, take_lists
from cepheid.kernel.window import AnswerColumn, ListColumn, ObjectColumn, WindowProgram, WindowRows

NO_ROWS: Int64s = np.zeros((LINK + 1, 0), dtype=np.int64)


class RowMaker:
    """The buffer and the banks of one program."""

    def __init__(self, program: WindowProgram, policy: Policy, interner: Interner, buffer: StepBuffer) -> None:
        """buffer: may be used by others while this one is not writing."""
        self._program = program
        self._policy = policy
        self._interner = interner
        self.banks = make_banks(program.aggregates, interner)
        self._members = MemberBank() if program.members else None
        sizes = np.zeros(5, dtype=np.int64)
        self._is_plain = not (policy.holds_rows or program.members)
        sizes[PLAIN] = self._is_plain
        self.buffer = buffer._replace(sizes=sizes)
        self._plain_rows = np.empty((SIGN, 0), dtype=np.int64)
        self._plain_count = 0
        self.held = NO_ROWS
        self._held_values: tuple[AnswerColumn, ...] | None = None
        self._rows: list[npt.NDArray[np.int64]] = []
        self._values: list[tuple[AnswerColumn, ...]] = []

    @property
    def is_plain(self) -> bool:
        """Does no row wait, or is an event?"""
        return self._is_plain

    def begin_sheet(self) -> None:
        """An empty buffer but for the rows that wait."""
        sizes, held = self.buffer.sizes, self.held.shape[1]
        sizes[STEP_COUNT] = sizes[ANSWER_COUNT] = 0
        sizes[ROW_COUNT] = held
        if held:
            if 2 * held > self.buffer.rows.shape[1]:
                self.buffer = make_step_buffer(len(self.buffer.steps), 4 * held, sizes)
            self.buffer.rows[:, :held] = self.held
            hang_rows(self.buffer.rows, held, self._policy.key_table, self._policy.pending)

    def grow(self) -> None:
        """One unit of what is to be written does not fit on the empty buffer: take one of twice the size."""
        self.buffer = make_step_buffer(2 * len(self.buffer.steps), 2 * self.buffer.rows.shape[1], self.buffer.sizes)

    @property
    def is_blank(self) -> bool:
        """Is nothing on the buffer but rows that wait?"""
        return int(self.buffer.sizes[STEP_COUNT]) == 0 and int(self.buffer.sizes[ROW_COUNT]) == self.held.shape[1]

    def carry_out(self, store: EventStore) -> None:
        """Have the banks do what is on the buffer, and take the rows from it."""
        buffer, held = self.buffer, self.held.shape[1]
        count = int(buffer.sizes[ROW_COUNT])
        if self._policy.holds_rows:
            take_off_rows(buffer.rows, count, self._policy.key_table, self._policy.pending)
        step_list = read_steps(buffer, self._policy.slot_count)
        if self._is_plain:
            self._append_plain(buffer.rows[:SIGN, :count], store.base)
            if count or len(step_list.steps):
                self._values.append(self.banks.run(step_list, store))
            return
        rows = buffer.rows[:, :count].copy()
        if store.base:
            new = rows[EVENT, held:]
            new[new >= 0] += store.base
        values: tuple[AnswerColumn, ...] = ()
        if self._members is not None:
            if len(step_list.steps):
                rows = _spell_out(rows, self._members.run(step_list, store))
        elif len(step_list.steps):
            values = self.banks.run(step_list, store)
            if held and self._held_values is not None:
                values = tuple(join_columns([old, new]) for old, new in zip(self._held_values, values, strict=True))
        elif self._held_values is not None:
            values = self._held_values
        self._settle(rows, values)

    def expect(self, count: int) -> None:
        """About so many rows will come: room that is not used costs nothing."""
        if self._is_plain:
            spare = min(2 * ROOM, 8 * count + 64)
            self._plain_rows = np.empty((SIGN, count + spare), dtype=np.int64)
            self._plain_count = 0

    def _append_plain(self, rows: npt.NDArray[np.int64], base: int) -> None:
        begin, end = self._plain_count, self._plain_count + rows.shape[1]
        if end > self._plain_rows.shape[1]:
            wider = np.empty((SIGN, 2 * end), dtype=np.int64)
            wider[:, :begin] = self._plain_rows[:, :begin]
            self._plain_rows = wider
        self._plain_rows[:, begin:end] = rows
        if base:
            events = self._plain_rows[EVENT, begin:end]
            events[events >= 0] += base
        self._plain_count = end

    def _settle(self, rows: npt.NDArray[np.int64], values: tuple[AnswerColumn, ...]) -> None:
        """Put aside what waits."""
        if not self._policy.holds_rows:
            self._rows.append(rows)
            self._values.append(values)
            return
        numbers = rows[EVALUATION]
        if np.all(numbers[:1] >= 0) and np.all(numbers[1:] >= numbers[:-1]):  # none waits, and they are in order
            if len(numbers):
                self._rows.append(rows)
                self._values.append(values)
            self.held, self._held_values = NO_ROWS, None
            return
        settled = np.flatnonzero(numbers >= 0)
        settled = settled[np.argsort(numbers[settled], kind="stable")]
        waiting = np.flatnonzero(numbers < 0)
        if len(settled):
            self._rows.append(rows[:, settled])
            self._values.append(tuple(take_rows(column, settled) for column in values))
        self.held = rows[:, waiting]
        self._held_values = tuple(take_rows(column, waiting) for column in values) if len(waiting) else None

    def take(self, store: EventStore) -> WindowRows:
        """All rows since the last call."""
        if self._is_plain:
            rows = self._plain_rows[:, : self._plain_count]
            self._plain_rows = np.empty((SIGN, 0), dtype=np.int64)  # they are the caller's now
        else:
            rows = np.concatenate(self._rows, axis=1) if self._rows else NO_ROWS
        parts = self._values or [self._answer_nothing(store)]
        values = tuple(join_columns(list(columns)) for columns in zip(*parts, strict=True))
        self._rows, self._values = [], []
        signs = rows[SIGN].astype(np.int8) if self._program.shows == "changes" else None
        return WindowRows(
            rows[GROUP], rows[EVENT], rows[MOMENT], rows[START], rows[END], rows[EVALUATION], signs, values
        )

    def _answer_nothing(self, store: EventStore) -> tuple[AnswerColumn, ...]:
        buffer = make_step_buffer(0, 0, np.zeros(5, dtype=np.int64))
        return () if self._members is not None else self.banks.run(read_steps(buffer, 0), store)

    def replay(self, store: EventStore, state: State) -> None:
        """Have the banks hold again what they held."""
        begin = 0
        while begin >= 0:
            self.buffer.sizes[:EVALUATION_COUNT] = 0
            went = begin
            begin = self._policy.replay(store, self.buffer, begin, state)
            step_list = read_steps(self.buffer, self._policy.slot_count)
            if len(step_list.steps):
                if self._members is not None:
                    self._members.run(step_list, store)
                else:
                    self.banks.run(step_list, store)
            elif begin == went:
                self.grow()
        self.buffer.sizes[:EVALUATION_COUNT] = 0

    def keep(self, needed: Int64s) -> State:
        """Rows that wait; their events as places among those that are needed."""
        state: State = {"evaluations": self.buffer.sizes[EVALUATION_COUNT:PLAIN].copy()}
        if not self.held.shape[1]:
            return state
        rows = self.held.copy()
        if self._program.members:
            rows[EVENT] = np.searchsorted(needed, rows[EVENT])
        state |= {"rows": rows, "row_keys": rows[KEY], "row_groups": rows[GROUP]}
        for number, column in enumerate(self._held_values or ()):
            state |= {f"{number}.{name}": array for name, array in self._pack(number, column).items()}
        return state

    def _pack(self, number: int, column: AnswerColumn) -> State:
        if isinstance(column, ObjectColumn):  # whatever they are: nothing is unpickled from a snapshot
            raise NotSupportedYet(
                "a snapshot while ISTREAM or DSTREAM of an aggregate in Python waits for the next evaluation",
                hint="write RSTREAM, or an aggregate of SQL, in queries that snapshots are taken of",
            )
        packed: State = {}
        items = column.items if isinstance(column, ListColumn) else column
        if isinstance(column, ListColumn):
            packed["ends"] = column.ends
            if column.valid is not None:
                packed["is_list"] = column.valid
        if self._program.aggregates[number].kind == "string":
            packed |= pack_texts(np.asarray(items.values, dtype=np.int64), self._interner)
        else:
            packed["values"] = items.values
        if items.valid is not None:
            packed["valid"] = items.valid
        return packed

    def split(self, state: State, owners: Owners) -> list[State]:
        """What each part has of what `keep` gave."""
        parts: list[State] = [{"evaluations": state["evaluations"]} for _ in range(owners.count)]
        if "rows" not in state:
            return parts
        for number, rows in enumerate(owners.rows_of(state, "row_keys")):
            if not len(rows):
                continue
            held = state["rows"][:, rows]
            if self._program.members:
                held[EVENT] = np.searchsorted(owners.rows_of(state, EVENTS)[number], held[EVENT])
            parts[number] |= {
                "rows": held,
                "row_keys": state["row_keys"][rows],
                "row_groups": state["row_groups"][rows],
            }
            for place in range(len(self._program.aggregates)):
                packed = _take_packed(_pick(state, f"{place}."), rows)
                parts[number] |= {f"{place}.{name}": array for name, array in packed.items()}
        return parts

    def merge(self, states: list[State], places: list[Int64s]) -> State:
        """What `keep` would have given of one; places: where the kept events of each part are among all of them.

        Evaluations are counted on from the highest number, so that none of a key comes twice.
        """
        merged: State = {"evaluations": np.max([state["evaluations"] for state in states], axis=0)}
        waiting = [(state, of_part) for state, of_part in zip(states, places, strict=True) if "rows" in state]
        if not waiting:
            return merged
        held = [state["rows"].copy() for state, _ in waiting]
        if self._program.members:
            for rows, (_, of_part) in zip(held, waiting, strict=True):
                rows[EVENT] = of_part[rows[EVENT]]
        merged["rows"] = np.concatenate(held, axis=1)
        for name in ("row_keys", "row_groups"):
            merged[name] = np.concatenate([state[name] for state, _ in waiting])
        for place in range(len(self._program.aggregates)):
            packed = _join_packed([_pick(state, f"{place}.") for state, _ in waiting])
            merged |= {f"{place}.{name}": array for name, array in packed.items()}
        return merged

    def restore(self, state: State) -> None:
        self.buffer.sizes[EVALUATION_COUNT:PLAIN] = state["evaluations"]
        if "rows" not in state:
            return
        self.held = state["rows"].copy()
        self.held[KEY], self.held[GROUP] = state["row_keys"], state["row_groups"]
        self._held_values = tuple(self._unpack(state, f"{number}.") for number in range(len(self._program.aggregates)))

    def _unpack(self, state: State, start: str) -> AnswerColumn:
        packed = _pick(state, start)
        values = unpack_texts(packed, self._interner) if "text" in packed else packed["values"]
        items = Column(values, packed.get("valid"))
        return ListColumn(packed["ends"], items, packed.get("is_list")) if "ends" in packed else items


def _pick(state: State, start: str) -> State:
    return {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}


def _take_packed(packed: State, rows: Int64s) -> State:
    """Some of the answers that `_pack` wrote."""
    if "ends" not in packed:
        return take_arrays(packed, rows)
    ends, items = take_lists(packed["ends"], rows)
    taken = take_arrays({name: array for name, array in packed.items() if name not in ("ends", "is_list")}, items)
    if "is_list" in packed:
        taken["is_list"] = packed["is_list"][rows]
    return taken | {"ends": ends}


def _join_packed(parts: list[State]) -> State:
    """The answers that `_pack` wrote, of several; where nothing is null, some do not say so."""
    for name, of in (("valid", "text_ends" if "text" in parts[0] else "values"), ("is_list", "ends")):
        if any(name in part for part in parts):
            parts = [{name: np.ones(len(part[of]), dtype=np.uint8), **part} for part in parts]
    joined = join_arrays([{name: array for name, array in part.items() if name != "ends"} for part in parts])
    if "ends" in parts[0]:
        joined["ends"] = np.concatenate(shift_ends([part["ends"] for part in parts]))
    return joined


def _spell_out(rows: npt.NDArray[np.int64], lists: ListColumn) -> npt.NDArray[np.int64]:
    """A row for each event of a list."""
    counts = np.ones(rows.shape[1], dtype=np.int64)
    listed = rows[ANSWER] >= 0
    lengths = np.diff(lists.ends, prepend=0)
    counts[listed] = lengths[rows[ANSWER, listed]]
    spelled = np.repeat(rows, counts, axis=1)
    ends = np.cumsum(counts)
    is_listed = np.repeat(listed, counts)
    places = np.arange(spelled.shape[1]) - np.repeat(ends - counts, counts)
    begins = (lists.ends - lengths)[spelled[ANSWER, is_listed]]
    spelled[EVENT, is_listed] = lists.items.values[begins + places[is_listed]]
    spelled[ANSWER] = -1
    return spelled


def write_rest(maker: RowMaker, policy: Policy, store: EventStore, begin: int, now: int, stopped: int) -> None:
    """Go on where a policy stopped that has written one buffer."""
    maker.expect(store.count - begin)
    while True:
        maker.carry_out(store)
        if not stopped:
            return
        if stopped != FULL:
            policy.grow(stopped)
        maker.begin_sheet()
        stopped = policy.write(store, begin, now, maker.buffer)
        while stopped == FULL and maker.is_blank:
            maker.grow()
            maker.begin_sheet()
            stopped = policy.write(store, begin, now, maker.buffer)


def write_rows(maker: RowMaker, policy: Policy, store: EventStore, begin: int, now: int, *, final: bool) -> None:
    """Let a policy write buffer after buffer."""
    policy.begin(store, begin)
    maker.expect(store.count - begin)
    ends = [False, True] if final else [False]
    for at_end in ends:
        while True:
            maker.begin_sheet()
            stopped = policy.write_end(maker.buffer) if at_end else policy.write(store, begin, now, maker.buffer)
            if stopped == FULL and maker.is_blank:
                if maker.held.shape[1]:
                    take_off_rows(maker.buffer.rows, maker.held.shape[1], policy.key_table, policy.pending)
                maker.grow()
                continue
            maker.carry_out(store)
            if not stopped:
                break
            if stopped != FULL:
                policy.grow(stopped)


def replace_numbers(state: State, keys: Int64s, groups: Int64s) -> State:
    """Numbers of keys and groups by the new ones."""
    replaced: State = {}
    for name, array in state.items():
        if name.endswith("keys"):
            replaced[name] = keys[array]
        elif name.endswith("groups"):
            replaced[name] = groups[array]
        else:
            replaced[name] = np.array(array)  # ours, writable: a read-only one is a type of its own to Numba
    return replaced
