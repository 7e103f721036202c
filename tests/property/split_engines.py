"""An engine of a query, alone and as several that share its keys: at random moments their state is split, merged and
moved by key group, and every push must give the rows of the one engine, key by key in its order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler import compile_query
from cepheid.event_time import BEGINNING, newest_time
from cepheid.execution.embedded.relations import describe_sql, run_relational
from cepheid.execution.engine import Engine, make_operator
from cepheid.execution.operator import HELD, Operator
from cepheid.execution.state_split import make_owners, merge_states, move_groups, split_state
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import OverRows, RowPattern, Sequence, Source, WindowAggregate, WindowJoin
from cepheid.graph.operators.over_rows import OverCell
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.graph.operators.window_join import JoinCell
from cepheid.kernel.columns import Int64s
from cepheid.language.catalog import Catalog
from cepheid.testing.compare_rows import list_rows

Rows = dict[tuple[Any, ...], list[tuple[Any, ...]]]  # of each key, in order


@dataclass(frozen=True)
class EngineCase:
    """Vertices that share an engine, and one table in the event layout for each of its inputs."""

    nodes: list[EngineNode]
    inputs: list[pa.Table]

    @property
    def split(self) -> int:
        return min(node.split for node in self.nodes)

    def make_engine(self) -> Engine:
        return Engine(self.nodes, [table.schema for table in self.inputs])

    def make_operator(self) -> Operator:
        return make_operator(self.nodes, self.make_engine().layout, len(self.inputs) > 1, "compiled")


def find_engines(queries: Mapping[str, str] | str, tables: Mapping[str, pa.Table]) -> list[EngineCase]:
    """The engines of a query that read streams and can be split; their rows also tell their keys."""
    known = {name: table.schema for name, table in tables.items()}
    placed = compile_query(queries, Catalog(known, describe_sql, streams=frozenset(known))).placed
    graph = placed.graph
    made: dict[str, pa.Table] = {}
    for vertex in graph.order:
        node, sources = graph.vertices[vertex], graph.inputs(vertex)
        if isinstance(node, Source):
            made[vertex] = tables[node.name]
        elif node.role == "operator" and not isinstance(node, EngineNode) and all(name in made for name in sources):
            made[vertex] = run_relational(node, [made[name] for name in sources])
    found = []
    for vertices in placed.engines():
        sources = graph.inputs(vertices[0])
        nodes = [node for name in vertices if isinstance(node := graph.vertices[name], EngineNode)]
        if all(name in made for name in sources) and min(node.split for node in nodes):
            found.append(EngineCase([tell_keys(node) for node in nodes], [made[name] for name in sources]))
    return found


def tell_keys(node: EngineNode) -> EngineNode:
    """The vertex with cells, named `?...`, that tell the key of each row; of a join, at each of its sides."""
    columns = [f"_key{number}" for number in range(node.keys)]
    cells: list[Any]
    match node:
        case RowPattern() | Sequence():
            cells = [OutputCell(name=f"?{column}", kind="row", column=column) for column in columns]
        case WindowAggregate():
            cells = [WindowCell(name=f"?{column}", kind="key", column=column) for column in columns]
        case OverRows():
            cells = [OverCell(name=f"?{column}", kind="row", column=column) for column in columns]
        case WindowJoin():
            sides = range(len(node.program.inputs))
            cells = [
                JoinCell(name=f"?{side}{column}", column=column, input=side) for side in sides for column in columns
            ]
        case _:
            raise AssertionError(f"{node} has no keys")
    return replace(node, cells=(*node.cells, *cells))  # type: ignore[call-arg]


def read_by_key(node: EngineNode, table: pa.Table) -> Rows:
    """Rows by their keys; of a join, by those of the side that is there."""
    keys = list_rows(table.select([name for name in table.column_names if name.startswith("?")]))
    found: Rows = {}
    for row, key in zip(list_rows(table), keys, strict=True):
        sides = [key[begin : begin + node.keys] for begin in range(0, len(key), node.keys)]
        found.setdefault(next((side for side in sides if set(side) != {None}), sides[0]), []).append(row)
    place = next((number for number, cell in enumerate(node.cells) if getattr(cell, "kind", "") == "evaluation"), None)
    return found if place is None else {key: _count_from_0(rows, place) for key, rows in found.items()}


def _count_from_0(rows: list[tuple[Any, ...]], place: int) -> list[tuple[Any, ...]]:
    """Evaluations are counted over all keys of an engine: what matters is which rows of a key are of one."""
    numbers: dict[int, int] = {}
    return [(*row[:place], numbers.setdefault(row[place], len(numbers)), *row[place + 1 :]) for row in rows]


@dataclass
class SharedEngines:
    """Engines that share the keys of one; table: the owner of each key group."""

    case: EngineCase
    engines: list[Engine]
    table: Int64s
    operator: Operator

    @staticmethod
    def begin(case: EngineCase, key_groups: int) -> SharedEngines:
        return SharedEngines(case, [case.make_engine()], np.zeros(key_groups, dtype=np.int64), case.make_operator())

    def push(self, tables: list[pa.Table], horizon: int) -> list[pa.Table]:
        owners = make_owners(self.table, self.case.split)
        whose = [owners(table) for table in tables]
        rows = []
        for number, engine in enumerate(self.engines):
            own = [table.filter(pa.array(of == number)) for table, of in zip(tables, whose, strict=True)]
            rows.append(engine.push(own, horizon))
        return [pa.concat_tables(parts) for parts in zip(*rows, strict=True)]

    def finish(self) -> list[pa.Table]:
        rows = [engine.finish() for engine in self.engines]
        return [pa.concat_tables(parts) for parts in zip(*rows, strict=True)]

    def rearrange(self, random: Random) -> str:
        """Split, merge, move, or only restore; gives what was done."""
        kept = [engine.keep() for engine in self.engines]
        count, split = random.randint(1, 8), self.case.split
        action = random.choice(("move", "move", "merge", "restore"))
        if action == "restore":
            count = len(kept)
        elif action == "merge":
            kept, count = [merge_states(self.operator, kept)], 1
            self.table[:] = 0
        else:
            self.table = np.array([random.randrange(count) for _ in self.table], dtype=np.int64)
            if len(kept) == 1:
                kept = split_state(self.operator, kept[0], self.table, split, count)
            else:
                kept = move_groups(self.operator, kept, self.table, split, count)
        assert len(kept) == count
        self.engines = [self.case.make_engine() for _ in kept]
        for engine, state in zip(self.engines, kept, strict=True):
            engine.restore(state)
        return f"{action} to {count}"

    def count_held(self) -> int:
        return sum(int((engine.keep().roles == HELD).sum()) for engine in self.engines)


def assert_shared_engines_agree(case: EngineCase, random: Random, lateness_us: int) -> tuple[int, int]:
    """How many rows there were, and on how many engines at most."""
    places = sorted(random.random() for _ in range(random.choice((2, 5, 8))))
    batches = list(zip(*(_cut(table, places) for table in case.inputs), strict=True))
    alone, shared = case.make_engine(), SharedEngines.begin(case, random.choice((1, 8, 64)))
    newest = [BEGINNING] * len(case.inputs)
    done: list[str] = []
    rows, most = 0, 1
    for number, batch in enumerate(batches):
        if number and random.random() < 0.7:
            done.append(f"{number}: {shared.rearrange(random)}")
        most = max(most, len(shared.engines))
        newest = [max(known, newest_time(table.column("_time"))) for known, table in zip(newest, batch, strict=True)]
        horizon = BEGINNING if BEGINNING in newest else min(newest) - lateness_us
        told = f"push {number} {done}"
        rows += _compare(case, shared.push(list(batch), horizon), alone.push(list(batch), horizon), told)
    if random.random() < 0.5:
        done.append(f"end: {shared.rearrange(random)}")
    assert shared.count_held() == alone.counts.held, f"as many events are held back: {done}"
    return rows + _compare(case, shared.finish(), alone.finish(), f"end {done}"), most


def _compare(case: EngineCase, found: list[pa.Table], expected: list[pa.Table], told: str) -> int:
    for node, ours, theirs in zip(case.nodes, found, expected, strict=True):
        assert ours.schema == theirs.schema, told
        left, right = read_by_key(node, ours), read_by_key(node, theirs)
        for key in [*right, *(key for key in left if key not in right)]:
            assert left.get(key, []) == right.get(key, []), (
                f"{told}, key {key}: {left.get(key)} instead of {right.get(key)} at {node.describe()}"
            )
    return sum(map(len, expected))


def _cut(table: pa.Table, places: list[float]) -> list[pa.Table]:
    bounds = [0, *(min(len(table), int(place * (len(table) + 1))) for place in places), len(table)]
    return [table.slice(begin, end - begin) for begin, end in pairwise(bounds)]
