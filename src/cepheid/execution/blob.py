"""A header and parts as one run of bytes: the form of snapshots and of state on Spark.

    CEPH1, count and lengths, header as JSON, parts

Arrow tables travel as Arrow streams.  Nothing is unpickled.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from cepheid.errors import SnapshotMismatch

MAGIC = b"CEPH1\n"
SNAPSHOT_HINT = "give the bytes of snapshot(), whole and unchanged"


def write_blob(header: Mapping[str, Any], parts: list[bytes]) -> bytes:
    everything = [json.dumps(header).encode(), *parts]
    lengths = struct.pack(f"<{1 + len(everything)}q", len(everything), *map(len, everything))
    return MAGIC + lengths + b"".join(everything)


def read_blob(blob: bytes) -> tuple[dict[str, Any], list[bytes]]:
    try:
        if not blob.startswith(MAGIC):
            raise ValueError("it does not begin like one")
        (count,) = struct.unpack_from("<q", blob, len(MAGIC))
        lengths = struct.unpack_from(f"<{count}q", blob, len(MAGIC) + 8)
        start = len(MAGIC) + 8 * (count + 1)
        parts = []
        for length in lengths:
            parts.append(blob[start : start + length])
            start += length
        return json.loads(parts[0]), parts[1:]
    except (ValueError, struct.error, IndexError) as problem:
        raise SnapshotMismatch(f"this is not a snapshot: {problem}", hint=SNAPSHOT_HINT) from None


def write_table(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def read_table_bytes(part: bytes) -> pa.Table:
    try:
        return pa.ipc.open_stream(part).read_all()
    except pa.ArrowInvalid as problem:
        raise SnapshotMismatch(f"this is not a snapshot: {problem}", hint=SNAPSHOT_HINT) from None
