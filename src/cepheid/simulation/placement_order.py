"""The order in which the vertices of a placement have their turns.

First those without a predecessor in the placement, sorted by id as text ("spout10" before "spout2"); then breadth
first: a vertex joins as soon as all its predecessors are in the list.  CEPSim means *all* predecessors: a vertex with
some here and some elsewhere never joins and never runs.  Corrected, only those in the placement count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TypeVar

V = TypeVar("V", bound=Hashable)


def order_placement(
    members: Collection[V],
    predecessors: Callable[[V], Iterable[V]],
    successors: Callable[[V], Iterable[V]],
    name: Callable[[V], str],
    waits_for_all: bool,
) -> list[V]:
    """waits_for_all: as CEPSim does."""
    here = set(members)
    order = sorted((v for v in members if not any(p in here for p in predecessors(v))), key=name)
    listed, waiting = set(order), list[V]()
    for vertex in order:  # grows while it is walked
        waiting += [each for each in successors(vertex) if each in here and each not in listed and each not in waiting]
        ready = [each for each in waiting if all(p in listed for p in predecessors(each) if waits_for_all or p in here)]
        order += ready
        listed.update(ready)
        waiting = [each for each in waiting if each not in listed]
    return order
