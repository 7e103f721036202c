"""The reference twin behind the same interface as the compiled one: it waits for the end, then thinks slowly.

It needs neither a horizon nor a lookback, since it keeps everything; so it keeps no snapshots either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cepheid.kernel.columns import Column, Events, Int64s, Interner
from cepheid.kernel.expression import Expression, HostCall, Kind, list_columns
from cepheid.kernel.matches import TIMED_OUT, WHOLE, Matches, Paths
from cepheid.kernel.pattern import RowPatternProgram, SequenceProgram, check_frame, list_terms
from cepheid.kernel.reference.evaluate import Path, Row, Value
from cepheid.kernel.reference.row_pattern import RowMatch, find_matches
from cepheid.kernel.reference.sequence import SequenceMatch, find_sequences
from cepheid.kernel.reference.sequence_flow import find_in_flow

Evaluate = Callable[[HostCall, list[Int64s], Paths | None], Column]


class _Memory:
    """All events so far, as rows of plain values, by key."""

    def __init__(self, conditions: list[Expression], interner: Interner, more: dict[str, Kind] | None = None) -> None:
        self._kinds: dict[str, Kind] = dict(more or {})
        for condition in conditions:
            self._kinds |= list_columns(condition)
        self._interner = interner
        self.rows: list[Row] = []
        self.times: list[int] = []
        self.streams: list[int] = []
        self.by_key: dict[int, list[int]] = {}

    def append(self, events: Events) -> None:
        texts = self._interner.texts()
        columns = {name: plain_values(events.columns[name], kind, texts) for name, kind in self._kinds.items()}
        for place in range(len(events)):
            self.by_key.setdefault(int(events.keys[place]), []).append(len(self.rows))
            self.rows.append({name: values[place] for name, values in columns.items()} | {"_event": len(self.rows)})
            self.times.append(int(events.times[place]))
            self.streams.append(-1 if events.streams is None else int(events.streams[place]))


def plain_values(column: Column, kind: Kind, texts: list[str]) -> list[Value | None]:
    """A column as values of Python."""
    values: list[Value | None] = column.values.tolist()
    if kind == "bool":
        values = [bool(value) for value in values]
    elif kind == "string":
        values = [texts[int(value)] if texts else None for value in column.values]
    if column.valid is not None:
        values = [value if valid else None for value, valid in zip(values, column.valid, strict=True)]
    return values


class ReferenceRowPattern:
    def __init__(
        self,
        program: RowPatternProgram,
        interner: Interner,
        lookback: int = 0,  # noqa: ARG002
        evaluate: Evaluate | None = None,
    ) -> None:
        self._program = program
        self._interner = interner
        self._evaluate = evaluate
        frame = program.frame
        told: dict[str, Kind] = {frame.column: "int"} if frame is not None and frame.column is not None else {}
        self._memory = _Memory([condition for _, condition in program.conditions], interner, told)
        self._variables = tuple(dict.fromkeys(term.variable for term in list_terms(program.pattern)))

    def step(self, events: Events, horizon: int, final: bool = False) -> Matches:  # noqa: ARG002
        check_frame(self._program.frame, events)
        self._memory.append(events)
        found: list[tuple[list[int], RowMatch]] = []
        for places in self._memory.by_key.values() if final else ():
            rows = [self._memory.rows[place] for place in places]
            times = [self._memory.times[place] for place in places]
            found += [(places, match) for match in find_matches(self._program, rows, times, ask=self._ask)]
        return self._flatten(found)

    def _ask(self, call: HostCall, events: Sequence[int], path: Path) -> Value | None:
        assert self._evaluate is not None, "somebody evaluates what the kernel cannot"
        column = self._evaluate(
            call, [np.array([event]) for event in events], self._as_paths(path) if call.facts else None
        )
        (value,) = plain_values(column, call.kind, self._interner.texts())
        return value

    def _as_paths(self, path: Path) -> Paths:
        labels = np.array([self._variables.index(label) for label in path.labels], dtype=np.int64)
        taken, ends, numbers = np.array(path.events, dtype=np.int64), np.array([len(labels)]), np.array([path.number])
        matches = Matches(self._variables, taken, labels, ends, taken[:1], numbers)
        return Paths(matches, np.zeros(1, dtype=np.int64), ends, numbers, self.shift)

    def shift(self, events: Int64s, steps: int) -> Int64s:
        place_of = {place: (key, at) for key, places in self._memory.by_key.items() for at, place in enumerate(places)}
        shifted = []
        for event in events.tolist():
            key, at = place_of.get(event, (0, -1))
            places = self._memory.by_key.get(key, [])
            there = at + steps if event >= 0 else -1
            shifted.append(places[there] if 0 <= there < len(places) else -1)
        return np.array(shifted, dtype=np.int64)

    def _flatten(self, found: list[tuple[list[int], RowMatch]]) -> Matches:
        labels = [self._variables.index(label) for _, match in found for label in match.labels]
        return Matches(
            self._variables,
            np.array([places[row] for places, match in found for row in match.rows], dtype=np.int64),
            np.array(labels, dtype=np.int64),
            np.cumsum([len(match.rows) for _, match in found]).astype(np.int64),
            np.array([places[match.start] for places, match in found], dtype=np.int64),
            np.array([match.number for _, match in found], dtype=np.int64),
            np.array([match.fate for _, match in found], dtype=np.uint8),
            np.array([hidden for _, match in found for hidden in match.hidden], dtype=np.uint8),
        )


class ReferenceSequence:
    def __init__(self, program: SequenceProgram, interner: Interner) -> None:
        self._program = program
        conditions = [term.condition for term in program.terms if term.condition is not None] + list(program.joint)
        self._memory = _Memory(conditions, interner)
        self._variables = tuple(step.variable for step in program.steps)
        self._dropped = 0

    def step(self, events: Events, horizon: int, final: bool = False) -> Matches:  # noqa: ARG002
        self._memory.append(events)
        memory = self._memory
        found: list[tuple[list[int], SequenceMatch]] = []
        for key, places in memory.by_key.items() if final else ():
            if key < 0:
                continue  # a null key equals nothing
            find = find_sequences if self._program.flow is None else find_in_flow
            matches, dropped = find(
                self._program,
                [memory.rows[place] for place in places],
                [memory.times[place] for place in places],
                [max(memory.streams[place], 0) for place in places],
            )
            found += [(places, match) for match in matches]
            self._dropped += dropped
        return self._flatten(found)

    def take_dropped(self) -> int:
        """How many partial matches were dropped since this was last asked."""
        dropped, self._dropped = self._dropped, 0
        return dropped

    def _flatten(self, found: list[tuple[list[int], SequenceMatch]]) -> Matches:
        labels = [self._variables.index(label) for _, match in found for label in match.labels]
        fates = [TIMED_OUT if match.timed_out else WHOLE for _, match in found]
        return Matches(
            self._variables,
            np.array([places[row] for places, match in found for row in match.rows], dtype=np.int64),
            np.array(labels, dtype=np.int64),
            np.cumsum([len(match.rows) for _, match in found]).astype(np.int64),
            np.array([places[match.rows[0] if match.rows else match.start] for places, match in found], dtype=np.int64),
            np.zeros(len(found), dtype=np.int64),
            np.array(fates, dtype=np.uint8) if self._program.timeouts else None,
            moments=None
            if self._program.flow is None
            else np.array([each.moment for _, each in found], dtype=np.int64),
        )
