"""The reference twin of the window kernel: it waits for the end, then thinks slowly.

    events  --by key-->  evaluations (window_evaluations.py)  --by group-->  rows  --aggregates/-->  values

It keeps everything and gives everything at once, so it needs neither a horizon nor snapshots.

An event of group -1 has its place in the window, but no row is about it: WHERE has left it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.aggregates.definition import FoldOptions, fold_values
from cepheid.kernel.columns import Column, Int64s, Interner
from cepheid.kernel.expression import Kind
from cepheid.kernel.reference.operators import plain_values
from cepheid.kernel.reference.window_evaluations import Event, View, WindowEvaluation, list_evaluations
from cepheid.kernel.window import (
    AnswerColumn,
    ListColumn,
    ObjectColumn,
    WindowedAggregate,
    WindowEvents,
    WindowProgram,
    WindowRows,
)


@dataclass(frozen=True, slots=True)
class _Row:
    """members: the events a row is about, oldest first; one if the rows are the events themselves."""

    group: int
    event: int
    moment: int
    view: View
    evaluation: int
    members: tuple[Event, ...]
    sign: int = 1


class ReferenceWindows:
    def __init__(self, programs: tuple[WindowProgram, ...], interner: Interner) -> None:
        self._programs = programs
        self._interner = interner
        self._batches: list[WindowEvents] = []

    def step(self, events: WindowEvents, horizon: int, final: bool = False) -> list[WindowRows]:  # noqa: ARG002
        """One per program: no rows before the end, then all."""
        self._batches.append(events)
        given = self._batches if final else []
        return [self._run(program, number, given) for number, program in enumerate(self._programs)]

    def _run(self, program: WindowProgram, number: int, batches: Sequence[WindowEvents]) -> WindowRows:
        by_key = self._read_events(program, number, batches)
        evaluated = [
            (evaluation_of_key, key)
            for key, events in by_key.items()
            for evaluation_of_key in list_evaluations(program.window, program.evaluation, events)
        ]
        evaluated.sort(key=lambda pair: pair[0].moment)  # stable: those of a key stay in order
        rows: list[_Row] = []
        before: dict[int, list[_Row]] = {}
        for evaluation, (evaluation_of_key, key) in enumerate(evaluated):
            if program.shows == "concerned":
                rows += _list_concerned(program, evaluation_of_key, evaluation)
                continue
            relation = _list_all(program, evaluation_of_key, evaluation)
            if program.shows == "all":
                rows += relation
            else:
                rows += _list_changes(program, before.get(key, []), relation, evaluation_of_key, evaluation)
                before[key] = relation
        return self._as_arrays(program, rows, batches)

    def _read_events(
        self, program: WindowProgram, number: int, batches: Sequence[WindowEvents]
    ) -> dict[int, list[Event]]:
        opens = self._read_column(program.window.opens, "bool", batches)
        closes = self._read_column(program.window.closes, "bool", batches)
        by_key: dict[int, list[Event]] = {}
        facts = [
            fact for batch in batches
            for fact in zip(batch.times.tolist(), batch.keys.tolist(), batch.groups[number].tolist(), strict=True)
        ]  # fmt: skip
        for index, (time, key, group) in enumerate(facts):
            event = Event(index, time, group, bool(opens and opens[index]), bool(closes and closes[index]))
            by_key.setdefault(key, []).append(event)
        return by_key

    def _read_column(self, name: str | None, kind: Kind | None, batches: Sequence[WindowEvents]) -> list[Any]:
        """The values of all events; none if there is no such column."""
        if name is None:
            return []
        assert kind is not None, "a column has a kind"
        texts = self._interner.texts()
        return [value for batch in batches for value in plain_values(batch.columns[name], kind, texts)]

    def _as_arrays(self, program: WindowProgram, rows: Sequence[_Row], batches: Sequence[WindowEvents]) -> WindowRows:
        return WindowRows(
            groups=_int64s(row.group for row in rows),
            events=_int64s(row.event for row in rows),
            moments=_int64s(row.moment for row in rows),
            starts=_int64s(row.view.start for row in rows),
            ends=_int64s(row.view.end for row in rows),
            evaluations=_int64s(row.evaluation for row in rows),
            signs=np.array([row.sign for row in rows], dtype=np.int8) if program.shows == "changes" else None,
            values=tuple(self._fold_all(aggregate, rows, batches) for aggregate in program.aggregates),
        )

    def _fold_all(
        self, aggregate: WindowedAggregate, rows: Sequence[_Row], batches: Sequence[WindowEvents]
    ) -> AnswerColumn:
        column = self._read_column(aggregate.column, aggregate.column_kind, batches)
        by = self._read_column(aggregate.by, aggregate.by_kind, batches)
        definition = find_aggregate(aggregate.function)
        options = FoldOptions(aggregate.kind, aggregate.column_kind, aggregate.parameter, aggregate.python)
        answers = [
            fold_values(
                definition,
                [column[event.index] if aggregate.column else True for event in row.members],
                [by[event.index] for event in row.members] if aggregate.by else None,
                options,
            )
            for row in rows
        ]
        if aggregate.function == "python":
            return ObjectColumn(answers)
        if definition.gives_list:
            items = [item for answer in answers for item in answer or ()]
            ends = np.cumsum([len(answer or ()) for answer in answers], dtype=np.int64)
            valid = np.array([answer is not None for answer in answers], dtype=np.uint8)
            return ListColumn(ends, self._as_column(items, aggregate.kind), valid)
        return self._as_column(answers, aggregate.kind)

    def _as_column(self, values: Sequence[Any], kind: Kind) -> Column:
        if kind == "string":
            values = [None if value is None else self._interner.number_of(value) for value in values]
        valid = np.array([value is not None for value in values], dtype=np.uint8)
        filled = [0 if value is None else value for value in values]
        if kind == "float":
            return Column(np.array(filled, dtype=np.float64), valid)
        return Column(np.array(filled, dtype=np.int64), valid)


def _int64s(values: Iterable[int]) -> Int64s:
    return np.fromiter(values, dtype=np.int64)


def _list_concerned(program: WindowProgram, evaluation_of_key: WindowEvaluation, evaluation: int) -> list[_Row]:
    """Rows as the evaluation says: of the groups that `about` names, each once in each window."""
    if program.members:
        return [_row_of_event(event, evaluation_of_key, view, evaluation) for view, event in evaluation_of_key.about]
    by_pair = {
        (id(view), event.group): (view, event.group) for view, event in evaluation_of_key.about
    }  # two windows may be equal
    return [_row_of_group(group, evaluation_of_key, view, evaluation) for view, group in by_pair.values()]


def _list_all(program: WindowProgram, evaluation_of_key: WindowEvaluation, evaluation: int) -> list[_Row]:
    """The relation: all groups, or events, of all windows."""
    members = [(view, event) for view in evaluation_of_key.views for event in view.events]
    return _list_concerned(program, replace(evaluation_of_key, about=tuple(members)), evaluation)


def _list_changes(
    program: WindowProgram,
    before: Sequence[_Row],
    now: Sequence[_Row],
    evaluation_of_key: WindowEvaluation,
    evaluation: int,
) -> list[_Row]:
    """Rows of the relation before (as they were) and now, without those over the same events in both."""
    gone = Counter(row.members for row in before) - Counter(row.members for row in now)
    come = Counter(row.members for row in now) - Counter(row.members for row in before)
    return [
        _Row(
            row.group,
            row.event if program.members else evaluation_of_key.event,
            evaluation_of_key.moment,
            row.view,
            evaluation,
            row.members,
            -1,
        )
        for row in _take(before, gone)
    ] + _take(now, come)


def _take(rows: Sequence[_Row], wanted: Counter[tuple[Event, ...]]) -> list[_Row]:
    taken = []
    for row in rows:
        if wanted[row.members] > 0:
            wanted[row.members] -= 1
            taken.append(row)
    return taken


def _row_of_event(event: Event, evaluation_of_key: WindowEvaluation, view: View, evaluation: int) -> _Row:
    return _Row(event.group, event.index, evaluation_of_key.moment, view, evaluation, (event,))


def _row_of_group(group: int, evaluation_of_key: WindowEvaluation, view: View, evaluation: int) -> _Row:
    members = tuple(event for event in view.events if event.group == group)
    return _Row(group, evaluation_of_key.event, evaluation_of_key.moment, view, evaluation, members)
