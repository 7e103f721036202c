"""Batches as they come: an iterator, an Arrow reader, a list of tables, or a function that gives one of these.

A batch is whatever is taken for a table (cepheid.schema).  None is held back: what the iterator gives is given on, in
pieces of at most as many rows as were asked for.  A list ends; of an iterator nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.sources.cut_tables import split_tables
from cepheid.execution.sources.source import BATCH_ROWS, SourceKind
from cepheid.schema import fit_schema, read_schema, read_table


class BatchSource:
    """given: a list and a function are read from the start each time, an iterator once."""

    def __init__(self, given: Any, name: str, declared: pa.Schema | None = None) -> None:
        self.given, self.name, self.declared = given, name, declared
        self.is_finite = isinstance(given, list | tuple)
        self._ahead: list[Any] = []  # read to see the schema, and not given on yet
        self._opened: Iterator[Any] | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        if self.declared is not None:
            return self.declared
        if isinstance(self.given, pa.RecordBatchReader):
            return read_schema(self.name, self.given.schema)
        self._opened = self._start()
        for batch in self._opened:
            self._ahead.append(batch)
            return read_table(self.name, batch).schema
        hint = "declare its schema, or give at least one batch; an empty one will do"
        raise InvalidInput(f'"{self.name}" gives no batch that would show its schema', hint=hint)

    def read(self, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        schema = self.schema
        ahead, self._ahead = self._ahead, []
        opened, self._opened = self._opened or self._start(), None
        tables = (fit_schema(self.name, read_table(self.name, batch), schema) for batch in chain(ahead, opened))
        return split_tables(tables, rows)

    def _start(self) -> Iterator[Any]:
        if isinstance(self.given, Iterator | pa.RecordBatchReader):
            once, self.given = iter(self.given), None
            return once
        if self.given is None:
            hint = "give a function that makes the iterator, to read it several times"
            raise InvalidInput(f'"{self.name}" is an iterator that was read already', hint=hint)
        made: Iterable[Any] = self.given() if callable(self.given) else self.given
        if not isinstance(made, Iterable):
            hint = "let it yield tables, or return a list of them"
            raise InvalidInput(f'the function of "{self.name}" gives a {type(made).__name__}', hint=hint)
        return iter(made)


def _recognises(given: Any) -> bool:
    if isinstance(given, pa.RecordBatchReader):
        return True
    is_stream = isinstance(given, Iterator | list | tuple) or (callable(given) and not isinstance(given, type))
    return is_stream and not hasattr(given, "__arrow_c_stream__")


def _open(given: Any, name: str, schema: pa.Schema | None) -> BatchSource:
    return BatchSource(given, name, schema)


KIND = SourceKind("batches", "an iterator, list or function that gives tables", _recognises, _open)
