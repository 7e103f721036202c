"""Every vertex once in each iteration, for its whole allotment, needed or not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cepheid.simulation.reference.concurrent import Processors, run_concurrently
from cepheid.simulation.reference.scheduling import Scheduler, Step, T, Turn, split_at_arrival
from cepheid.simulation.reference.slices import Slice


def schedule_simply(turn: Turn[T]) -> Iterator[Step[T]]:
    """Each vertex once, for its whole allotment, needed or not."""
    arrivals, cursor = list(turn.arrivals), turn.start
    for vertex, instructions in enumerate(turn.allotments):
        piece = Slice(vertex, cursor, cursor + turn.lasts(instructions), instructions)
        cursor = piece.end
        while arrivals and arrivals[0].at <= piece.start:
            yield arrivals.pop(0)
        yield from split_at_arrival(piece, arrivals)
    yield from arrivals


def run_once_each(processors: Processors) -> None:
    """In placement order, for the whole allotment, needed or not."""
    for vertex, member in enumerate(processors.placement.members):
        processor = processors.find_earliest()
        if processor is None:
            return
        now = processors.cursor[processor]
        processors.placement.receive_until(now)
        if member.blocked_until <= now:
            processors.run(processor, vertex, min(processors.allotments[vertex], processors.left[processor]))


SIMPLE = Scheduler(
    steps=schedule_simply,
    run_tick=partial(run_concurrently, run_once_each),
    kernels={
        "cepsim": "cepheid.simulation.compiled.cepsim:run_in_turn",
        "corrected": "cepheid.simulation.compiled.concurrent:run_concurrently",
    },
    once_each=True,
)
