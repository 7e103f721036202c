"""Run a query as a stream is run: in batches, with a restart on the way.

    batches = [{"buses": part} for part in cut_table(buses, [10, 10, 11])]
    rows, query = run_in_batches("SELECT ...", batches, resume_after=1)

Whatever the cuts and wherever the restart, all rows together are those of the whole table.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.errors import UnboundedStateWarning
from cepheid.execution.embedded.continuous import ContinuousQuery
from cepheid.session import open as open_query

if TYPE_CHECKING:
    from cepheid.language.builder.pattern_builder import Pattern


def cut_table(table: pa.Table, places: Sequence[int]) -> list[pa.Table]:
    """The table cut before these rows, given in ascending order; equal places make an empty batch."""
    bounds = [0, *places, len(table)]
    return [table.slice(begin, end - begin) for begin, end in pairwise(bounds)]


def run_in_batches(
    text: str | Pattern,
    batches: Sequence[Mapping[str, pa.Table]],
    *,
    resume_after: int | None = None,
    lateness: timedelta | None = None,
) -> tuple[list[pa.Table], ContinuousQuery]:
    """The rows that each batch and then the end gave, and the query itself, finished.

    Each batch has a table for each stream.  After batch number `resume_after`, the query is given up and a new
    one goes on from its snapshot.
    """
    schemas = {name: table.schema for name, table in batches[0].items()}
    query = _open_quietly(text, schemas, lateness, None)
    rows = []
    for number, batch in enumerate(batches):
        rows.append(query.push(**batch))
        if number == resume_after:
            query = _open_quietly(text, schemas, lateness, query.snapshot())
    rows.append(query.finish())
    return rows, query


def _open_quietly(
    text: str | Pattern, schemas: Mapping[str, pa.Schema], lateness: timedelta | None, snapshot: bytes | None
) -> ContinuousQuery:
    """A test ends: that its state is not bounded does not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedStateWarning)
        opened = open_query(text, lateness=lateness, snapshot=snapshot, **schemas)
    assert isinstance(opened, ContinuousQuery), "it runs in this process"
    return opened
