"""Random stacks of queries: in any pieces, in disorder, with restarts, their rows are those of whole tables."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))  # random queries lie beside this file
from case_counts import few
from random_stacks import make_stack, make_top

import cepheid as cep

pytestmark = [
    pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning"),
    pytest.mark.filterwarnings("ignore::cepheid.errors.RowsAtTheEndWarning"),
]
SCHEMA = pa.schema({"ts": pa.timestamp("us"), "k": "int64", "v": "int64"})
LATENESS = timedelta(seconds=2)


def make_events(random: Random) -> pa.Table:
    """Each at a time of its own, within two seconds of its place."""
    count = random.randrange(8, 40)
    times = random.sample(range(20_000), count)
    times.sort(key=lambda time: time + random.randrange(2000))
    values = {
        "ts": [1000 * time for time in times],
        "k": [random.choice([1, 1, 2, 3]) for _ in times],
        "v": [random.choice([None, *range(6)]) for _ in times],
    }
    return pa.table(values, schema=SCHEMA)


def list_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def net_rows(table: pa.Table) -> Counter[Any]:
    if "_change" not in table.column_names:
        return Counter(list_rows(table))
    found: Counter[Any] = Counter()
    for change, _, _, *values in list_rows(table):
        found[tuple(values)] += 1 if change == "insert" else -1
    assert min(found.values(), default=0) >= 0
    return +found


def run_in_pieces(random: Random, query: str, events: dict[str, pa.Table], emit: Any) -> Counter[Any]:
    """Streams go on together: each piece is of the same share of both."""
    schemas = dict.fromkeys(events, SCHEMA)
    opened, given, begin = cep.open(query, emit=emit, lateness=LATENESS, **schemas), [], 0
    while begin < 20:
        end = begin + random.choice([1, 2, 5])
        pieces = {}
        for name, table in events.items():
            first, last = (len(table) * min(place, 20) // 20 for place in (begin, end))
            pieces[name] = table.slice(first, last - first)
        given.append(opened.push(**pieces))
        begin = end
        if random.random() < 0.3:
            opened = cep.open(query, emit=emit, lateness=LATENESS, snapshot=opened.snapshot(), **schemas)
    given.append(opened.finish())
    assert opened.counts.late == 0
    return net_rows(pa.concat_tables(given))


@pytest.mark.parametrize("seed", range(few(50, of=1500)))
def test_a_stack_in_pieces_is_the_stack_over_whole_tables(seed: int) -> None:
    random = Random(seed)
    query = make_stack(random, random.choice([2, 2, 3]))
    if random.random() < 0.3:
        query = make_top(random, query)
    events = {name: make_events(random) for name in "sr" if f"FROM {name}" in query or f" {name} AS b" in query}
    try:
        cep.open(query, lateness=LATENESS, **dict.fromkeys(events, SCHEMA))
    except cep.errors.NotSupportedYet:
        pytest.skip("some are refused by name")
    whole = net_rows(cep.sql(query, **events))
    for emit in ("final", "changes"):
        assert run_in_pieces(random, query, events, emit) == whole, query
