"""What it costs to be able to correct where nothing is late: events per second as changes, beside final rows.

Both keep what is as old as the bound: the one holds events back for so long, the other keeps a way back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from cepheid.bench.disorder.measured_queries import KLEENE, SEQUENCE, SLIDING, TUMBLING, make_table

QUERIES = {"keyed SEQ": SEQUENCE, "Kleene": KLEENE, "tumbling window": TUMBLING, "sliding window": SLIDING}
BOUND = "2 s"
ASKED = 0.85
EVERY_US = 20  # between two events
PUSH = 10_000
SEED = 1


def measure_throughput(events: int, repeats: int, advance: Callable[[], object]) -> dict[str, Any]:
    """repeats: by turns, of which the best of each counts.  advance: one query is done."""
    table = make_table(EVERY_US * np.arange(events, dtype=np.int64), SEED)
    rows: dict[str, Any] = {}
    for name, text in QUERIES.items():
        both = [cep.Disorder(bound=BOUND), cep.Disorder(wait="0 s", bound=BOUND, emit="changes")]
        best = [0.0, 0.0]
        for _ in range(repeats):
            best = [max(known, _run(text, table, each)) for known, each in zip(best, both, strict=True)]
        rows[name] = {
            "final_per_s": round(best[0]),
            "changes_per_s": round(best[1]),
            "ratio": round(best[1] / best[0], 2),
        }
        advance()
    return {"events": events, "push": PUSH, "bound": BOUND, "asked": ASKED, "rows": rows}


def _run(text: str, table: pa.Table, disorder: cep.Disorder) -> float:
    """Events per second, once the first pushes are done."""
    query = cep.open(text, disorder=disorder, events=table.schema)
    warm_up = min(len(table) // 4, 5 * PUSH) // PUSH * PUSH
    for at in range(0, warm_up, PUSH):
        query.push(events=table.slice(at, PUSH))
    began = time.perf_counter()
    rest = table.slice(warm_up)
    for at in range(0, len(rest), PUSH):
        query.push(events=rest.slice(at, PUSH))
    return len(rest) / (time.perf_counter() - began)
