"""How the events of a query are handed out to several processes, and what each of them then runs.

    by keys         SEQ(s a, s b) WHERE a.k = b.k     a process has all events of its keys          by_keys.py
    by beginnings   SEQ(s a, s b) WHERE a.v < b.v     every process has all events, and looks for   by_beginnings.py
                                                      the matches that begin with its share of them

The first that will do for a query is taken.  What neither will do for is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.execution.shares.by_beginnings import find_beginnings
from cepheid.execution.shares.by_keys import find_keys
from cepheid.graph.operators import Source
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import base_name


class HandingOut(Protocol):
    """How events are handed out, and what is done with them."""

    @property
    def placed(self) -> PlacedGraph:
        """What each process runs."""
        ...

    @property
    def schemas(self) -> Mapping[str, pa.Schema]:
        """Of the streams, as they are handed out."""
        ...

    @property
    def repeats(self) -> bool:
        """Does every process have all events?"""
        ...

    def part(self, stream: str, table: pa.Table, ways: int) -> list[pa.Table]:
        """The events of each process, in the order in which they came."""
        ...

    def write_state(self) -> dict[str, Any]:
        """What it must know to go on, for a snapshot."""
        ...

    def read_state(self, state: Mapping[str, Any]) -> None: ...


def plan_handing_out(placed: PlacedGraph, schemas: Mapping[str, pa.Schema]) -> HandingOut:
    """schemas: of the streams as they are pushed."""
    graph = placed.graph
    sources = [node.name for node in graph.vertices.values() if isinstance(node, Source)]
    if any(base_name(name) for name in sources):
        raise NotSupportedYet(
            "PROCTIME() with several engines", hint="order by a time of the events; or leave engines out"
        )
    read = {name: schemas[name] for name in sources}
    found: HandingOut | str = find_keys(placed, read)
    if not isinstance(found, str):
        return found
    return find_beginnings(placed, read) or _refuse(found)


def _refuse(reason: str) -> Any:
    raise NotSupportedYet(
        f"several engines for {reason}",
        hint="PARTITION BY, or an equality of all steps (a.id = b.id), gives it keys; or leave engines out",
    )
