"""Who a vertex is: a digest of what it computes and of what feeds it.

Two digests, for two questions:

    exact     may two vertices be one?  Equal content with equal names over equal inputs: readers see no difference.
    identity  is it the same computation?  What is learned about it (state, cost, rates) is kept under this.

For a stateful vertex the identity looks through the projections and filters below it, down to what really feeds it:

    WindowAggregate(avg(p))                    avg(price) over the events of `bids` where id = 7
      Project(ts AS _time, p)           =
        Project(price AS p, ts)
          Filter(id = 7)
            Source(bids)

so that aliases, the order of conditions and where a rule put a filter do not change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from cepheid.graph.content import digest_of, encode
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Filter, Project, RowPattern, Sequence
from cepheid.graph.operators.window_aggregate import KEPT
from cepheid.kernel.expression import Classifier, HostCall, list_facts, reads_classifier
from cepheid.kernel.pattern import Term, walk_pattern
from cepheid.scalars.value import Column, Scalar, split_conjunction, substitute_columns


class Wiring(Protocol):
    """What must be known of a graph: its nodes, and what feeds them."""

    @property
    def vertices(self) -> Mapping[str, PlanNode]: ...

    def inputs(self, vertex: str) -> list[str]: ...


def exact_digest(node: PlanNode, inputs: list[str]) -> str:
    """inputs: the exact digests of what feeds it."""
    return _hash(_own_bytes(node), inputs)


def identify(graph: Wiring, vertex: str, known: Mapping[str, str]) -> str:
    """The identity of a vertex; known: those of the vertices below."""
    node = graph.vertices[vertex]
    if not isinstance(node, EngineNode):
        return _hash(_own_bytes(node), [known[source] for source in graph.inputs(vertex)])
    feeds = [_flatten(graph, source) for source in graph.inputs(vertex)]
    resolve = _make_resolve(feeds)
    places = {name: resolve(name) for name in _placed_columns(node)}
    bare = _replace(node, cells=())
    cells = {encode(replace(cell, name=""), resolve, _rename_variables(node)) for cell in node.cells}
    content = encode(_resolve_condition(bare, node, resolve), resolve, _rename_variables(node))
    conditions = [sorted(map(digest_of, feed.conditions)) for feed in feeds]
    return _hash(
        content + encode(sorted(cells)) + encode(places) + encode(conditions), [known[feed.base] for feed in feeds]
    )


def column_meanings(graph: Wiring, vertex: str) -> dict[str, str]:
    """What each column of the events of a stateful vertex means, as a digest: the same under any names."""
    feeds = [_flatten(graph, source) for source in graph.inputs(vertex)]
    resolve = _make_resolve(feeds)
    return {name: digest_of(resolve(name)) for feed in feeds for name in feed.meanings}


def cell_meanings(graph: Wiring, vertex: str) -> dict[str, str]:
    """The same for the columns of its rows."""
    node = graph.vertices[vertex]
    assert isinstance(node, EngineNode), "stateful vertices have cells"
    return dict(_name_cells(graph, vertex, node))


def _hash(content: bytes, inputs: list[str]) -> str:
    return hashlib.sha256(content + b"|" + " ".join(inputs).encode()).hexdigest()[:32]


def _own_bytes(node: PlanNode) -> bytes:
    """The content of a node, computed once."""
    known: bytes | None = node.__dict__.get("_content")
    if known is None:
        known = encode(node, renamed=_rename_variables(node))
        object.__setattr__(node, "_content", known)
    return known


# --- what feeds a stateful vertex ------------------------------------------------------------------------
@dataclass(frozen=True)
class _Feed:
    """base: the vertex that really feeds it; meanings: of the columns, over those of the base; conditions: what was
    filtered on the way."""

    base: str
    meanings: dict[str, Scalar] = field(default_factory=dict)
    conditions: tuple[Scalar, ...] = ()


def _flatten(graph: Wiring, vertex: str) -> _Feed:
    match node := graph.vertices[vertex]:
        case Project(columns=columns):
            below = _flatten(graph, graph.inputs(vertex)[0])
            meanings = {name: substitute_columns(value, below.meanings) for name, value in columns}
            return replace(below, meanings=meanings)
        case Filter(predicate=predicate):
            below = _flatten(graph, graph.inputs(vertex)[0])
            told = substitute_columns(predicate, below.meanings)
            return replace(below, conditions=(*below.conditions, *split_conjunction(told)))
        case EngineNode():
            return _Feed(vertex, {name: Column(meaning) for name, meaning in _name_cells(graph, vertex, node)})
    return _Feed(vertex)


def _name_cells(graph: Wiring, vertex: str, node: EngineNode) -> list[tuple[str, str]]:
    """The cells of a stateful vertex, each with a name that says what it is."""
    feeds = [_flatten(graph, source) for source in graph.inputs(vertex)]
    resolve, renamed = _make_resolve(feeds), _rename_variables(node)
    return [
        (cell.name, hashlib.sha256(encode(replace(cell, name=""), resolve, renamed)).hexdigest()[:32])
        for cell in node.cells
    ]


def _make_resolve(feeds: list[_Feed]) -> Callable[[str], Any]:
    def resolve(name: str) -> Any:
        found = [(port, feed.meanings[name]) for port, feed in enumerate(feeds) if name in feed.meanings]
        return found or name

    return resolve


def _placed_columns(node: EngineNode) -> list[str]:
    """Columns that a vertex reads by their place in the event layout, without naming them."""
    keys = [f"_key{number}" for number in range(node.keys)]
    orders = [f"_order{number}" for number in range(1, node.order)]
    groups = [f"_group{number}" for number in range(getattr(node, "groups", 0))]
    parts = [f"_part{number}" for number in range(max(getattr(node, "parts", (0,))))]
    kept = [KEPT] if getattr(node, "filtered", False) else []
    return ["_time", *orders, *keys, *groups, *parts, *kept]


def _resolve_condition(bare: EngineNode, node: EngineNode, resolve: Callable[[str], Any]) -> Any:
    """A condition over cells is one over what the cells mean."""
    condition = getattr(node, "condition", None)
    if condition is None:
        return bare
    meanings = {cell.name: Column(digest_of((cell.input, resolve(cell.column)))) for cell in node.cells}
    return _replace(bare, condition=substitute_columns(condition, meanings))


def _replace(node: Any, **changes: Any) -> Any:
    """A node is a dataclass, whatever its kind."""
    return replace(node, **changes)


def _rename_variables(node: PlanNode) -> dict[str, str]:
    """Variables of a pattern by their places in it, unless their names can be read."""
    match node:
        case Sequence(program=program):
            return {term.variable: f"${number}" for number, term in enumerate(program.terms)}
        case RowPattern(program=row_program, cells=cells):
            facts = [fact for _, condition in row_program.conditions for fact in list_facts(condition)]
            told = any(
                isinstance(fact, Classifier) or (isinstance(fact, HostCall) and reads_classifier(fact))
                for fact in facts
            )
            if told or any(cell.tells_variables() for cell in cells):
                return {}
            terms = [part.variable for part in walk_pattern(row_program.pattern) if isinstance(part, Term)]
            return {name: f"${number}" for number, name in enumerate(dict.fromkeys(terms))}
    return {}
