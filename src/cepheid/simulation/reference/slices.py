"""A slice of time in which a vertex runs, and the arrival of a message between slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

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
