"""Tables of any size into tables of one size, without copying."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def cut_tables(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """All have `rows` rows, but for the last."""
    waiting: list[pa.Table] = []
    held = 0
    for table in tables:
        begin = 0
        while held + len(table) - begin >= rows:
            taken = rows - held
            yield pa.concat_tables([*waiting, table.slice(begin, taken)])
            begin += taken
            waiting, held = [], 0
        if begin < len(table):
            waiting.append(table.slice(begin))
            held += len(table) - begin
    if waiting:
        yield pa.concat_tables(waiting)


def split_tables(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """None has more than `rows` rows, and none waits for the next."""
    for table in tables:
        for begin in range(0, len(table), rows):
            yield table.slice(begin, rows)
