"""What a rewrite rule is: where it looks, what it does, why it is safe and when it pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.cost.estimate import Estimate
from cepheid.graph.node import PlanNode
from cepheid.graph.query_graph import QueryGraph

Apply = Callable[[QueryGraph, str], QueryGraph | None]
Pays = Callable[[Estimate, str], bool]


def always(estimate: Estimate, vertex: str) -> bool:  # noqa: ARG001 (a rule that pays whatever is believed)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """looks_at: the kinds of vertices that it is tried at.  apply: a better graph, or None if it has nothing to say at
    this vertex.  safe: why rows stay the same.  gain: what is had by it.  pays: is that worth it, by what is believed
    about rates, selectivities and costs?"""

    name: str
    looks_at: tuple[type[PlanNode], ...]
    apply: Apply
    safe: str
    gain: str
    pays: Pays = always
