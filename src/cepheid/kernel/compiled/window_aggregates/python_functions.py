"""Aggregates that the user wrote in Python: a state for each slot, changed value by value.

How a value leaves depends on what the user gave:

    remove    state = remove(state, value)
    merge     two stacks: the older half as states of "this one and all younger ones of the half", the younger half as
              one state; when the older half is used up, the younger becomes the older.  Each value is merged once.
    neither   the state is computed anew from the values that are left, when it is asked for

Nulls are skipped, and of no values the answer is null.  Functions may change the states they are given: what is needed
once more is copied.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Protocol

from cepheid.kernel.columns import Interner
from cepheid.kernel.compiled.window_aggregates.cells import Columns
from cepheid.kernel.compiled.window_steps import ADD, CLEAR, EMIT, ENTER, LEAVE, StepList
from cepheid.kernel.expression import Kind
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.kernel.window import ObjectColumn, WindowedAggregate

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC, as users of Spark and DuckDB see times
_UNCHANGING = (int, float, bool, str, bytes, type(None))


class _State(Protocol):
    """What a slot holds."""

    def add(self, value: Any) -> None: ...

    def drop(self, value: Any) -> None: ...

    def result(self) -> Any: ...


class PythonBank:
    """One aggregate."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:
        self._aggregate = aggregates[0]
        self._interner = interner
        functions = self._aggregate.python
        assert functions is not None, "an aggregate in Python has functions"
        self._functions = functions
        self._states: dict[int, _State] = {}
        self._texts: list[str] = []

    def run(self, step_list: StepList, store: Columns) -> tuple[ObjectColumn, ...]:
        values = self._values(step_list, store)
        answers: list[Any] = [None] * step_list.rows
        states = self._states
        steps = zip(step_list.steps.tolist(), step_list.slots.tolist(), step_list.items.tolist(), strict=True)
        for step, slot, item in steps:
            if step in (ADD, ENTER, LEAVE):
                value = next(values)
                if value is None:
                    continue
                if step == LEAVE:
                    states[slot].drop(value)
                else:
                    if slot not in states:
                        states[slot] = _new_state(self._functions, leaves=step == ENTER)
                    states[slot].add(value)
            elif step == EMIT:
                answers[item] = states[slot].result() if slot in states else None
            elif step == CLEAR:
                states.pop(slot, None)
            else:
                raise AssertionError("functions in Python are not computed from panes")
        return (ObjectColumn(answers),)

    def _values(self, step_list: StepList, store: Columns) -> Any:
        """The value for each step that takes or drops one, as Python objects, None for nulls."""
        aggregate = self._aggregate
        assert aggregate.column is not None, "an aggregate in Python is of a column"
        items = step_list.items[step_list.steps <= LEAVE]
        column = store.column(aggregate.column)
        chosen = column.values[items]
        if aggregate.column_kind == "string" and len(chosen) and chosen.max() >= len(self._texts):
            self._texts = self._interner.texts()
        values = chosen.tolist()
        convert = _converter(aggregate.column_kind, self._texts)
        if column.valid is None:
            return map(convert, values) if convert else iter(values)
        valid = column.valid[items].tolist()
        pairs = zip(values, valid, strict=True)
        return ((convert(value) if convert else value) if known else None for value, known in pairs)


def _converter(kind: Kind | None, texts: list[str]) -> Callable[[Any], Any] | None:
    """From what columns hold to what people write functions for; None: it is that already."""
    match kind:
        case "bool":
            return bool
        case "string":
            return texts.__getitem__
        case "time":
            return lambda value: _EPOCH + timedelta(microseconds=value)
        case "duration":
            return lambda value: timedelta(microseconds=value)
    return None


def _new_state(functions: PythonAggregate, leaves: bool) -> _State:
    if not leaves or functions.remove is not None:
        return _Running(functions)
    return _Recomputed(functions) if functions.merge is None else _TwoStacks(functions)


class _Running:
    """One state; values leave by `remove`, if at all."""

    __slots__ = ("_count", "_functions", "_state")

    def __init__(self, functions: PythonAggregate) -> None:
        self._functions = functions
        self._count = 0
        self._state: Any = None

    def add(self, value: Any) -> None:
        state = self._state if self._count else self._functions.init()
        self._state = self._functions.add(state, value)
        self._count += 1

    def drop(self, value: Any) -> None:
        assert self._functions.remove is not None, "values leave by `remove`"
        self._count -= 1
        self._state = self._functions.remove(self._state, value) if self._count else None

    def result(self) -> Any:
        return self._functions.result(self._state) if self._count else None


class _Recomputed:
    """The values, and a state for as long as none of them has left."""

    __slots__ = ("_current", "_functions", "_values")

    def __init__(self, functions: PythonAggregate) -> None:
        self._functions = functions
        self._values: deque[Any] = deque()
        self._current: _Running | None = None

    def add(self, value: Any) -> None:
        self._values.append(value)
        if self._current is not None:
            self._current.add(value)

    def drop(self, value: Any) -> None:  # noqa: ARG002 - it is the oldest
        self._values.popleft()
        self._current = None

    def result(self) -> Any:
        if self._current is None:
            self._current = _Running(self._functions)
            for value in self._values:
                self._current.add(value)
        return self._current.result()


class _TwoStacks:
    """older: states, the last of them of all values in the older half; younger: the values, and their state."""

    __slots__ = ("_functions", "_merge", "_older", "_state", "_younger")

    def __init__(self, functions: PythonAggregate) -> None:
        assert functions.merge is not None, "two halves are merged"
        self._functions, self._merge = functions, functions.merge
        self._older: list[Any] = []
        self._younger: list[Any] = []
        self._state: Any = None

    def add(self, value: Any) -> None:
        state = self._state if self._younger else self._functions.init()
        self._state = self._functions.add(state, value)
        self._younger.append(value)

    def drop(self, value: Any) -> None:  # noqa: ARG002 - it is the oldest
        if not self._older:
            for young in reversed(self._younger):
                state = self._functions.add(self._functions.init(), young)
                if self._older:
                    state = self._merge(state, _spare(self._older[-1]))
                self._older.append(state)
            self._younger, self._state = [], None
        self._older.pop()

    def result(self) -> Any:
        if not self._older:
            return self._functions.result(self._state) if self._younger else None
        if not self._younger:
            return self._functions.result(self._older[-1])
        return self._functions.result(self._merge(_spare(self._older[-1]), _spare(self._state)))


def _spare(state: Any) -> Any:
    """A copy that may be changed."""
    if isinstance(state, _UNCHANGING) or (isinstance(state, tuple) and all(isinstance(x, _UNCHANGING) for x in state)):
        return state
    return copy.deepcopy(state)
