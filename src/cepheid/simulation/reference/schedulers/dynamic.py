"""Round and round, each vertex that has work, for what it needs or its allotment, until nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cepheid.simulation.reference.concurrent import Processors, run_concurrently
from cepheid.simulation.reference.scheduling import WORTH_RUNNING, Scheduler, Step, T, Turn, split_at_arrival
from cepheid.simulation.reference.slices import Slice


def schedule_dynamically(turn: Turn[T]) -> Iterator[Step[T]]:
    """Round and round, those that have work, each for what it needs or its allotment at most, until nothing is left."""
    arrivals, cursor, left, place = list(turn.arrivals), turn.start, turn.instructions, 0
    count = len(turn.allotments)
    while True:
        while arrivals and arrivals[0].at <= cursor:
            yield arrivals.pop(0)
        if left <= 0.0:
            return
        for tried in range(place, place + count):
            vertex = tried if tried < count else tried - count
            needed = turn.needed(vertex)
            if needed > WORTH_RUNNING:
                break
        else:
            if not arrivals:
                return
            cursor = arrivals[0].at
            continue
        instructions = min(needed, turn.allotments[vertex], left)
        piece = Slice(vertex, cursor, cursor + turn.lasts(instructions), instructions)
        yield from split_at_arrival(piece, arrivals)
        cursor, left = piece.end, left - instructions
        place = vertex + 1 if vertex + 1 < count else 0


def run_in_rounds(processors: Processors) -> None:
    """The earliest free processor takes the next vertex that has work; without one it waits."""
    place = 0
    while (processor := processors.find_earliest()) is not None:
        now = processors.cursor[processor]
        processors.placement.receive_until(now)
        vertex = processors.find_work(place, now)
        if vertex is None:
            processors.wait(processor, now)
            continue
        needed = processors.placement.members[vertex].run.needed()
        most = min(processors.allotments[vertex], processors.left[processor])
        processors.run(processor, vertex, min(max(needed, 0.0), most))
        place = vertex + 1 if vertex + 1 < len(processors.allotments) else 0


DYNAMIC = Scheduler(
    steps=schedule_dynamically,
    run_tick=partial(run_concurrently, run_in_rounds),
    kernels={
        "cepsim": "cepheid.simulation.compiled.cepsim:run_in_turn",
        "corrected": "cepheid.simulation.compiled.concurrent:run_concurrently",
    },
)
