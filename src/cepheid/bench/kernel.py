"""Q5 on arrays in one thread, as a ratio to numpy's argsort of as many int32."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cepheid.bench.machine import describe_machine
from cepheid.bench.study_data import generate_events, threshold_for
from cepheid.kernel.columns import Column, Events, Interner
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.expression import Call, Cell, Constant, Position
from cepheid.kernel.pattern import SequenceProgram, Step


def measure_kernel(events: int, repeats: int) -> dict[str, Any]:
    """Keys are numbered, conditions tested and sequences found inside the measured time."""
    table = generate_events(events)
    ids = table.column("id").to_numpy()
    values = Column(table.column("a1").to_numpy())
    times = table.column("ts").cast("int64").to_numpy()
    wide_ids = ids.astype(np.int64)
    above = Call("gt", (Cell("a1", "float", Position(("b",))), Constant(threshold_for(0.001), "float")), "bool")
    program = SequenceProgram((Step("a", 0), Step("b", 0, above)), strategy="skip_till_any", within=10_000_000)

    def run_q5() -> int:
        keys, _ = KeyIndex(1).number_rows([Column(wide_ids)], len(wide_ids))
        operator = CompiledSequence(program, Interner())
        return len(operator.step(Events(times, keys, {"a1": values}), 0))

    found = run_q5()  # compiles, or loads from the cache
    sort_s = _repeat(lambda: np.argsort(ids), repeats)
    q5_s = _repeat(run_q5, repeats)
    return {
        "benchmark": "kernel",
        "question": "Q5 all-to-all, 10 s window, MAX_ID 10,000, selectivity 0.1%, one thread, arrays",
        **describe_machine(),
        "events": events,
        "seed": 1,
        "repeats": repeats,
        "sequences": found,
        "argsort_s": round(statistics.median(sort_s), 4),
        "q5_s": round(statistics.median(q5_s), 4),
        "q5_spread_s": [round(min(q5_s), 4), round(max(q5_s), 4)],
        "events_per_s": round(events / statistics.median(q5_s)),
        "ratio_to_argsort": round(statistics.median(sort_s) / statistics.median(q5_s), 2),
    }


def _repeat(action: Callable[[], Any], repeats: int) -> list[float]:
    elapsed = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        elapsed.append(time.perf_counter() - began)
    return elapsed
