"""Under what the state of an engine is kept, and how stored events find their way into its columns again.

State is found by the digests of vertices (graph/identity.py), and the columns of stored events by what they mean: what
a query calls them may have changed in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from cepheid.errors import SnapshotMismatch
from cepheid.graph.identity import column_meanings
from cepheid.graph.query_graph import QueryGraph

OWN = ("_arrival", "_stream", "_change.row", "_change.event", "_change.lateness")  # columns that engines add
RESTART_HINT = 'on_change="restart" begins it anew, and leaves the state of other queries as it is'


@dataclass(frozen=True, slots=True)
class EngineIdentity:
    """digests, described: of its vertices, for machines and for people; meanings: of its columns, by name."""

    digests: tuple[str, ...] = ()
    described: tuple[str, ...] = ()
    meanings: dict[str, str] = field(default_factory=dict)

    def header(self) -> dict[str, Any]:
        """What is written beside the state."""
        return {"digests": self.digests, "described": self.described, "columns": self.meanings}

    def fit_events(self, events: pa.Table, stored: dict[str, str], layout: pa.Schema) -> pa.Table:
        """Stored events in the columns of the layout; stored: what their columns mean, by name."""
        names = {meaning: name for name, meaning in stored.items()}
        chosen = []
        for column in layout.names:
            known = column if column in OWN or not self.meanings else names.get(self.meanings.get(column, ""))
            if known is None or known not in events.column_names:
                raise SnapshotMismatch(f'the stored events have no column "{column}"', hint=RESTART_HINT)
            chosen.append(events.column(known))
        try:
            return pa.table(chosen, names=layout.names).cast(layout)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise SnapshotMismatch(
                f"the stored events are of other types: {problem}",
                hint=f"keep the types; {RESTART_HINT}",
            ) from None


NO_IDENTITY = EngineIdentity()


def identify_engine(graph: QueryGraph, vertices: list[str]) -> EngineIdentity:
    """The vertices share an engine, and so their inputs."""
    return EngineIdentity(
        tuple(graph.digests[vertex] for vertex in vertices),
        tuple(f"{vertex}: {graph.vertices[vertex].describe()}" for vertex in vertices),
        column_meanings(graph, vertices[0]),
    )
