"""What a scheduler is: which vertex runs next, from when to when, with how many instructions.

`steps` is CEPSim's contract, and the one to write a scheduler of your own for: a generator of runs, and arrivals of
messages between them.  Each step may be decided only after the one before has taken effect.  An arrival inside a slice
splits it in two.

    @register_scheduler("longest_queue")
    def schedule_longest(turn): ...  # yields slices; every arrival must be yielded too

A built-in one is a file of schedulers/, and a line in schedulers/kinds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from cepheid.simulation.clock import Tick
from cepheid.simulation.reference.placement import PlacementRun
from cepheid.simulation.reference.ports import Bounds
from cepheid.simulation.reference.slices import Arrival, Slice
from cepheid.simulation.scenario import Fidelity, Scenario

WORTH_RUNNING = 1.0  # instructions: less is not scheduled
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Turn(Generic[T]):
    """What a scheduler decides by.  allotments: most instructions for each vertex at a time; needed(place): how many it
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
Steps = Callable[[Turn[Any]], Iterator[Step[Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """All that the simulator has to know of a scheduler.

    steps: of one processor; None: CEPSim cannot run it.
    run_tick: a tick of a placement with fidelity "corrected"; None: by its steps, so on one processor only.
    kernels: by fidelity, "module:function" of the compiled twin; without one it runs on the reference engine.
    bounds: which bounds of queues hold with fidelity "corrected".
    once_each: every vertex has one turn in each iteration, needed or not.
    lag_s: how long events may wait for their turn though everything is well.
    """

    steps: Steps | None = None
    run_tick: Callable[[PlacementRun, Tick, Scenario], None] | None = None
    kernels: Mapping[Fidelity, str] = field(default_factory=dict)
    bounds: Bounds = "hard"
    once_each: bool = False
    lag_s: Callable[[Scenario], float] = lambda _: 0.0


def split_at_arrival(piece: Slice, arrivals: list[Arrival[T]]) -> Iterator[Step[T]]:
    """The slice, in two if the first of the arrivals comes within it."""
    if arrivals and piece.start < arrivals[0].at < piece.end:
        first, second = piece.split(arrivals[0].at)
        yield first
        yield arrivals.pop(0)
        yield second
    else:
        yield piece
