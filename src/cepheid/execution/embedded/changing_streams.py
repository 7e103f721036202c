"""The streams of a continuous query over rows that come and go: pushed tables in, rows that travel out.

A stream that changes has a ledger; one that only grows has its rows numbered where it meets one that changes.  How
long a row is known follows from the engines that read it: what is late for all of them may be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.changing.ledger import Ledger, PlainRows, without_retracts
from cepheid.execution.embedded.changing_feed import ChangingFeed
from cepheid.graph.changing import reaches_user
from cepheid.graph.column_origin import trace_columns
from cepheid.graph.operators import Source
from cepheid.graph.query_graph import QueryGraph

Tables = Mapping[str, pa.Table]
Reader = tuple[str, ChangingFeed]  # the column that orders events, and the engine


class ChangingStreams:
    def __init__(self, schemas: Mapping[str, pa.Schema], changing: frozenset[str], origin: str = "") -> None:
        """schemas: of all streams; changing: those that change, as users call them; origin: see PlainRows."""
        self._schemas = schemas
        self._changing = changing
        self._origin = origin
        self._ledgers: dict[str, Ledger] = {}
        self._plain: dict[str, PlainRows] = {}
        self._readers: dict[str, list[Reader] | None] = {}
        self.arrivals = 0

    def open(self, graph: QueryGraph, carried: frozenset[str], feeds: Mapping[str, Any], bounded: bool) -> None:
        """Know the streams of a graph; those that were known keep what they know.  bounded: are changes accepted for a
        while only?"""
        sources = {
            node.name: name for name, node in graph.vertices.items() if isinstance(node, Source) and name in carried
        }
        for stream, vertex in sources.items():
            if stream in self._changing:
                self._ledgers.setdefault(stream, Ledger(stream, self._schemas[stream]))
                self._readers[stream] = _find_readers(graph, vertex, feeds) if bounded else None
            else:
                self._plain.setdefault(stream, PlainRows(stream, self._origin))

    def read(self, tables: Tables) -> tuple[dict[str, pa.Table], Tables]:
        """Rows that travel, by stream; and what of the tables tells how far time has come.  Refuses what cannot be
        before anything has changed."""
        checked = {
            stream: ledger.check(tables[stream], self._settled(stream)) for stream, ledger in self._ledgers.items()
        }
        rows: dict[str, pa.Table] = {}
        clocks = dict(tables)
        for stream, table in tables.items():
            if stream in checked:
                rows[stream] = self._ledgers[stream].take(checked[stream], table, self.arrivals)
                clocks[stream] = without_retracts(table)
            elif stream in self._plain:
                rows[stream] = self._plain[stream].take(table, self.arrivals)
            self.arrivals += len(table)
        return rows, clocks

    def spell_out(self, stream: str, rows: pa.Table) -> pa.Table:
        """Rows of the last push of a stream that only grows, as all others travel."""
        return self._plain[stream].spell_out(rows)

    def forget(self) -> None:
        """Rows that are late for all who read them."""
        for stream, ledger in self._ledgers.items():
            ledger.forget(self._settled(stream) or {})

    def write_state(self) -> tuple[dict[str, Any], list[bytes]]:
        header = {
            "arrivals": self.arrivals,
            "plain": {stream: plain.count for stream, plain in self._plain.items()},
            "ledgers": list(self._ledgers),
        }
        return header, [write_table(ledger.write()) for ledger in self._ledgers.values()]

    def read_state(self, header: Mapping[str, Any], parts: list[bytes]) -> None:
        """Go on from there."""
        self.arrivals = header["arrivals"]
        for stream, count in header["plain"].items():
            self._plain.setdefault(stream, PlainRows(stream, self._origin)).count = count
        for stream, part in zip(header["ledgers"], parts, strict=True):
            if stream in self._changing:
                self._ledgers.setdefault(stream, Ledger(stream, self._schemas[stream])).read(read_table_bytes(part))

    def _settled(self, stream: str) -> dict[str, int] | None:
        """By column: what is older no longer changes; None: whatever happened may still be changed."""
        readers = self._readers.get(stream)
        if readers is None:
            return None
        found: dict[str, int] = {}
        for column, feed in readers:
            found[column] = min(found.get(column, feed.settled_horizon), feed.settled_horizon)
        return found


def _find_readers(graph: QueryGraph, vertex: str, feeds: Mapping[str, ChangingFeed]) -> list[Reader] | None:
    """The engines that read a stream, and by which of its columns; None: not only engines do, or it cannot be told."""
    if reaches_user(graph, vertex):
        return None
    source = graph.vertices[vertex]
    found: list[Reader] = []
    for name, feed in feeds.items():
        for below in graph.inputs(name):
            if vertex not in graph.reach(below, graph.inputs):
                continue
            origins = trace_columns(graph, below, "_time")
            if origins is None:
                if any(lower in feeds for lower in graph.reach(below, graph.inputs)):
                    continue  # it reads another engine, which is in the list
                return None
            found += [(column, feed) for origin, column in origins if origin == source]
    return found
