"""How the instructions of a placement are divided among its vertices, each time it runs.

A strategy gives every vertex a fraction, as (part, whole); the vertex may use `part * (instructions / whole)` at a
time, rounded in that order.  Register your own:

    @register_allocation("by_queue")
    def allocate_by_queue(shares): return [(share.queue, sum(each.queue for each in shares)) for share in shares]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.errors import InvalidInput, suggest_name


@dataclass(frozen=True, slots=True)
class Share:
    """A vertex that asks for instructions.  queries: those it works for, more than one if it is shared."""

    ipe: float
    weight: float
    queries: tuple[int, ...]
    queue: float = 0.0


Fraction = tuple[float, float]
Allocation = Callable[[Sequence[Share]], list[Fraction]]
ALLOCATIONS: dict[str, Allocation] = {}


def register_allocation(name: str) -> Callable[[Allocation], Allocation]:
    def register(strategy: Allocation) -> Allocation:
        ALLOCATIONS[name] = strategy
        return strategy

    return register


def find_allocation(name: str) -> Allocation:
    if name not in ALLOCATIONS:
        raise InvalidInput(f'allocation "{name}" does not exist', hint=suggest_name(name, ALLOCATIONS))
    return ALLOCATIONS[name]


@register_allocation("uniform")
def allocate_uniformly(shares: Sequence[Share]) -> list[Fraction]:
    """The same for every vertex."""
    return [(1.0, float(len(shares)))] * len(shares)


@register_allocation("weighted")
def allocate_by_weight(shares: Sequence[Share]) -> list[Fraction]:
    """Every query the same; within a query by ipe times weight.  What is shared gets a part from each of its
    queries."""
    wholes: dict[int, float] = {}
    for share in shares:
        for query in share.queries:
            wholes[query] = wholes.get(query, 0.0) + share.ipe * share.weight
    count = float(len(wholes))
    return [(sum(share.ipe * share.weight / wholes[query] for query in share.queries), count) for share in shares]
