"""Queries on all cores of the machine beside the same on one: the rows are the same, so only time is compared."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.one_core import time_action
from cepheid.execution.cores import count_cores


def compare_cores(queries: Mapping[str, str], events: pa.Table, repeats: int) -> dict[str, Any]:
    """ratio: how many times as fast all cores are; one after another in turn, so that a machine that slows down slows
    both."""
    cores = count_cores()
    found: dict[str, Any] = {}
    for name, text in track(queries.items(), f"on {cores} cores", console=Console(stderr=True)):
        same = {len(cep.sql(text, events=events, engines=engines)) for engines in (1, cores)}
        assert len(same) == 1, "any number of engines gives the same rows"
        one, all_of_them = [], []
        for _ in range(repeats):
            one.append(_time_query(text, events, 1))
            all_of_them.append(_time_query(text, events, cores))
        found[name] = {
            "cores": cores,
            "one_core_s": round(statistics.median(one), 3),
            "s": round(statistics.median(all_of_them), 3),
            "spread_s": [round(min(all_of_them), 3), round(max(all_of_them), 3)],
            "ratio": round(statistics.median(one) / statistics.median(all_of_them), 2),
        }
    return found


def _time_query(text: str, events: pa.Table, engines: int) -> float:
    return time_action(lambda: cep.sql(text, events=events, engines=engines))
