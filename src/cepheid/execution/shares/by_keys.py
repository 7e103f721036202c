"""Events handed out by their keys: each process runs all of the query for its share of them.

    SELECT ... FROM buses MATCH_RECOGNIZE (PARTITION BY bus ...)      buses: by bus, 64 key groups, 16 for each of 4

That is right if at each vertex that remembers, all events of a key come to one process (placement/chain_keys.py); of a
window over time, all events of a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.execution.shares.picked_columns import pick_columns
from cepheid.execution.state_split import spread_groups
from cepheid.graph.operators import Sink
from cepheid.kernel.compiled.key_owners import part_events
from cepheid.placement.chain_keys import find_chain_keys
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.settings import KEY_GROUPS

Way = frozenset[tuple[str, str]]  # stream, column


@dataclass(frozen=True, slots=True)
class ByKeys:
    """keys: by stream, the columns that tell the key group."""

    placed: PlacedGraph
    schemas: Mapping[str, pa.Schema]
    keys: Mapping[str, tuple[str, ...]]
    repeats: bool = False

    def part(self, stream: str, table: pa.Table, ways: int) -> list[pa.Table]:
        table = table.select(self.schemas[stream].names)
        if ways == 1 or not len(table):
            return [table, *([table.slice(0, 0)] * (ways - 1))]
        columns = [table.column(name) for name in self.keys[stream]]
        parted = part_events(columns, len(table), spread_groups(KEY_GROUPS, ways), ways)
        return [table.take(pa.array(events)) for events in parted]

    def write_state(self) -> dict[str, Any]:
        return {}

    def read_state(self, state: Mapping[str, Any]) -> None:
        """There is none."""


def find_keys(placed: PlacedGraph, schemas: Mapping[str, pa.Schema]) -> ByKeys | str:
    """A text: why this will not do."""
    graph = placed.graph
    ways: list[set[Way]] = []
    for vertex, node in graph.vertices.items():
        if isinstance(node, Sink):
            (top,) = graph.inputs(vertex)
            found = find_chain_keys(graph, top, schemas, by_groups=True)
            if not found.columns:
                return f'the query "{node.query}": {found.why or "it looks at each event by itself"}'
            count = len(next(iter(found.columns.values())))
            choices = ({(name, each[number]) for name, each in found.columns.items()} for number in range(count))
            ways.append({frozenset(choice) for choice in choices})
    together = _join_ways(ways)
    if not together:
        return "queries that have no key in common"
    keys = {stream: tuple(dict(way)[stream] for way in together) for stream in schemas}
    handed = {stream: pick_columns(graph, stream, schema, keys[stream]) for stream, schema in schemas.items()}
    return ByKeys(placed, handed, keys)


def _join_ways(ways: list[set[Way]]) -> list[Way]:
    """Ways that take one of each query and name one column for each stream, in an order that is always the same."""
    joined: set[Way] = {frozenset()}
    for of_query in ways:
        pairs = (known | way for known in joined for way in of_query)
        joined = {pair for pair in pairs if len(dict(pair)) == len(pair)}
    return sorted(joined, key=sorted)
