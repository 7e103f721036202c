"""Columns of answers: some of their rows, or several one behind another."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Column, Flags, Int64s
from cepheid.kernel.window import AnswerColumn, ListColumn, ObjectColumn


def take_rows(column: AnswerColumn, rows: Int64s) -> AnswerColumn:
    """The rows with these numbers, in this order."""
    if isinstance(column, ObjectColumn):
        return ObjectColumn([column.values[row] for row in rows.tolist()])
    valid = None if column.valid is None else column.valid[rows]
    if isinstance(column, Column):
        return Column(column.values[rows], valid)
    lengths = np.diff(column.ends, prepend=0)[rows]
    ends = np.cumsum(lengths)
    places = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - column.ends[rows], lengths)
    items = take_rows(column.items, places)
    assert isinstance(items, Column), "items of lists are plain"
    return ListColumn(ends, items, valid)


def join_columns(columns: list[AnswerColumn]) -> AnswerColumn:
    """One behind another; at least one, all of one sort."""
    if len(columns) == 1:
        return columns[0]
    objects = [column for column in columns if isinstance(column, ObjectColumn)]
    if objects:
        return ObjectColumn([value for column in objects for value in column.values])
    lists = [column for column in columns if isinstance(column, ListColumn)]
    if not lists:
        return _join_plain([column for column in columns if isinstance(column, Column)])
    counts = np.cumsum([0] + [len(column.items.values) for column in lists])
    ends = np.concatenate([column.ends + count for column, count in zip(lists, counts[:-1].tolist(), strict=True)])
    valid = _join_valid([(column.valid, len(column.ends)) for column in lists])
    return ListColumn(ends, _join_plain([column.items for column in lists]), valid)


def _join_plain(columns: list[Column]) -> Column:
    valid = _join_valid([(column.valid, len(column.values)) for column in columns])
    return Column(np.concatenate([column.values for column in columns]), valid)


def _join_valid(parts: list[tuple[Flags | None, int]]) -> Flags | None:
    if all(valid is None for valid, _ in parts):
        return None
    return np.concatenate([np.ones(count, dtype=np.uint8) if valid is None else valid for valid, count in parts])
