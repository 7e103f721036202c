"""The state of a stage, cut anew: as if its keys had always been hashed into so many groups, for so many partitions.

    shares as stored ─▶ engines, all at one horizon ─▶ split by the new owner of each key, merged ─▶ shares to store

Only where that is exact.  The engines of a stage are told the same time in every batch with data; one that waits for
nothing may be behind, and is brought to where the others are, which must not settle a row.  The upper engines of a
chain follow rows, each share at its own pace: those can be split, but several cannot become one (docs/design/0001).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import NotSupportedYet, SnapshotMismatch
from cepheid.execution.blob import read_blob, read_table_bytes, write_table
from cepheid.execution.embedded.continuous import ContinuousQuery
from cepheid.execution.embedded.row_queue import split_waiting
from cepheid.execution.engine import Engine
from cepheid.execution.engine_identity import identify_engine
from cepheid.execution.operator import KeptEvents
from cepheid.execution.spark.chain_state import load_chain, plan_chain
from cepheid.execution.spark.key_groups import choose_labels, share_groups
from cepheid.execution.spark.stage_program import StageProgram
from cepheid.execution.spark.stage_record import StageRecord, read_stage
from cepheid.execution.state_segments import StoredState, load_state, plan_change
from cepheid.execution.state_split import move_groups, own_by_columns
from cepheid.graph.node import EngineNode
from cepheid.hosts import SPARK_STREAMS
from cepheid.kernel.columns import Int64s
from cepheid.placement.chain_keys import ChainKeys, find_chain_keys
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.settings import Settings

DRAIN = "start the query with trigger(availableNow=True), wait until it ends, and try again"


@dataclass(frozen=True, slots=True)
class StoredShare:
    """What the store has of one share: index; segments of an engine, or pieces of a chain's snapshot, by number; late
    events by batch; when it is to be called, in milliseconds."""

    index: bytes
    blobs: Mapping[int, bytes]
    late: Mapping[int, bytes] = field(default_factory=dict)
    timer: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """groups: into which keys are hashed; shares: the state partitions."""

    groups: int
    shares: int

    @property
    def table(self) -> Int64s:
        """int64[groups]: the share of each group."""
        return share_groups(self.groups, self.shares)


def recut_stage(
    program: StageProgram, stored: Mapping[int, StoredShare], before: Cut, after: Cut
) -> dict[int, StoredShare]:
    """By label, as `stored` is: what the shares are to have."""
    numbers = {label: number for number, label in enumerate(choose_labels(before.shares))}
    strange = sorted(set(stored) - set(numbers))
    if strange:
        raise SnapshotMismatch(
            f"the checkpoint has state of shares that {before.shares} partitions do not have: {strange}",
            hint="it was moved by something else; go on with it as it is",
        )
    if not stored:
        return {}
    present = sorted(stored, key=numbers.__getitem__)
    ordered = [stored[label] for label in present]
    if program.kind == "engine":
        found = _recut_engines(program, ordered, after)
    else:
        found = _recut_chains(program, ordered, [numbers[label] for label in present], before, after)
    labels = choose_labels(after.shares)
    used = sorted(found)
    late = _spread_late(ordered, len(used))
    return {labels[number]: replace(found[number], late=late[place]) for place, number in enumerate(used)}


def _renew(header: Mapping[str, Any], groups: int) -> StageRecord:
    return replace(read_stage(header["stage"]), key_groups=groups)


def _spread_late(shares: Sequence[StoredShare], count: int) -> list[dict[int, bytes]]:
    """Late events are read by nobody but people: any share may have them, each batch in one piece."""
    gathered: list[dict[int, list[pa.Table]]] = [{} for _ in range(count)]
    for place, share in enumerate(shares):
        for batch, blob in share.late.items():
            gathered[place * count // len(shares)].setdefault(batch, []).append(read_table_bytes(blob))
    return [{batch: write_table(pa.concat_tables(tables)) for batch, tables in each.items()} for each in gathered]


# --- engines ---------------------------------------------------------------------------------------------
def _recut_engines(program: StageProgram, shares: Sequence[StoredShare], after: Cut) -> dict[int, StoredShare]:
    engines = [_make_engine(program) for _ in shares]
    headers = [_load(engine, share) for engine, share in zip(engines, shares, strict=True)]
    _bring_to_one_horizon(engines)
    kept = [engine.keep() for engine in engines]
    newest = _latest([engine.gate.newest for engine in engines])
    owned = [int(number) for number in np.unique(after.table)]
    parts = _move(engines[0], kept, _node_of(program).split, after) if len(kept) > 1 or len(owned) > 1 else kept
    assert sum(len(part.table) for part in parts) == sum(len(each.table) for each in kept), "no event is lost"
    timer = min((share.timer for share in shares if share.timer is not None), default=None)
    known = {"stage": _renew(headers[0], after.groups).as_dict()}
    clocks = [header["clocks"] for header in headers if header.get("clocks")]
    if clocks:  # every share hears the same of time
        known["clocks"] = clocks[0]
    return {number: _write_engine(program, parts[number], newest, timer, known) for number in owned}


def _load(engine: Engine, share: StoredShare) -> dict[str, Any]:
    _, header = load_state(engine, share.index, lambda number, _stamp: share.blobs[number])
    return header


def _latest(newest: Sequence[list[list[int]]]) -> list[list[int]]:
    """By input and stream: the newest time that any engine has heard of."""
    by_input = zip(*newest, strict=True)
    return [[max(times) for times in zip(*of_engines, strict=True)] for of_engines in by_input]


def _move(engine: Engine, kept: list[KeptEvents], split: int, after: Cut) -> list[KeptEvents]:
    assert split, "what has no keys is in one share, and stays in one"
    return move_groups(engine.operator, kept, after.table, split, after.shares)


def _bring_to_one_horizon(engines: Sequence[Engine]) -> None:
    """Those that wait for nothing may not have heard of the last horizon."""
    horizon = max(engine.gate.horizon for engine in engines)
    for engine in engines:
        if engine.gate.horizon < horizon:
            empty = [schema.empty_table() for schema in engine.inputs]
            if any(len(rows) for rows in engine.push(empty, horizon)):
                raise NotSupportedYet("moving a state of which time alone would settle rows", hint=DRAIN)


def _make_engine(program: StageProgram) -> Engine:
    identity = identify_engine(program.graph, [program.vertex])
    schemas = list(program.schemas.values())
    return Engine([_node_of(program)], schemas, identity=identity, delays_us=list(program.delays_us))


def _node_of(program: StageProgram) -> EngineNode:
    node = program.graph.vertices[program.vertex]
    assert isinstance(node, EngineNode), "a stage runs in engines"
    return node


def _write_engine(
    program: StageProgram, kept: KeptEvents, newest: list[list[int]], timer: int | None, known: dict[str, Any]
) -> StoredShare:
    """known: what its header keeps as it is."""
    engine = _make_engine(program)
    engine.restore(kept)
    engine.gate.newest = [list(each) for each in newest]
    timer = timer if engine.is_waiting() else None
    extra = {**known, "version": uuid.uuid4().hex, "timer": timer}
    change, _ = plan_change(engine, StoredState(), extra)
    return StoredShare(change.index, change.puts, timer=timer)


# --- chains ----------------------------------------------------------------------------------------------
def _recut_chains(
    program: StageProgram, shares: Sequence[StoredShare], numbers: Sequence[int], before: Cut, after: Cut
) -> dict[int, StoredShare]:
    """Each new share must come from a single one: see above."""
    keys = find_chain_keys(program.graph, program.vertex, program.schemas)
    owned = [int(number) for number in np.unique(after.table)]
    parents = _find_parents(numbers, before, after)
    found: dict[int, StoredShare] = {}
    for place, share in enumerate(shares):
        header, small = read_blob(share.index)
        snapshot = load_chain(header, small, share.blobs.__getitem__)
        children = [number for number in owned if parents.get(number) == place]
        record = _renew(header, after.groups)
        whole = _open(program, snapshot)
        queries = _split_chain(program, whole, keys, after) if len(owned) > 1 else {owned[0]: whole}
        for number in children:
            found[number] = _write_chain(queries[number], share.timer, record)
    return found


def _find_parents(numbers: Sequence[int], before: Cut, after: Cut) -> dict[int, int]:
    """By new share: the place of the one old share that all its keys are in."""
    if len(numbers) == 1:
        return {int(number): 0 for number in after.table}
    places = {number: place for place, number in enumerate(numbers)}
    found: dict[int, set[int]] = {}
    if before.groups == after.groups:
        for old, new in zip(before.table, after.table, strict=True):
            found.setdefault(int(new), set()).add(int(old))
    if not found or any(len(olds) > 1 for olds in found.values()):
        raise NotSupportedYet(
            f"putting the state of {len(numbers)} partitions of a window or pattern over the rows of another together",
            hint=f"keep {before.groups} key groups and take a multiple of {before.shares} partitions, which only "
            "splits it; or start the query anew with a new checkpointLocation",
        )
    single = ((new, next(iter(olds))) for new, olds in found.items())
    return {new: places[old] for new, old in single if old in places}


def _open(program: StageProgram, snapshot: bytes | None) -> ContinuousQuery:
    placed = place_by_nature(program.graph, SPARK_STREAMS.native)
    settings = Settings(lateness=timedelta(microseconds=program.delays_us[0]))
    return ContinuousQuery(placed, program.schemas, settings, snapshot)


def _split_chain(
    program: StageProgram, whole: ContinuousQuery, keys: ChainKeys, after: Cut
) -> dict[int, ContinuousQuery]:
    """A query for each new share, with the events and waiting rows of its keys."""
    fresh = {int(number): _open(program, None) for number in np.unique(after.table)}
    for query in fresh.values():
        query.take_clocks(whole)
    table = after.table
    for place, feed in enumerate(whole.list_engines()):
        vertex, *others = feed.vertices
        assert all(keys.keys[other] == keys.keys[vertex] for other in others), "who share an engine share their keys"
        owners = own_by_columns(table, [f"_key{number}" for number in keys.keys[vertex]])
        parts = feed.engine.operator.split(feed.engine.keep(), owners, after.shares)
        waiting = None
        if feed.waiting is not None:
            cells = list(keys.cells[vertex])
            by_cells = own_by_columns(table, [f"_key{number}" for number in range(len(cells))])
            waiting = split_waiting(feed.waiting, cells, by_cells, after.shares)
        for number, query in fresh.items():
            own = query.list_engines()[place]
            own.take_part(feed, parts[number], None if waiting is None else waiting[number])
    return fresh


def _write_chain(query: ContinuousQuery, timer: int | None, record: StageRecord) -> StoredShare:
    timer = timer if query.is_waiting() else None
    extra = {"version": uuid.uuid4().hex, "timer": timer, "stage": record.as_dict()}
    change = plan_chain(*query.write_state(), {}, extra)
    return StoredShare(change.index, change.puts, timer=timer)
