"""Readings of which one in five is late, a query over them, and an application that plays them with a snapshot each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.testing import list_rows

BOUND = timedelta(seconds=2)
SCHEMA = pa.schema({"k": pa.int64(), "n": pa.int64(), "v": pa.int64(), "ts": pa.timestamp("us")})
QUERY = (
    "SELECT a.n AS n, b.n AS m FROM PATTERN SEQ(readings a, readings b) WHERE a.k = b.k AND b.v > a.v + 6 "
    "WITHIN INTERVAL '500' MILLISECOND"
)
PUSH = 100


def make_readings(count: int, seed: int) -> pa.Table:
    """In the order of their arrival."""
    random = Random(seed)
    times = [10_000 * number for number in range(count)]
    arrived = [time + (random.randint(1, 1_900_000) if random.random() < 0.2 else 0) for time in times]
    rows = [
        {"k": random.randrange(7), "n": number, "v": random.randrange(10), "ts": times[number]}
        for number in sorted(range(count), key=lambda number: arrived[number])
    ]
    return pa.table({name: [row[name] for row in rows] for name in SCHEMA.names}).cast(SCHEMA)


def cut(readings: pa.Table, push: int) -> list[pa.Table]:
    return [readings.slice(at, push) for at in range(0, len(readings), push)]


def net_of(changes: Sequence[pa.Table]) -> Counter[Any]:
    """The rows that are left, each `_match` once."""
    there: dict[Any, tuple[Any, ...]] = {}
    for table in changes:
        for change, match, _, *values in list_rows(table):
            if change == "retract":
                assert there.pop(match) == tuple(values)
            else:
                assert match not in there
                there[match] = tuple(values)
    return Counter(there.values())


def play(kept: str, seed: str, engines: str) -> None:
    """Go on from what is kept, to the end.  First tells the ids of its processes."""
    path, pushes = Path(kept), cut(make_readings(3000, int(seed)), PUSH)
    saved = path.read_bytes() if path.exists() else None
    done = 0 if saved is None else int.from_bytes(saved[:8], "big")
    disorder = cep.Disorder(wait="0 s", bound=BOUND, emit="changes")
    blob = None if saved is None else saved[8:]
    query = cep.open(QUERY, engines=int(engines), disorder=disorder, snapshot=blob, readings=SCHEMA)
    assert not hasattr(query, "list_engines"), "it runs in other processes"
    print(json.dumps([link.worker.process_id for link in query.links]), flush=True)  # noqa: T201
    for number, push in list(enumerate(pushes))[done:]:
        _write(path.with_name(f"{path.name}.rows.{number:04}"), query.push(readings=push))
        new = path.with_suffix(".new")
        new.write_bytes((number + 1).to_bytes(8, "big") + query.snapshot())
        new.replace(path)
    _write(path.with_name(f"{path.name}.rows.9999"), query.finish())


def _write(path: Path, rows: pa.Table) -> None:
    """Again after a restart, over what was written there: the rows of a push are always the same."""
    with pa.ipc.new_stream(path, rows.schema) as stream:
        stream.write_table(rows)
