"""A query graph as JSON, and back: graph == read_json(write_json(graph)).

Records are written as {"$": class name, field: value, ...}; only the classes listed here are read back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.graph.function_identity import identify_function
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import NODE_TYPES
from cepheid.graph.operators.over_rows import OverCell
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import Arrangement, SortTerm, WindowCell
from cepheid.graph.operators.window_join import JoinCell
from cepheid.graph.predicate import Predicate
from cepheid.graph.query_graph import Edge, QueryGraph
from cepheid.kernel import expression, join, over, pattern, sequence_flow, window
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.scalars import value

READABLE: dict[str, type] = {
    record.__name__: record
    for record in (
        *NODE_TYPES,
        OutputCell,
        OverCell,
        over.OverFrame,
        over.OverFunction,
        over.OverProgram,
        expression.Position,
        expression.Constant,
        expression.Cell,
        expression.Call,
        expression.Classifier,
        expression.MatchNumber,
        expression.Aggregate,
        expression.HostCall,
        expression.HostAggregate,
        expression.RowValue,
        pattern.Term,
        pattern.Concatenation,
        pattern.Alternation,
        pattern.Repetition,
        pattern.Permutation,
        pattern.Exclusion,
        pattern.Anchor,
        pattern.EmptyPattern,
        pattern.Absence,
        pattern.Frame,
        pattern.Skip,
        pattern.RowPatternProgram,
        pattern.Step,
        pattern.Absent,
        pattern.Choice,
        pattern.AnyOrder,
        pattern.SequenceProgram,
        sequence_flow.Way,
        sequence_flow.Bar,
        sequence_flow.Place,
        sequence_flow.Round,
        sequence_flow.Flow,
        window.Window,
        window.Evaluation,
        window.WindowedAggregate,
        window.WindowProgram,
        WindowCell,
        SortTerm,
        Arrangement,
        JoinCell,
        join.JoinInput,
        join.JoinProgram,
        value.Column,
        value.Literal,
        value.Operation,
    )
}


def write_json(graph: QueryGraph, notes: Mapping[str, str] | None = None) -> str:
    vertices = [_write_vertex(graph, vertex, (notes or {}).get(vertex)) for vertex in graph.order]
    edges = [
        {"source": edge.source, "target": edge.target, "port": edge.port, **_write_attributes(graph, edge)}
        for edge in graph.edges
    ]
    return json.dumps({"vertices": vertices, "edges": edges}, indent=2)


def read_json(text: str) -> QueryGraph:
    try:
        data = json.loads(text)
        vertices = {entry["id"]: _read_value(entry["node"]) for entry in data["vertices"]}
        edges = tuple(Edge(entry["source"], entry["target"], entry["port"]) for entry in data["edges"])
    except (KeyError, TypeError, ValueError) as problem:
        hint = 'take what cep.explain(..., format="json") gives'
        raise InvalidInput(f"this is not the JSON of a query graph: {problem!r}", hint=hint) from problem
    return QueryGraph(vertices, edges)


def _write_vertex(graph: QueryGraph, vertex: str, note: str | None) -> dict[str, Any]:
    attributes = graph.operator_attributes(vertex)
    shown = {field.name: getattr(attributes, field.name) for field in fields(attributes) if field.name != "comb_param"}
    node = graph.vertices[vertex]
    written = {
        "id": vertex,
        "digest": graph.digests[vertex],
        "role": node.role,
        "attributes": shown,
        "node": _write_value(node),
    }
    return written if note is None else {**written, "place": note}


def _write_attributes(graph: QueryGraph, edge: Edge) -> dict[str, Any]:
    attributes = graph.edge_attributes(edge)
    return {"attributes": {field.name: getattr(attributes, field.name) for field in fields(attributes)}}


def _write_value(item: Any) -> Any:
    if isinstance(item, Predicate):
        return {
            "$": "Predicate",
            "column": item.column,
            "function": item.identity,
            "reads": _write_value(item.reads),
        }
    if isinstance(item, PythonAggregate):
        functions = (item.init, item.add, item.result, item.remove, item.merge)
        return {
            "$": "PythonAggregate",
            "function": " ".join(map(identify_function, functions)),
            "type": str(item.type),
        }
    if isinstance(item, pa.DataType):
        return {"$type": pa.schema([("x", item)]).serialize().to_pybytes().hex()}
    if is_dataclass(item):
        told = [
            field.name for field in fields(item) if field.compare or isinstance(item, PlanNode)
        ]  # else: a place in a text
        written = {name: _write_value(getattr(item, name)) for name in told}
        return {"$": type(item).__name__, **written}
    if isinstance(item, tuple):
        return [_write_value(each) for each in item]
    if isinstance(item, float) and (item != item or item in (float("inf"), float("-inf"))):
        return {"$float": repr(item)}
    return item


def _read_value(item: Any) -> Any:
    if isinstance(item, list):
        return tuple(_read_value(each) for each in item)
    if isinstance(item, dict):
        if "$float" in item:
            return float(item["$float"])
        if "$type" in item:
            return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(item["$type"]))).field(0).type
        if item["$"] in ("Predicate", "PythonAggregate"):
            told = f'a function in Python cannot be read back from JSON: "{item["function"]}"'
            raise InvalidInput(told, hint="compile the query again where the function is")
        record = READABLE[item["$"]]
        return record(**{name: _read_value(each) for name, each in item.items() if name != "$"})
    return item
