"""The state of an engine in segments, so that writing it back costs what changed, not what there is.

    segment   events that arrived in one batch and were still needed at its end, by arrival; written once
    index     which events of each segment are still needed, and which lie before their key's search; small,
              written every batch

Segments are deleted when nothing in them is needed, and written anew as one when less than half of
all stored events is.  Since a segment never changes, an older index and its segments are a state to go back to.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import SnapshotMismatch
from cepheid.event_time import order_values
from cepheid.execution.blob import read_blob, read_table_bytes, write_blob, write_table
from cepheid.execution.engine import Engine
from cepheid.execution.operator import HELD, PAST, PENDING, KeptEvents

SPARE_ROWS = 1024  # stored events not worth rewriting for


@dataclass(frozen=True, slots=True)
class Segment:
    """number: its name in the store; stamp: tells it from one of the same number that a batch which failed has written;
    arrivals: int64[n], ascending, of all its events."""

    number: int
    stamp: str
    arrivals: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoredState:
    """What was written last: enough to write the next change without reading anything back."""

    segments: tuple[Segment, ...] = ()
    next_number: int = 0
    arrivals: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What to write: the index, new segments, segments to delete; stamp: of the new ones."""

    index: bytes
    stamp: str
    puts: dict[int, bytes] = field(default_factory=dict)
    deletes: tuple[Segment, ...] = ()


def plan_change(engine: Engine, stored: StoredState, extra: dict[str, Any]) -> tuple[Change, StoredState]:
    """What must be written so that the store tells what the engine knows now."""
    kept = engine.keep()
    order = np.argsort(kept.table.column("_arrival").to_numpy(), kind="stable")
    table = kept.table.take(pa.array(order))
    roles, numbers, taken = kept.roles[order], kept.numbers[order], kept.taken[order]
    arrivals = table.column("_arrival").to_numpy()
    alive = [segment for segment in stored.segments if _count(_find_live(segment, arrivals))]
    stored_rows = sum(len(segment.arrivals) for segment in alive)
    fresh = arrivals >= stored.arrivals
    puts: dict[int, bytes] = {}
    number, stamp = stored.next_number, uuid.uuid4().hex
    if stored_rows > 2 * int((~fresh).sum()) + SPARE_ROWS:
        alive, fresh = [], np.ones(len(arrivals), dtype=np.bool_)
    if fresh.any():
        puts[number] = _write_segment(table.filter(pa.array(fresh)), arrivals[fresh])
        alive = [*alive, Segment(number, stamp, arrivals[fresh])]
        number += 1
    kept_numbers = {segment.number for segment in alive}
    deletes = tuple(segment for segment in stored.segments if segment.number not in kept_numbers)
    index = _write_index(engine, kept, alive, arrivals, roles, numbers, taken, {**extra, "next_number": number})
    return Change(index, stamp, puts, deletes), StoredState(tuple(alive), number, kept.arrivals)


def load_state(engine: Engine, index: bytes, read: Callable[[int, str], bytes]) -> tuple[StoredState, dict[str, Any]]:
    """Bring an engine to what the store tells; gives what `plan_change` needs next, and the index's extra.

    read: the segment of a number and stamp."""
    header, parts = read_blob(index)
    if header.get("digests") != list(engine.identity.digests):
        held = header.get("described", ["an earlier version of Cepheid"])
        raise SnapshotMismatch(
            f"the checkpoint belongs to another query: it holds the state of {', '.join(held)}, "
            f"and the query has {', '.join(engine.identity.described)}",
            hint="run it with the old text, or start with a new checkpoint location",
        )
    segments, tables, past, taken = [], [], [], []
    for number, stamp, live_bits, past_bits, taken_bits in header["segments"]:
        table = engine.identity.fit_events(_read_segment(read(number, stamp)), header["columns"], engine.layout)
        segments.append(Segment(number, stamp, table.column("_arrival").to_numpy()))
        live = _unpack_bits(live_bits, len(table))
        tables.append(table.filter(pa.array(live)))
        past.append(_unpack_bits(past_bits, len(table))[live])
        taken.append(_unpack_bits(taken_bits, len(table))[live])
    table = pa.concat_tables([engine.layout.empty_table(), *tables])
    none = np.zeros(0, dtype=np.bool_)
    roles = np.where(np.concatenate([none, *past]), PAST, PENDING).astype(np.uint8)
    times, _ = order_values(table.column("_time"))
    engine.gate.horizon = header["horizon"]
    roles[~engine.gate.find_releasable(times)] = HELD
    numbers = np.frombuffer(parts[0], dtype=np.int64) if parts[0] else np.zeros(len(table), dtype=np.int64)
    engine.restore(
        KeptEvents(
            table, roles, numbers, np.concatenate([none, *taken]), header["horizon"], header["arrivals"], parts[1]
        )
    )
    engine.gate.newest = [list(each) for each in header.get("newest", engine.gate.newest)]
    return StoredState(tuple(segments), header["next_number"], header["arrivals"]), header


