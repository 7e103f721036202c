"""A pattern or window over the rows of another, as one chain and as several that share its keys.

All parts go by one clock: the upper engines are told the lowest floor of all lower ones, which is that of one engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from split_engines import Rows, tell_keys

from cepheid.event_time import END
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.embedded.row_queue import RowQueue, merge_waiting, split_waiting, with_places
from cepheid.execution.engine import Engine, make_operator
from cepheid.execution.operator import Operator
from cepheid.execution.state_split import own_by_columns
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import RowPattern, Sequence, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.columns import Int64s
from cepheid.placement.chain_keys import ChainKeys
from cepheid.testing.compare_rows import list_rows


@dataclass(frozen=True)
class Chain:
    """A graph of which two vertices run in engines, one over the rows of the other."""

    graph: QueryGraph
    keys: ChainKeys

    @property
    def vertices(self) -> tuple[str, str]:
        lower, upper = (name for name in self.graph.order if isinstance(self.graph.vertices[name], EngineNode))
        return lower, upper

    def node(self, vertex: str) -> EngineNode:
        node = self.graph.vertices[vertex]
        assert isinstance(node, EngineNode)
        return tell_keys(node) if vertex == self.vertices[1] else node

    def feed(self, vertex: str, made: dict[str, pa.Table]) -> list[pa.Table]:
        """What goes into a vertex, from what is made."""
        return [self._make(name, made) for name in self.graph.inputs(vertex)]

    def _make(self, vertex: str, made: dict[str, pa.Table]) -> pa.Table:
        if vertex in made:
            return made[vertex]
        node = self.graph.vertices[vertex]
        if isinstance(node, Source):
            return made[node.name]
        return run_relational(node, self.feed(vertex, made))


class Part:
    """The engines of a chain, and the rows that wait between them."""

    def __init__(self, chain: Chain, empty: dict[str, pa.Table]) -> None:
        self.chain = chain
        lower, upper = chain.vertices
        node, inputs = chain.node(lower), [table.schema for table in chain.feed(lower, empty)]
        self.queue: RowQueue | None = None
        self._names = node.cell_names()
        self.nodes = [node, chain.node(upper)]
        if isinstance(node, RowPattern | Sequence):
            self.nodes[0] = with_places(node, len(inputs) > 1)
        first = Engine([self.nodes[0]], inputs)
        if isinstance(node, RowPattern | Sequence):
            self.queue = RowQueue(node, len(inputs) > 1, first.schemas[0])
        rows = first.schemas[0].empty_table().select(self._names)
        self.engines = [first, Engine([self.nodes[1]], [each.schema for each in chain.feed(upper, {lower: rows})])]
        self.many = [len(inputs) > 1, False]

    def operator(self, level: int) -> Operator:
        return make_operator([self.nodes[level]], self.engines[level].layout, self.many[level], "compiled")


class SharedChain:
    """Parts that share the keys of a chain; table: the owner of each key group."""

    def __init__(self, chain: Chain, empty: dict[str, pa.Table], table: Int64s, count: int) -> None:
        self._chain, self._empty, self._table = chain, empty, table
        self._parts = [Part(chain, empty) for _ in range(count)]
        self._arrivals = [0, 0]

    def push(self, tables: dict[str, pa.Table], horizon: int | None) -> Rows:
        """horizon: None at the end."""
        lower, upper = self._chain.vertices
        settled = []
        for part, own in zip(self._parts, self._spread(tables), strict=True):
            settled.append(self._run(part, 0, self._chain.feed(lower, own), horizon))
        floor = END if horizon is None else min(part.engines[0].floor() for part in self._parts)
        ready = [
            rows if part.queue is None else part.queue.pass_on(rows, floor)
            for part, rows in zip(self._parts, settled, strict=True)
        ]
        reached = min(floor, *(part.queue.oldest() for part in self._parts if part.queue is not None), END)
        rows = [
            self._run(part, 1, self._chain.feed(upper, {lower: own}), None if horizon is None else reached)
            for part, own in zip(self._parts, ready, strict=True)
        ]
        found: Rows = {}
        for row in list_rows(pa.concat_tables(rows)):
            found.setdefault(row[-self._chain.node(upper).keys :], []).append(row)
        return found

    def _run(self, part: Part, level: int, inputs: list[pa.Table], horizon: int | None) -> pa.Table:
        """Arrivals are unique among all parts."""
        engine = part.engines[level]
        engine.restore(replace(engine.keep(), arrivals=self._arrivals[level]))
        self._arrivals[level] += sum(map(len, inputs))
        rows = engine.push(inputs, engine.gate.horizon if horizon is None else horizon)
        return rows[0] if horizon is not None else pa.concat_tables([rows[0], engine.finish()[0]])

    def _spread(self, tables: dict[str, pa.Table]) -> list[dict[str, pa.Table]]:
        columns = self._chain.keys.columns
        whose = {name: own_by_columns(self._table, columns[name])(table) for name, table in tables.items()}
        return [
            {name: table.filter(pa.array(whose[name] == number)) for name, table in tables.items()}
            for number in range(len(self._parts))
        ]

    def rearrange(self, table: Int64s, count: int) -> None:
        """Key groups belong to other parts now."""
        old, self._table = self._parts, table
        self._parts = [Part(self._chain, self._empty) for _ in range(count)]
        for level, vertex in enumerate(self._chain.vertices):
            owners = own_by_columns(table, [f"_key{number}" for number in self._chain.keys.keys[vertex]])
            operator = old[0].operator(level)
            pieces = [operator.split(part.engines[level].keep(), owners, count) for part in old]
            for part, kept in zip(self._parts, zip(*pieces, strict=True), strict=True):
                part.engines[level].restore(operator.merge(list(kept)))
        self._move_waiting([part.queue for part in old], table)

    def _move_waiting(self, queues: list[RowQueue | None], table: Int64s) -> None:
        lower, _ = self._chain.vertices
        cells = list(self._chain.keys.cells[lower])
        owners = own_by_columns(table, [f"_key{number}" for number in range(len(cells))])
        waiting = [
            split_waiting(queue.waiting, cells, owners, len(self._parts)) for queue in queues if queue is not None
        ]
        for part, rows in zip(self._parts, zip(*waiting, strict=True), strict=False):
            assert part.queue is not None
            part.queue.waiting = merge_waiting(list(rows))

    def count_waiting(self) -> int:
        return sum(len(part.queue.waiting) for part in self._parts if part.queue is not None)


def draw_table(random: Any, groups: int, count: int) -> Int64s:
    return np.array([random.randrange(count) for _ in range(groups)], dtype=np.int64)
