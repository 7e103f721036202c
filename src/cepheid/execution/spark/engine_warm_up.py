"""Run an engine over made-up events, so that its kernels are on disk before real ones come (kernels_ready.py)."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from cepheid.event_time import BEGINNING
from cepheid.execution.engine import Engine
from cepheid.execution.spark.kernels_ready import ensure_kernels, make_up_events
from cepheid.execution.state_segments import StoredState, load_state, plan_change
from cepheid.graph.node import EngineNode


def ensure_engine(node: EngineNode, schemas: list[pa.Schema]) -> None:
    """Return when this machine has on disk what an engine of the vertex compiles."""
    if not _asks_users(node):
        ensure_kernels(f"{type(node).__name__} {node.describe()} {schemas}", partial(warm_up, node, schemas))


def warm_up(node: EngineNode, schemas: list[pa.Schema]) -> None:
    """All that a batch and a stream do: take events, keep what is needed, go on from there, finish."""
    engine = Engine([node], schemas)
    engine.push([make_up_events(schema) for schema in schemas], BEGINNING)
    change, _ = plan_change(engine, StoredState(), {})
    again = Engine([node], schemas)
    load_state(again, change.index, lambda number, _stamp: change.puts[number])
    again.push([make_up_events(schema) for schema in schemas], BEGINNING)
    again.finish()


def _asks_users(node: EngineNode) -> bool:
    """Does it call functions of users, which are not to see events that nobody sent?"""
    aggregates = getattr(getattr(node, "program", None), "aggregates", ())
    return bool(getattr(node, "predicates", ())) or any(each.python is not None for each in aggregates)