def _write_segment(table: pa.Table, arrivals: npt.NDArray[np.int64]) -> bytes:
    """Arrivals without gaps, which are common, are told by the first."""
    if arrivals[-1] - arrivals[0] + 1 == len(arrivals):
        bare = table.drop_columns(["_arrival"])
        return write_table(bare.replace_schema_metadata({"first_arrival": str(arrivals[0])}))
    return write_table(table)


def _read_segment(blob: bytes) -> pa.Table:
    table = read_table_bytes(blob)
    first = (table.schema.metadata or {}).get(b"first_arrival")
    if first is not None:
        table = table.append_column("_arrival", pa.array(int(first) + np.arange(len(table))))
    return table.replace_schema_metadata(None)


def _write_index(
    engine: Engine,
    kept: KeptEvents,
    segments: list[Segment],
    arrivals: npt.NDArray[np.int64],
    roles: npt.NDArray[np.uint8],
    numbers: npt.NDArray[np.int64],
    taken: npt.NDArray[np.bool_],
    extra: dict[str, Any],
) -> bytes:
    header = {
        **extra,
        **engine.identity.header(),
        "horizon": kept.horizon,
        "arrivals": kept.arrivals,
        "newest": engine.gate.newest,
        "segments": [
            (segment.number, segment.stamp, *_flag_events(segment, arrivals, roles == PAST, taken))
            for segment in segments
        ],
    }
    return write_blob(header, [numbers.tobytes() if numbers.any() else b"", kept.partials])


def _flag_events(
    segment: Segment, arrivals: npt.NDArray[np.int64], past: npt.NDArray[np.bool_], taken: npt.NDArray[np.bool_]
) -> tuple[str, str, str]:
    """Of each event of a segment: is it still needed, does it lie before its key's search, is it taken?  `arrivals`,
    ascending, are those that are needed; the others are aligned with them."""
    live = _find_live(segment, arrivals)
    places = np.searchsorted(segment.arrivals, arrivals[live])
    flags = np.zeros((3, len(segment.arrivals)), dtype=np.bool_)
    flags[0, places], flags[1, places], flags[2, places] = True, past[live], taken[live]
    return _pack_bits(flags[0]), _pack_bits(flags[1]), _pack_bits(flags[2])


def _find_live(segment: Segment, arrivals: npt.NDArray[np.int64]) -> slice:
    """Which of the ascending `arrivals` lie in the segment's range, which no other segment shares."""
    low, high = np.searchsorted(arrivals, (segment.arrivals[0], segment.arrivals[-1] + 1))
    return slice(int(low), int(high))


def _count(found: slice) -> int:
    return int(found.stop - found.start)


def _pack_bits(flags: npt.NDArray[np.bool_]) -> str:
    """All set or all clear, which is common, costs one letter."""
    if flags.all():
        return "1"
    return base64.b64encode(np.packbits(flags).tobytes()).decode() if flags.any() else "0"


def _unpack_bits(packed: str, count: int) -> npt.NDArray[np.bool_]:
    if packed in ("0", "1"):
        return np.full(count, packed == "1")
    bits = np.unpackbits(np.frombuffer(base64.b64decode(packed), dtype=np.uint8), count=count)
    return bits.astype(np.bool_)
