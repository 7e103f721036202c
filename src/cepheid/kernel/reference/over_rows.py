"""OVER from its definition: look at all rows of the key, when the input has ended."""

from __future__ import annotations

import numpy as np

from cepheid.event_time import END
from cepheid.kernel.columns import Int64s
from cepheid.kernel.over import OverEvents, OverFrame, OverFunction, OverProgram, SettledRows

Settled = tuple[int, int, int]  # moment, did time do it, trigger


class ReferenceOverRows:
    """The operator: rows come out when the input has ended."""

    def __init__(self, program: OverProgram) -> None:
        self._program = program
        self._times: list[int] = []
        self._keys: list[int] = []
        columns = (*program.sequences, program.about)
        self._with_value: dict[str, list[bool]] = {column: [] for column in columns if column is not None}

    def step(self, events: OverEvents, horizon: int, final: bool) -> SettledRows:  # noqa: ARG002 (as the other twin)
        self._times += events.times.tolist()
        self._keys += events.keys.tolist()
        for column, flags in self._with_value.items():
            flags.extend(events.with_value[column].tolist())
        about = self._program.about
        told = [row for row in range(len(self._times)) if about is None or self._with_value[about][row]]
        found = [self._answer(row) for row in told] if final else []
        found.sort(key=lambda each: (each[2], each[0]))
        return SettledRows(
            np.array([row for row, _, _ in found], dtype=np.int64),
            tuple(
                np.array([answers[number] for _, answers, _ in found], dtype=np.int64)
                for number in range(len(self._program.functions))
            ),
            np.array([settled[0] for _, _, settled in found], dtype=np.int64),
            np.array(
                [-1 if settled[1] or settled[0] == END else settled[2] for _, _, settled in found], dtype=np.int64
            ),
            self._list_frames([row for row, _, _ in found]) if self._program.spans else None,
        )

    def _list_frames(self, rows: list[int]) -> tuple[Int64s, Int64s]:
        frames = [self._frame(self._program.frame, row, self._list_key(row))[0] for row in rows]
        inside = np.array([row for frame in frames for row in frame], dtype=np.int64)
        return inside, np.array([len(frame) for frame in frames], dtype=np.int64)

    def _list_key(self, row: int) -> list[int]:
        return [other for other, key in enumerate(self._keys) if key == self._keys[row]]

    def _answer(self, row: int) -> tuple[int, list[int], Settled]:
        of_key = self._list_key(row)
        told = [self._compute(function, row, of_key) for function in self._program.functions]
        settled = [each for _, each in told] or [(self._times[row], 0, row)]
        if self._program.spans:
            settled.append(self._frame(self._program.frame, row, of_key)[1])
        return row, [answer for answer, _ in told], max(settled)

    def _compute(self, function: OverFunction, row: int, of_key: list[int]) -> tuple[int, Settled]:
        now = (self._times[row], 0, row)
        counted = [each for each in of_key if function.column is None or self._with_value[function.column][each]]
        match function.function:
            case "row_number":
                return of_key.index(row) + 1, now
            case "rank":
                return sum(self._times[each] < self._times[row] for each in of_key) + 1, now
            case "dense_rank":
                return len({self._times[each] for each in of_key if self._times[each] < self._times[row]}) + 1, now
            case "lag":
                if not function.number:
                    return row, now
                before = [each for each in counted if each < row]
                return before[-function.number] if len(before) >= function.number else -1, now
            case "lead":
                if not function.number:
                    return row, now
                behind = [each for each in counted if each > row]
                if len(behind) < function.number:
                    return -1, (END, 0, 0)
                picked = behind[function.number - 1]
                return picked, (self._times[picked], 0, picked)
        framed, settled = self._frame(self._program.frame, row, of_key)
        inside = [each for each in counted if each in framed]
        place = {"first": 0, "last": len(inside) - 1, "nth": function.number - 1}[function.function]
        return inside[place] if 0 <= place < len(inside) else -1, settled

    def _frame(self, frame: OverFrame, row: int, of_key: list[int]) -> tuple[list[int], Settled]:
        time, place = self._times[row], of_key.index(row)
        if frame.kind == "range":
            low = None if frame.start is None else time + frame.start
            inside = [
                each
                for each in of_key
                if (low is None or self._times[each] >= low) and self._times[each] <= time + frame.end
            ]
            return inside, (time + frame.end, 1, 0) if frame.end >= 0 else (time, 0, row)
        low = 0 if frame.start is None else max(place + frame.start, 0)
        inside = of_key[low : max(place + frame.end + 1, 0)]
        if frame.end <= 0:
            return inside, (time, 0, row)
        if place + frame.end >= len(of_key):
            return inside, (END, 0, 0)
        last = of_key[place + frame.end]
        return inside, (self._times[last], 0, last)
