"""Which placements exchange nothing, and so may run one after the other, or in parallel.

A lane is what one thread runs: groups of placements, with a pool of their own for what waits there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.simulation.compiled.pool import Pool, make_pool
from cepheid.simulation.layout import Layout

Ints = npt.NDArray[np.int64]
BEGINS, ITERATES, STARTS, RUNS = range(4)  # stages of a placement in a tick
STATE = np.dtype(
    [
        ("group", np.int64),
        ("tick", np.int64),
        ("member", np.int64),
        ("stage", np.int64),
        ("iteration", np.int64),
        ("position", np.int64),
        ("start", np.float64),  # of the iteration, ms
        ("end", np.float64),
        ("amount", np.float64),  # instructions of the iteration
        ("cursor", np.float64),
        ("left", np.float64),
    ]
)


class Groups(NamedTuple):
    """Placements, group after group, and their vertices; begins: of each group, and where the last ends.

    state: where the kernel is, so that it can go on after the pool has grown.
    """

    places: Ints
    begins: Ints
    vertices: Ints
    vertices_begin: Ints
    state: npt.NDArray[np.void]  # [1]


@dataclass(slots=True)
class Lane:
    groups: Groups
    pool: Pool


def divide_work(layout: Layout, groups: list[list[int]], threads: int) -> list[Lane]:
    """Families of very different width do not share a pool: its nodes are all as wide as the widest."""
    order = np.argsort(layout.placement, kind="stable")
    bounds = np.searchsorted(layout.placement[order], np.arange(len(layout.order) + 1))
    members = [order[start:end] for start, end in pairwise(bounds)]
    by_width: dict[int, list[list[int]]] = {}
    for group in groups or [[]]:
        width = max((int(layout.width[members[place]].max(initial=1)) for place in group), default=1)
        by_width.setdefault((width - 1).bit_length(), []).append(group)
    lanes = []
    for alike in by_width.values():
        lanes += [make_lane(layout, part, members) for part in _split_evenly(alike, members, threads)]
    return lanes


def join_work(layout: Layout) -> Groups:
    """All of it in one group; also vertices that do not run."""
    places = np.arange(len(layout.order))
    vertices = np.arange(len(layout.instances))
    return Groups(places, _begins([len(places)]), vertices, _begins([len(vertices)]), np.zeros(1, STATE))


def _split_evenly(groups: list[list[int]], members: list[Ints], parts: int) -> Iterator[list[list[int]]]:
    """Neighbours stay together, each part with about as many vertices."""
    sizes = np.cumsum([sum(len(members[place]) for place in group) for group in groups])
    cuts = np.searchsorted(sizes, sizes[-1] * np.arange(1, parts) / parts) + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(cuts, len(groups)), [len(groups)]]))
    for start, end in pairwise(bounds):
        yield groups[start:end]


def make_lane(layout: Layout, groups: list[list[int]], members: list[Ints]) -> Lane:
    nothing = np.zeros(0, np.int64)
    vertices = [np.concatenate([nothing, *(members[place] for place in group)]) for group in groups]
    joined = np.concatenate([nothing, *vertices])
    width = max(int(layout.width[joined].max(initial=1)), 1)
    begins, vertices_begin = _begins([len(group) for group in groups]), _begins([len(each) for each in vertices])
    places = np.array([place for group in groups for place in group], np.int64)
    return Lane(
        Groups(places, begins, joined, vertices_begin, np.zeros(1, STATE)), make_pool(max(2 * len(joined), 64), width)
    )


def _begins(lengths: list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def find_groups(layout: Layout, links: npt.NDArray[np.int32]) -> list[list[int]]:
    """Placements that are joined by edges, or send over the same link, each group ascending.  A vertex that does not
    run joins those that send to it: what it misses is counted in one place.  links: of each edge, negative: none."""
    places, vertices = len(layout.order), len(layout.instances)
    here, there = layout.placement[layout.source], layout.placement[layout.target]
    parent = list(range(places + vertices + int(links.max(initial=-1)) + 1))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for edge in np.flatnonzero((here != there) | (there < 0)):
        start = int(here[edge]) if here[edge] >= 0 else places + int(layout.source[edge])
        end = int(there[edge]) if there[edge] >= 0 else places + int(layout.target[edge])
        parent[root(start)] = root(end)
        if links[edge] >= 0:
            parent[root(start)] = root(places + vertices + int(links[edge]))
    members: dict[int, list[int]] = {}
    for place in range(places):
        members.setdefault(root(place), []).append(place)
    return list(members.values())
