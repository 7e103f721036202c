"""Kept events taken apart by key, and parts put together again: what all operators have in common.

    kept ─▶ released events in order, held ones behind ─▶ owner of each ─▶ parts, each in order

What an operator says besides events names them by their places in that order, released ones only: so the places change
with the split, and `owner` and `places` tell how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.event_time import order_values
from cepheid.execution.operator import HELD, KeptEvents, Owners
from cepheid.graph.node import EngineNode
from cepheid.kernel.columns import Int64s
from cepheid.kernel.partition_rows import list_rows


def refuse_split(nodes: Sequence[EngineNode], count: int) -> None:
    """Vertices that must see all events cannot be spread over engines."""
    whole = [node for node in nodes if node.split == 0]
    if count > 1 and whole:
        raise NotSupportedYet(
            f"{whole[0].describe()} on {count} engines: its rows depend on the events of all keys together; that",
            hint="run it on one engine, or give it keys: PARTITION BY, or an equality between all its streams",
        )


def split_events(kept: KeptEvents, owners: Owners, count: int, node: EngineNode) -> tuple[list[KeptEvents], Int64s]:
    """The events of each part; int64[released events, in order]: the part of each."""
    kept = _arrange(kept, node)
    owner = owners(kept.table.select([f"_key{number}" for number in range(node.keys)]))
    assert len(owner) == len(kept.table), "every event has an owner"
    parts = [_take(kept, rows) for rows in list_rows(owner, count)]
    return parts, owner[: _count_released(kept)]


def merge_events(parts: list[KeptEvents], node: EngineNode) -> tuple[KeptEvents, list[Int64s]]:
    """All events; for each part int64[its released events, in order]: their places among all released ones.

    Where one part were further than another, no horizon would be right for both: behind the lower one, events of the
    first would come after what it has settled; at the higher one, events of the second would be late that were not.
    """
    assert len({part.horizon for part in parts}) == 1, "parts are merged at one horizon"
    parts = [_arrange(part, node) for part in parts]
    together = KeptEvents(
        pa.concat_tables([part.table for part in parts]),
        np.concatenate([part.roles for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.taken for part in parts]),
        parts[0].horizon,
        max(part.arrivals for part in parts),
    )
    arrivals = np.sort(together.table.column("_arrival").to_numpy())
    assert (arrivals[1:] != arrivals[:-1]).all(), "arrivals are unique among all parts"
    order = _find_order(together, node)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    of_parts = np.split(places, np.cumsum([len(part.table) for part in parts])[:-1])
    released = [of_part[: _count_released(part)] for of_part, part in zip(of_parts, parts, strict=True)]
    return _take(together, order), released


def _arrange(kept: KeptEvents, node: EngineNode) -> KeptEvents:
    order = _find_order(kept, node)
    in_order = bool((order[1:] > order[:-1]).all())
    return replace(kept, partials=b"") if in_order else _take(kept, order)


def _find_order(kept: KeptEvents, node: EngineNode) -> Int64s:
    """Released events as an engine orders them, then held ones by arrival."""
    table = kept.table
    held = kept.roles == HELD
    ties = [f"_order{number}" for number in range(1, node.order)]
    if "_stream" in table.column_names:
        ties = ["_stream", *ties]
    values = [np.where(held, 0, order_values(table.column(name))[0]) for name in ("_time", *ties)]
    arrivals = table.column("_arrival").to_numpy()
    return np.lexsort([arrivals, *reversed(values), held])


def _count_released(kept: KeptEvents) -> int:
    return int((kept.roles != HELD).sum())


def _take(kept: KeptEvents, rows: Int64s) -> KeptEvents:
    return replace(
        kept,
        table=kept.table.take(pa.array(rows)),
        roles=kept.roles[rows],
        numbers=kept.numbers[rows],
        taken=kept.taken[rows],
        partials=b"",
    )
