"""A snapshot as it is read back: which engine's state belongs to which vertex, and what became of each query.

State is kept under the digests of vertices.  So a snapshot of {a, b} opens for {b, a}, for {a}, and for {a, b, c}, in
which c begins empty; a query that has changed is refused by name, or, if the user says so, begins anew while others
keep what they know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cepheid.errors import SnapshotMismatch
from cepheid.execution.blob import read_blob
from cepheid.execution.views.find_views import is_view
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Sink
from cepheid.graph.query_graph import QueryGraph

OnChange = Literal["refuse", "restart"]
Vertices = Mapping[str, str]  # by digest: what people are told


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What became of each query, by name, when a snapshot was opened.

    kept: goes on where it was; empty: was not in the snapshot, and begins with nothing; restarted: has changed, and
    begins with nothing; dropped: was in the snapshot, and is not among the queries.
    """

    kept: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedEngine:
    header: dict[str, Any]
    parts: list[bytes]

    @property
    def digests(self) -> list[str]:
        found: list[str] = self.header["digests"]
        return found


@dataclass(frozen=True, slots=True)
class SavedStreams:
    header: dict[str, Any]
    parts: list[bytes]


@dataclass(frozen=True, slots=True)
class SavedState:
    """queries: the stateful vertices of each, as the snapshot knew them; streams: what is known of rows that come and
    go, a header and parts."""

    queries: dict[str, Vertices]
    engines: list[SavedEngine]
    streams: SavedStreams | None = None

    @staticmethod
    def read(blob: bytes, emit: str) -> SavedState:
        """emit: how rows come out of whoever goes on from it."""
        header, parts = read_blob(blob)
        if "queries" not in header:
            raise SnapshotMismatch(
                "this snapshot was written by a version that did not know its queries",
                hint="start without it, or with the version that wrote it",
            )
        if header.get("emit", emit) != emit:
            raise SnapshotMismatch(
                f'the snapshot was taken with emit="{header["emit"]}", and is opened with emit="{emit}"',
                hint="open it as it was taken, or begin without it: rows that were given out cannot be told otherwise",
            )
        engines = []
        for told in header["engines"]:
            engines.append(SavedEngine(told, parts[: told["parts"]]))
            parts = parts[told["parts"] :]
        streams = header.get("streams")
        return SavedState(header["queries"], engines, None if streams is None else SavedStreams(streams, parts))

    def find(self, digest: str, query: str | None = None) -> int | None:
        """The number of the engine that knows the vertex; if several do, of the one that this query had."""
        found = [number for number, engine in enumerate(self.engines) if digest in engine.digests]
        own = [number for number in found if query in self.engines[number].header.get("queries", ())]
        return next(iter(own or found), None)

    def compare(self, queries: Mapping[str, Vertices], on_change: OnChange) -> Restored:
        """What becomes of each query; queries: those that are opened now."""
        kept, empty, restarted = [], [], []
        for name, vertices in queries.items():
            missing = [digest for digest in vertices if self.find(digest) is None]
            if not missing:
                kept.append(name)
            elif name not in self.queries:
                empty.append(name)
            elif on_change == "restart":
                restarted.append(name)
            else:
                raise _describe_change(name, self.queries[name], vertices)
        dropped = tuple(name for name in self.queries if name not in queries)
        return Restored(kept=tuple(kept), empty=tuple(empty), restarted=tuple(restarted), dropped=dropped)


def list_stateful(graph: QueryGraph) -> dict[str, dict[str, str]]:
    """By query: the digests of the vertices that remember, and what people are told of each."""
    return {
        node.query: {
            graph.digests[name]: f"{name}: {graph.vertices[name].describe()}"
            for name in graph.reach(vertex, graph.inputs)
            if isinstance(graph.vertices[name], EngineNode) or is_view(graph.vertices[name])
        }
        for vertex, node in graph.vertices.items()
        if isinstance(node, Sink)
    }


def write_saved_state(
    queries: Mapping[str, Vertices], engines: list[SavedEngine], emit: str, streams: SavedStreams | None = None
) -> tuple[dict[str, Any], list[bytes]]:
    """A header and parts, of which a snapshot is made."""
    headers = [{**engine.header, "parts": len(engine.parts)} for engine in engines]
    parts = [part for engine in engines for part in engine.parts]
    described = {name: dict(each) for name, each in queries.items()}
    told: dict[str, Any] = {"queries": described, "engines": headers, "emit": emit}
    if streams is not None:
        told["streams"] = streams.header
        parts += streams.parts
    return told, parts


def _describe_change(name: str, before: Vertices, now: Vertices) -> SnapshotMismatch:
    """Which vertex it is that changed, and from what."""
    fresh = [told for digest, told in now.items() if digest not in before]
    gone = [told for digest, told in before.items() if digest not in now]
    was = next((told for told in gone if _kind(told) == _kind(fresh[0])), None)
    change = f"it is now {fresh[0]}" + ("" if was is None else f", and was {was}")
    return SnapshotMismatch(
        f'query "{name}" has changed since the snapshot was taken: {change}',
        hint='open it with the old text, or with on_change="restart": it begins empty, other queries keep their state',
    )


def _kind(described: str) -> str:
    return described.partition(": ")[2].partition("(")[0]
