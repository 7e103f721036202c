"""Which vertices see rows that come and go, and which of them cannot: derived from the graph, never stored in it.

A vertex *changes* if a stream that changes feeds it.  What such a vertex reads besides must say who its rows are as
well, so all that feeds it is *carried* along, streams that only grow among them, and all that reads an engine among
those.

A retract has to pass exactly where its insert did.  So what answers differently the next time it is asked cannot stand
above a stream that changes: databases, random numbers, the clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from cepheid.errors import NotSupportedYet
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import (
    Filter,
    HostWindow,
    Project,
    Relation,
    RowPattern,
    Sequence,
    Sink,
    Source,
    TableJoin,
    WindowJoin,
)
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import Expression, HostCall, list_leaves
from cepheid.scalars.value import Operation, Scalar, walk

# as the parser calls them, and as text where it does not know them
UNSTABLE = frozenset((
    "rand", "randn", "random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "newid", "now", "today", "getdate",
    "currentdate", "currentdatetime", "currenttime", "currenttimestamp", "currenttimestampltz", "localtime",
    "localtimestamp", "systimestamp", "utcdate", "utctime", "utctimestamp", "unixtimestamp", "get_current_time",
    "get_current_timestamp", "transaction_timestamp", "current_date", "current_localtime", "current_localtimestamp",
    "current_time", "current_timestamp", "txid_current", "current_transaction_id", "current_connection_id",
    "current_query", "current_query_id", "current_setting", "getvariable", "nextval", "currval", "setval", "setseed",
    "nextvaluefor", "randstr", "sleep_ms", "write_log",
))  # fmt: skip

HOW_TO_BOUND_CHANGES = "give lateness, for instance lateness=timedelta(minutes=10): older changes are late"


@dataclass(frozen=True, slots=True)
class ChangingVertices:
    """changing: a stream that changes feeds them; carried: those, and what must say who its rows are for their sake."""

    changing: frozenset[str] = frozenset()
    carried: frozenset[str] = frozenset()


def find_changing(
    graph: QueryGraph,
    streams: Collection[str],
    views: Collection[str] = (),
    shown: bool = False,
    corrects: bool = False,
) -> ChangingVertices:
    """streams: those that change, as users call them; views: vertices that take back rows of their own, and say who
    they are whatever feeds them; shown: are changes told of every query?  corrects: do late events reach engines that
    have gone past them?  If changes are told, engines then take back rows of their own."""
    changing: set[str] = set()
    engines = {name for name in graph.order if corrects and isinstance(graph.vertices[name], EngineNode)}
    for vertex in graph.order:
        node = graph.vertices[vertex]
        takes_back = (isinstance(node, Source) and node.name in streams) or vertex in views
        if takes_back or (shown and vertex in engines) or any(source in changing for source in graph.inputs(vertex)):
            changing.add(vertex)
    carried = changing | engines
    if shown:
        carried |= {name for vertex in graph.of_role("consumer") for name in graph.inputs(vertex)}
    return ChangingVertices(frozenset(changing), frozenset(_find_carried(graph, changing, carried, views)))


def _find_carried(graph: QueryGraph, changing: set[str], carried: set[str], views: Collection[str]) -> set[str]:
    """Those that are carried, what feeds them, and what reads the rows of an engine that does: it must know their
    order.  Views need not be told who the rows are that they read."""
    count = -1
    while len(carried) > count:
        count = len(carried)
        for vertex in reversed(graph.order):
            readers = (
                graph.outputs(vertex) if vertex in changing else [r for r in graph.outputs(vertex) if r not in views]
            )
            if any(reader in carried for reader in readers):
                carried.add(vertex)
        made: set[str] = set()  # of carried engines
        for vertex in graph.order:
            is_engine = isinstance(graph.vertices[vertex], EngineNode) and vertex in carried
            if is_engine or any(source in made for source in graph.inputs(vertex)):
                made.add(vertex)
        carried |= made
    return carried


def refuse_unstable(graph: QueryGraph, changing: Collection[str], databases: Collection[str]) -> None:
    """Vertices that cannot take back what they gave are refused by name; databases: as users call them."""
    for vertex in graph.order:
        if vertex in changing:
            _refuse_vertex(graph.vertices[vertex], databases)


def _refuse_vertex(node: PlanNode, databases: Collection[str]) -> None:
    if isinstance(node, TableJoin) and node.table in databases:
        raise NotSupportedYet(
            f'a look-up in the database "{node.table}" for a stream that takes rows back',
            hint="it may answer differently when a row is taken back; join with a cep.Table, whose rows stay",
        )
    assert not isinstance(node, HostWindow), "streams have no windows of the host"
    for value in _list_values(node):
        unstable = next((name for part in walk(value) if (name := _name_call(part)) in UNSTABLE), None)
        if unstable is not None:
            raise NotSupportedYet(
                f"{unstable}() over a stream that takes rows back",
                hint="it answers differently when a row is taken back; push its value as a column",
            )


def _list_values(node: PlanNode) -> Iterator[Scalar]:
    match node:
        case Filter(predicate=predicate):
            yield predicate
        case Project(columns=columns):
            yield from (value for _, value in columns)
        case Relation(query=query):
            yield query
        case TableJoin(condition=condition) | WindowJoin(condition=condition):
            if condition is not None:
                yield condition
        case RowPattern(program=program):
            yield from _list_calls(condition for _, condition in program.conditions)
        case Sequence():
            yield from _list_calls(node.conditions())


def _list_calls(conditions: Iterable[Expression]) -> Iterator[Scalar]:
    """What conditions of patterns leave to a SQL engine."""
    for condition in conditions:
        yield from (leaf.value for leaf in list_leaves(condition) if isinstance(leaf, HostCall))


def _name_call(value: Scalar) -> str:
    """What is called, in lower case."""
    if not isinstance(value, Operation):
        return ""
    name = value.part("this")
    return name.lower() if value.kind == "anonymous" and isinstance(name, str) else value.kind


def reaches_user(graph: QueryGraph, source: str) -> bool:
    """Do rows of a producer come out without having been in an engine?"""
    waiting = list(graph.outputs(source))
    while waiting:
        vertex = waiting.pop()
        node = graph.vertices[vertex]
        if isinstance(node, Sink):
            return True
        if not isinstance(node, EngineNode):
            waiting += graph.outputs(vertex)
    return False


def count_origins(graph: QueryGraph, vertex: str, views: Collection[str] = ()) -> tuple[set[str], bool]:
    """The streams whose rows a vertex passes on, and whether rows that an engine or a view made are among them."""
    node = graph.vertices[vertex]
    if isinstance(node, Source):
        return {node.name}, False
    if isinstance(node, EngineNode) or node.implementation == "changes" or vertex in views:
        return set(), True
    found = [count_origins(graph, source, views) for source in graph.inputs(vertex)]
    return set().union(*(names for names, _ in found)), any(made for _, made in found)


def explain_unbounded_changes(graph: QueryGraph, streams: Collection[str]) -> list[str]:
    """One sentence per stream of which any row may be taken back, however old it is."""
    read = {node.name for node in graph.vertices.values() if isinstance(node, Source)}
    return [
        f'any row of "{stream}" may be taken back, and all of them are kept' for stream in sorted(read & set(streams))
    ]
