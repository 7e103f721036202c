"""The records that the kernels work on: what never changes and what does, side by side, because one run of a vertex
touches both.  tabulate.py fills them.

A producer is an operator to the kernels: events that came in wait on an edge of its own that nothing else leads to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LOCAL, REMOTE = range(2)

VERTEX = np.dtype(
    [
        ("kind", np.int32),
        ("place", np.int32),  # NONE: does not run
        ("position", np.int32),  # in the order of its placement; NONE: never runs
        ("row", np.int32),  # among the producers, windows or consumers
        ("inputs", np.int32),  # from here to inputs_end in the list of inputs
        ("inputs_end", np.int32),
        ("outputs", np.int32),
        ("outputs_end", np.int32),
        ("width", np.int32),
        ("slot", np.int32),
        ("has_begun", np.int64),
        ("ipe", np.float64),
        ("total", np.float64),  # events that wait on its inputs
        ("part", np.float64),
        ("whole", np.float64),
        ("busy_until", np.float64),
        ("blocked_until", np.float64),
    ]
)
EDGE = np.dtype(
    [
        ("selectivity", np.float64),
        ("queue", np.float64),
        ("limit", np.float64),  # how many events its target can take, as it last said
        ("under_way", np.float64),  # sent, not arrived
        ("bytes", np.float64),
        ("source", np.int32),
        ("target", np.int32),
        ("way", np.int32),
        ("sent", np.int32),  # its output queue; only those of windows have one
        ("link", np.int32),
        ("rank", np.int32),  # of its source
    ]
)
PRODUCER_ROW = np.dtype(
    [
        ("rate", np.float64),
        ("outside", np.float64),
        ("fraction", np.float64),
        ("dropped", np.float64),
        ("quota", np.float64),  # what is left of a micro-batch
        ("capacity", np.float64),  # of its placement when it began: that fixes when it is asked
        ("pes", np.float64),
        ("asked_at", np.float64),  # when it was asked last, ms
        ("asked", np.int64),  # in which iteration
        ("begins", np.int64),  # the iteration from which on something may come
        ("amounts", np.int32),  # row of the table of amounts; NONE: `rate` all the time
        ("limited", np.int32),
        ("sheds", np.int32),
        ("edge", np.int32),
    ]
)
WINDOW_ROW = np.dtype(
    [
        ("close_at", np.float64),
        ("advance", np.float64),
        ("output", np.float64),  # negative: as many as came in
        ("dropped", np.float64),
        ("first", np.int64),  # of its slots: one for each advance and input
        ("first_total", np.int64),
        ("count", np.int32),
        ("index", np.int32),
        ("unsent", np.int32),  # queue
        ("limits_output", np.int32),
    ]
)
SLOT = np.dtype([("size", np.float64), ("ts", np.float64), ("latency", np.float64)])
PLACE = np.dtype(
    [
        ("capacity", np.float64),
        ("pes", np.float64),
        ("last_asked", np.float64),  # NaN: never
        ("halted_until", np.float64),
        ("blocked_until", np.float64),  # not before the last of its vertices
        ("busy_until", np.float64),
        ("busy_before", np.float64),  # as it was when the iteration began
        ("next_close", np.float64),  # of its windows
        ("overhead", np.float64),  # micro-batches: instructions
        ("next_trigger", np.float64),
        ("batch_stage", np.int64),  # the position that a micro-batch has reached; NONE: there is none
        ("order", np.int32),  # from here to order_end in the list of all orders
        ("order_end", np.int32),
        ("sources", np.int32),
        ("sources_end", np.int32),
        ("run_queue", np.int32),
        ("processors", np.int32),
        ("first_message", np.int32),  # messages on their way
        ("last_message", np.int32),
    ]
)
PROCESSOR = np.dtype([("cursor", np.float64), ("left", np.float64), ("vertex", np.int64)])

Records = npt.NDArray[np.void]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class Tables(NamedTuple):
    """order, sources: vertices and producers of each placement in the order of their turns.  run_queue: a bit for each
    vertex of a placement, set when it may have work (run_queue.py).  paths: of each consumer, from paths_of on, one for
    each producer of its family.  latency_ms, ms_per_byte: of each link, the last one for those without; free_at: when a
    link has sent all."""

    vertices: Records
    edges: Records
    queues: Records
    producers: Records
    windows: Records
    slots: Records
    slot_totals: Floats
    places: Records
    processors: Records
    inputs: Ints
    outputs: Ints
    order: Ints
    sources: Ints
    run_queue: npt.NDArray[np.uint64]
    paths: Floats
    paths_of: npt.NDArray[np.int64]
    latency_ms: Floats
    ms_per_byte: Floats
    free_at: Floats
    amounts: Floats
    first_amount: npt.NDArray[np.int64]  # [1]: the iteration of the first column of amounts


class TickTable(NamedTuple):
    """The ticks of a whole run: when each starts and ends, and by how much the last is too long (clock.py)."""

    start_s: Floats
    end_s: Floats
    surplus_s: Floats
    iterations: int
    once_each: bool
    network_delay_s: float
    batch_interval_ms: float
    batch_overhead_ms: float
    batch_most: float
