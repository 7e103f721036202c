"""What a stage of ours computes, as text in the checkpoint: whoever moves its state must split it as its operators do.

    cep.sql ─▶ stage ─▶ program as JSON ─▶ the plan ─▶ cepheid/stages.json   (query_start.py)
                                                             └─▶ cepheid repartition (moved_state/)

Nothing is pickled: the graph has a form in JSON (graph/json_form.py), schemas are Arrow's own bytes.  The digest of the
vertex says whether what is read back is what was written.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from cepheid.errors import InvalidInput, NotSupportedYet, SnapshotMismatch
from cepheid.graph.json_form import read_json, write_json
from cepheid.graph.query_graph import QueryGraph

CORRECTED = " late "  # in the digest of a stage that late events correct, before what comes out
AGAIN = "start the query once with this version, on the same checkpoint, stop it, and try again"


@dataclass(frozen=True, slots=True)
class StageProgram:
    """kind: which processor keeps the state; graph: the vertex and what is below it.  schemas: of an engine, by the
    number of the input; of a chain, by stream.  delays_us: of each, how late its events may be; times: of a chain, the
    column that orders each stream."""

    kind: Literal["engine", "chain"]
    graph: QueryGraph
    vertex: str
    schemas: Mapping[str, pa.Schema]
    delays_us: tuple[int, ...]
    clock: int
    times: tuple[str, ...] = ()


def take_below(graph: QueryGraph, vertex: str) -> QueryGraph:
    """A vertex and what feeds it."""
    below = graph.reach(vertex, graph.inputs)
    edges = tuple(edge for edge in graph.edges if edge.target in below)
    return QueryGraph({name: graph.vertices[name] for name in below}, edges)


def write_program(program: StageProgram) -> str:
    """Empty if something in it has no form in JSON: such a stage runs, and cannot be moved."""
    try:
        graph = json.loads(write_json(program.graph))
    except (TypeError, ValueError):
        return ""
    schemas = {
        name: base64.b64encode(schema.serialize().to_pybytes()).decode() for name, schema in program.schemas.items()
    }
    told = {
        "kind": program.kind,
        "graph": graph,
        "vertex": program.vertex,
        "schemas": schemas,
        "delays_us": program.delays_us,
        "clock": program.clock,
        "times": program.times,
    }
    return json.dumps(told, separators=(",", ":"))


def read_program(written: Mapping[str, Any] | None, digest: str, described: str) -> StageProgram:
    """Raises if there is none, or if it is not that of the digest; described: the stage, for people."""
    if not written and CORRECTED in digest:
        hint = "keep its key groups and partitions, or start it anew with a new checkpointLocation"
        raise NotSupportedYet(f"moving the state of {described}", hint=hint)
    if not written:
        raise SnapshotMismatch(f"the checkpoint does not say what computes {described}", hint=AGAIN)
    try:
        graph = read_json(json.dumps(written["graph"]))
        schemas = {
            str(name): pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
            for name, text in written["schemas"].items()
        }
        program = StageProgram(
            written["kind"],
            graph,
            written["vertex"],
            schemas,
            tuple(written["delays_us"]),
            int(written["clock"]),
            tuple(written["times"]),
        )
    except InvalidInput as problem:
        raise InvalidInput(f"{described}: {problem.message}", hint=problem.hint) from None
    except (KeyError, TypeError, ValueError, pa.ArrowInvalid) as problem:
        told = f"what the checkpoint says of {described} cannot be read: {problem!r}"
        raise SnapshotMismatch(told, hint=AGAIN) from None
    if graph.digests.get(program.vertex) != digest:
        raise SnapshotMismatch(f"the checkpoint says of {described} what another version of Cepheid means", hint=AGAIN)
    return program
