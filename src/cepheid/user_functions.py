"""Functions of one's own: a function in Python over Arrow columns, which queries call by a name.

    functions={"count_char": cep.Function(count_char, takes=["string", "string"], gives="bigint")}

In plans and in the hosts it is called by its name and a digest of what it is: two queries may mean different functions
by one name, and a snapshot knows which one it was taken with.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.graph.function_identity import identify_function
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.schema import read_schema

HOST_NAME = re.compile(r"__[0-9a-f]{12}$", re.IGNORECASE)
ANYTHING = pa.null()  # as a type that a function takes: whatever it is given
HINT = 'cep.Function(f, takes=["string", "bigint"], gives="double")'


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function on columns: one Arrow array for each argument in, one of the same length out.

    takes, gives: types, as in schemas ("bigint", "timestamp", pa.float64()).  Nulls are handed to it like any value.
    """

    function: Callable[..., Any]
    takes: Sequence[Any] = field(kw_only=True)
    gives: Any = field(kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidInput(f"a function is a {type(self.function).__name__}", hint=HINT)
        if isinstance(self.takes, str) or not isinstance(self.takes, Sequence):
            raise InvalidInput(f"takes is {self.takes!r}, not a list of types", hint=HINT)
        if not self.takes:
            raise InvalidInput("a function without arguments", hint="give it a column; a constant needs no function")
        object.__setattr__(self, "takes", tuple(_read_type(each) for each in self.takes))
        object.__setattr__(self, "gives", _read_type(self.gives))

    def identify(self, name: str) -> str:
        """What hosts call it."""
        told = f"{identify_function(self.function)} {self.takes} {self.gives}"
        return f"{name.lower()}__{hashlib.sha256(told.encode()).hexdigest()[:12]}"

    def call(self, name: str, columns: Sequence[Any]) -> pa.Array:
        """Its answer for some rows; raises InvalidInput, with its name, if there is none."""
        arrays = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns]
        pairs = zip(map(_as_array, arrays), self.takes, strict=True)
        given = [array if kind == ANYTHING else array.cast(kind) for array, kind in pairs]
        try:
            answer = self.function(*given)
        except Exception as problem:
            raise InvalidInput(
                f'the function "{name}" failed: {type(problem).__name__}: {problem}',
                hint="it is a function of yours, and gets Arrow arrays, which may have nulls",
            ) from problem
        return self._read_answer(name, answer, len(given[0]) if given else None)

    def _read_answer(self, name: str, answer: Any, count: int | None) -> pa.Array:
        if isinstance(answer, pa.Scalar | str | bytes | int | float | bool | None) and count is not None:
            told = f'the function "{name}" answers with a single value, not with a column'
            raise InvalidInput(told, hint="give an Arrow array, one value for each row")
        try:
            array = _as_array(answer if isinstance(answer, pa.Array | pa.ChunkedArray) else pa.array(answer))
            array = array.cast(self.gives)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            told = f'the function "{name}" gives what is no {self.gives}: {problem}'
            raise InvalidInput(told, hint=f"give an Arrow array of type {self.gives}, or say what it gives") from None
        if count is not None and len(array) != count:
            told = f'the function "{name}" answers {len(array)} times for {count} rows'
            raise InvalidInput(told, hint="give one value for each row")
        return array


def plain_name(name: str) -> str:
    """What the user calls a function that hosts call so."""
    return HOST_NAME.sub("", name)


def is_own(name: str) -> bool:
    """Is this what hosts call a function of the user?"""
    return HOST_NAME.search(name) is not None


def read_functions(functions: Mapping[str, Function] | None, others: Collection[str] = ()) -> dict[str, Function]:
    """By name in lower case; others: names that are taken, by aggregates of the user."""
    for name, function in (functions or {}).items():
        if not isinstance(function, Function):
            raise InvalidInput(f'the function "{name}" is a {type(function).__name__}', hint=HINT)
        if not name.isidentifier():
            raise InvalidInput(f'"{name}" is not the name of a function', hint="letters, digits and _")
        if name.lower() in others:
            raise InvalidInput(f'"{name}" is an aggregate and a function', hint="give one of them another name")
    return {name.lower(): function for name, function in (functions or {}).items()}


def make_list_functions(aggregates: Mapping[str, PythonAggregate]) -> dict[str, Function]:
    """Aggregates of the user as functions of the values of a group: hosts gather these in a list, and call them."""
    return {name: _of_lists(aggregate) for name, aggregate in aggregates.items()}


def _of_lists(aggregate: PythonAggregate) -> Function:
    init, add, result = aggregate.init, aggregate.add, aggregate.result

    def fold(values: list[Any] | None) -> Any:
        """Nulls are no values, and of no values it is null, as over windows."""
        present = [value for value in values or () if value is not None]
        state = init()
        for value in present:
            state = add(state, value)
        return result(state) if present else None

    def fold_all(lists: pa.Array) -> list[Any]:
        return list(map(fold, lists.to_pylist()))

    # what tells it from another one is what it is made of
    fold_all.__qualname__ = " ".join(map(identify_function, (init, add, result)))
    return Function(fold_all, takes=[ANYTHING], gives=aggregate.type)


def _as_array(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _read_type(given: Any) -> pa.DataType:
    return read_schema("function", {"value": given}).field(0).type
