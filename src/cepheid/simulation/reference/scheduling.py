"""Which vertex runs next, from when to when, with how many instructions: CEPSim's two schedulers.

A scheduler is a generator of steps: runs, and arrivals of messages between them.  `dynamic` decides each step only
after the one before has taken effect.  An arrival inside a slice splits it in two.  Register your own:

    @register_scheduler("longest_queue")
    def schedule_longest(turn): ...  # yields slices; every arrival must be yielded too
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cepheid.errors import InvalidInput, suggest_name

WORTH_RUNNING = 1.0  # instructions: less is not scheduled
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slice:
    """vertex: its place in the order."""

    vertex: int
    start: float
    end: float
    instructions: float

    def split(self, at: float) -> tuple[Slice, Slice]:
        first = self.instructions * ((at - self.start) / (self.end - self.start))
        return (
            Slice(self.vertex, self.start, at, first),
            Slice(self.vertex, at, self.end, self.instructions - first),
        )


@dataclass(frozen=True, slots=True)
class Arrival(Generic[T]):
    at: float
    message: T


@dataclass(frozen=True, slots=True)
class Turn(Generic[T]):
    """What a scheduler is told.  allotments: most instructions for each vertex at a time; needed(place): how many it
    could use now; arrivals: ascending."""

    start: float
    instructions: float
    capacity: float
    allotments: Sequence[float]
    needed: Callable[[int], float]
    arrivals: Sequence[Arrival[T]] = ()

    def lasts(self, instructions: float) -> float:
        return instructions / (self.capacity * 1000.0)


Step = Slice | Arrival[T]
Scheduler = Callable[[Turn[Any]], Iterator[Step[Any]]]
SCHEDULERS: dict[str, Scheduler] = {}
BUILT_IN = ("simple", "dynamic", "micro_batch")


def register_scheduler(name: str) -> Callable[[Scheduler], Scheduler]:
    def register(scheduler: Scheduler) -> Scheduler:
        SCHEDULERS[name] = scheduler
        return scheduler

    return register


def find_scheduler(name: str) -> Scheduler:
    if name not in SCHEDULERS:
        if name == "micro_batch":
            raise InvalidInput('scheduler "micro_batch" is not one of CEPSim', hint='set fidelity = "corrected"')
        raise InvalidInput(f'scheduler "{name}" does not exist', hint=suggest_name(name, SCHEDULERS))
    return SCHEDULERS[name]


@register_scheduler("simple")
def schedule_simply(turn: Turn[T]) -> Iterator[Step[T]]:
    """Everyone once, for its whole allotment, needed or not."""
    arrivals, cursor = list(turn.arrivals), turn.start
    for vertex, instructions in enumerate(turn.allotments):
        piece = Slice(vertex, cursor, cursor + turn.lasts(instructions), instructions)
        cursor = piece.end
        while arrivals and arrivals[0].at <= piece.start:
            yield arrivals.pop(0)
        if arrivals and arrivals[0].at < piece.end:
            first, second = piece.split(arrivals[0].at)
            yield first
            yield arrivals.pop(0)
            yield second
        else:
            yield piece
    yield from arrivals


@register_scheduler("dynamic")
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
        if arrivals and piece.start < arrivals[0].at < piece.end:
            first, second = piece.split(arrivals[0].at)
            yield first
            yield arrivals.pop(0)
            yield second
        else:
            yield piece
        cursor, left = piece.end, left - instructions
        place = vertex + 1 if vertex + 1 < count else 0
