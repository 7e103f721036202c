"""Aggregates over frames that are settled: each frame is a group of a window that closes at once.

frames     r0 r1 | r1 r2 r3 | r3             sizes 2, 3, 1
events     r0 r1   r1 r2 r3   r3     groups  0 0 1 1 1 2
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.event_time import END
from cepheid.execution.event_log import EventLog
from cepheid.execution.kernel_arrays import write_answers
from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.columns import Int64s, Interner, read_column
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowEvents, WindowProgram


def aggregate_frames(
    aggregates: Sequence[WindowedAggregate], types: Sequence[pa.DataType], log: EventLog, rows: Int64s, sizes: Int64s
) -> list[pa.Array]:
    """For each aggregate, its answer for each frame.  rows: int64, those of all frames, one behind another; sizes: how
    many each has; types: of the answers."""
    interner = Interner()
    read = dict.fromkeys(column for each in aggregates for column in (each.column, each.by) if column is not None)
    columns = {name: read_column(log.take(name, rows), interner) for name in read}
    owners = np.repeat(np.arange(len(sizes)), sizes)
    nothing = np.zeros(len(rows), dtype=np.int64)
    program = WindowProgram(
        window=Window(kind="count"), evaluation=Evaluation(when="close"), aggregates=tuple(aggregates)
    )
    events = WindowEvents(nothing, nothing, (owners,), columns)
    (found,) = CompiledWindows((program,), interner).step(events, END, final=True)
    places = np.full(len(sizes), -1, dtype=np.int64)
    places[found.groups] = np.arange(len(found))
    taken = pa.array(places, mask=places < 0)
    answers = [
        write_answers(values, arrow_type, interner).take(taken)
        for values, arrow_type in zip(found.values, types, strict=True)
    ]
    counts = [find_aggregate(each.function).gives == "count" for each in aggregates]
    return [
        pc.fill_null(answer, 0) if of_nothing else answer for answer, of_nothing in zip(answers, counts, strict=True)
    ]
