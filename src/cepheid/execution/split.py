"""Splitting a stream: each event goes to one of several parts, or, by conditions, to each that wants it.

    random      at random, the same way again for the same seed and place in the stream
    attribute   by the values of columns: equal values always go together
    query       by conditions in SQL, one for each part: an event goes wherever its condition holds, or nowhere
    custom      a function of the user says the number of the part

A splitter is fed batch by batch; how a stream is cut into batches makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import InvalidInput, UnknownColumn
from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.kernel.columns import Int64s
from cepheid.kernel.key_hash import group_keys
from cepheid.language.relations.sql_values import read_condition
from cepheid.schema import read_table

Custom = Callable[[pa.Table], Any]
By = str | Sequence[str] | Mapping[str, str] | Custom


class Splitter:
    """`parts`: the names of the parts, numbers as text where none were given."""

    def __init__(self, by: By, into: int | None = None, seed: int = 0) -> None:
        self._by, self._seed = by, seed
        self._seen = 0
        if isinstance(by, Mapping):
            if into is not None and into != len(by):
                raise InvalidInput(f"there are {len(by)} conditions for {into} parts", hint="leave out `into`")
            self.parts = list(by)
        else:
            if isinstance(into, bool) or not isinstance(into, int) or into < 1:
                raise InvalidInput(f"a stream is split into {into!r} parts", hint="into=4")
            self.parts = [str(number) for number in range(into)]
        if isinstance(by, str) and by != "random":
            raise InvalidInput(f'"{by}" is no way to split', hint='"random", a list of columns, conditions, a function')

    def push(self, batch: Any) -> dict[str, pa.Table]:
        """The events of a batch by part."""
        table = read_table("batch", batch)
        if isinstance(self._by, Mapping):
            return {part: self._filter(table, condition) for part, condition in self._by.items()}
        numbers = self._number(table)
        self._seen += len(table)
        return {part: table.filter(pa.array(numbers == number)) for number, part in enumerate(self.parts)}

    def _number(self, table: pa.Table) -> Int64s:
        ways = len(self.parts)
        if self._by == "random":
            places = pa.chunked_array([pa.array(np.arange(self._seen, self._seen + len(table)))])
            seeds = pa.chunked_array([pa.array(np.full(len(table), self._seed, dtype=np.int64))])
            return group_keys([places, seeds], len(table), ways).astype(np.int64)
        if callable(self._by):
            return self._ask(self._by, table)
        assert not isinstance(self._by, str | Mapping), "those were handled before"
        for column in self._by:
            if column not in table.column_names:
                raise UnknownColumn(column, "batch", table.column_names)
        return group_keys([table.column(name) for name in self._by], len(table), ways).astype(np.int64)

    def _ask(self, function: Custom, table: pa.Table) -> Int64s:
        answer = np.asarray(function(table))
        ways = len(self.parts)
        if answer.shape != (len(table),) or answer.dtype.kind not in "iu":
            raise InvalidInput(
                "the function that splits must give one whole number for each event",
                hint=f'return an array, as in lambda table: table["bus"].to_numpy() % {ways}',
            )
        wrong = answer[(answer < 0) | (answer >= ways)]
        if len(wrong):
            raise InvalidInput(f"the function that splits named part {int(wrong[0])} of {ways}", hint="count from 0")
        return answer.astype(np.int64)

    def _filter(self, table: pa.Table, condition: str) -> pa.Table:
        value = read_condition(condition)
        if value is None:
            raise InvalidInput(f'"{condition}" is no condition', hint="for example a1 > 50")
        return run_duckdb(f"SELECT * FROM _input WHERE {write_duckdb(value)}", {"_input": table})
