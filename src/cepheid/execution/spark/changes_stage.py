"""Results that change, on a stream: the topmost vertex that remembers, and all below it, run as one continuous query.

    row-wise vertices below views        Spark SQL, before events leave it; so do those below windows and patterns that
                                         workers might compute otherwise
    views, windows, patterns             a continuous query in workers (chain_processor.py), which tells changes
    row-wise vertices above              Spark SQL again, over changes: a row that goes passes where it passed

What workers compute inside of a view, DuckDB computes: so only what surely means the same in Spark SQL may stand
there (language/views/portable_view.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.errors import NotSupportedYet
from cepheid.execution.spark.chain_meaning import spark_is_ansi, workers_agree
from cepheid.execution.spark.chain_stage import run_chain_on_stream
from cepheid.execution.spark.schemas import arrow_schema, quote_name
from cepheid.execution.spark.stage_program import take_below
from cepheid.execution.views.find_views import find_views
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Filter, Project, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.scalars.value import Column
from cepheid.schema import CHANGE_COLUMNS
from cepheid.settings import Settings

FrameOf = Callable[[str], DataFrame]


def find_top(graph: QueryGraph) -> str:
    """The topmost vertex that remembers; above it each row is looked at by itself."""
    (sink,) = graph.of_role("consumer")
    (vertex,) = graph.inputs(sink)
    views = find_views(graph)
    while not isinstance(graph.vertices[vertex], EngineNode) and vertex not in views:
        if not isinstance(graph.vertices[vertex], Filter | Project):
            raise NotSupportedYet(
                f'emit="changes" of a query that ends in {graph.vertices[vertex].describe()} on Spark',
                hint="rows that only pass through never change: leave emit out; or run it with cep.open",
            )
        (vertex,) = graph.inputs(vertex)
    return vertex


def carry_changes(node: PlanNode) -> PlanNode:
    """A row-wise vertex over changes."""
    if isinstance(node, Project):
        return replace(node, columns=(*((name, Column(name)) for name in CHANGE_COLUMNS), *node.columns))
    return node


def run_changes_on_stream(
    graph: QueryGraph,
    vertex: str,
    frames: Mapping[str, DataFrame],
    frame_of: FrameOf,
    settings: Settings,
    session: Mapping[str, str],
) -> DataFrame:
    """The rows of the topmost vertex that remembers, or their changes; frame_of: the rows of a vertex that Spark
    computes."""
    schemas = {name: arrow_schema(frame) for name, frame in frames.items()}
    is_ansi = spark_is_ansi(frames)

    def is_foreign(below: str) -> bool:
        return settings.corrects and not workers_agree(take_below(graph, below), schemas, is_ansi)

    lower, top, lifted = lift_rows(graph, vertex, is_foreign)
    known = {**frames, **{name: frame_of(below) for name, below in lifted.items()}}
    read = {node.name for node in lower.vertices.values() if isinstance(node, Source)}
    for name in read:
        if not known[name].isStreaming:
            raise NotSupportedYet(
                f'"{name}", a table beside streams, with emit="changes"',
                hint="join the DataFrames in Spark first, and give the result",
            )
    settings = name_idle_streams(settings, graph, lifted)
    return run_chain_on_stream(lower, top, {name: known[name] for name in read}, settings, session)


def lift_rows(
    graph: QueryGraph, vertex: str, is_foreign: Callable[[str], bool]
) -> tuple[QueryGraph, str, dict[str, str]]:
    """A vertex and what feeds it, where streams of Spark's own making stand for what is row-wise below views, and
    below engines if workers are strangers to it; what the vertex is called there; by stream, the vertex that it stands
    for."""
    views = find_views(graph)
    engines = {name for name, node in graph.vertices.items() if isinstance(node, EngineNode)}
    remembers = engines | views
    below = set(graph.reach(vertex, graph.inputs))
    lower, names, lifted = QueryGraph(), dict[str, str](), dict[str, str]()
    for name in (each for each in graph.order if each in below):
        node, readers = graph.vertices[name], [reader for reader in graph.outputs(name) if reader in below]
        is_plain = not remembers & set(graph.reach(name, graph.inputs))
        is_read = is_plain and not isinstance(node, Source) and bool(readers)
        of_views = is_read and all(reader in views for reader in readers)
        of_engines = is_read and all(reader in engines for reader in readers)
        if of_views or (of_engines and is_foreign(name)):
            stream = f"_below_{graph.digests[name][:16]}"
            lifted[stream] = name
            lower, names[name] = lower.add(Source(name=stream), ())
            if isinstance(node, Project) and of_engines:  # engines are fed by projections
                same = Project(columns=tuple((column, Column(column)) for column, _ in node.columns))
                lower, names[name] = lower.add(same, [names[name]])
        elif not is_plain or isinstance(node, Source) or any(reader not in views for reader in readers):
            lower, names[name] = lower.add(node, [names[source] for source in graph.inputs(name)])
    return _only_needed(lower, names[vertex]), names[vertex], lifted


def name_idle_streams(settings: Settings, graph: QueryGraph, lifted: Mapping[str, str]) -> Settings:
    """Settings in which streams of Spark's own making may be idle as those are that they are made of; lifted: by
    stream, the vertex that it stands for."""
    given = settings.idle_after
    if not isinstance(given, Mapping):
        return settings
    known = dict(given)
    for stream, vertex in lifted.items():
        below = [graph.vertices[name] for name in graph.reach(vertex, graph.inputs)]
        spans = [given.get(node.name) for node in below if isinstance(node, Source)]
        told = [span for span in spans if span is not None]
        if told and len(told) == len(spans):
            known[stream] = max(told)
    return replace(settings, idle_after=known)


def _only_needed(graph: QueryGraph, vertex: str) -> QueryGraph:
    needed = graph.reach(vertex, graph.inputs)
    edges = tuple(edge for edge in graph.edges if edge.target in needed)
    return QueryGraph({name: graph.vertices[name] for name in graph.order if name in needed}, edges)


def fit_types(changes: DataFrame, expected: DataFrame) -> DataFrame:
    """The columns in the types that Spark SQL gives them over whole tables."""
    wanted = {field.name: field.dataType for field in expected.schema}
    return changes.select(
        *(
            F.col(quote_name(name)).cast(wanted[name]).alias(name) if name in wanted else F.col(quote_name(name))
            for name in changes.columns
        )
    )
