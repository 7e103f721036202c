"""Any query that compiles can be simulated as it is."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import pyarrow as pa
from random_row_patterns import make_row_pattern_case
from random_sequences import make_sequence_case
from random_windows import make_window_case

from cepheid.compiler import compile_query
from cepheid.errors import CepheidError
from cepheid.execution.embedded.relations import describe_sql
from cepheid.language.catalog import Catalog
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.scenarios.graph_scenario import scenario_of_graph
from cepheid.simulation.simulate import simulate

SECONDS = 8.0
RATE_PER_S = 200.0
MOST_WITHOUT_ROWS = 0.05  # windows longer than the run


def list_cases() -> list[tuple[str, dict[str, pa.Table]]]:
    windows = [(case.text, case.tables) for case in map(make_window_case, range(60))]
    sequences = [(case.text, case.tables) for case in map(make_sequence_case, range(15))]
    patterns = [(case.text, {"t": case.events}) for case in map(make_row_pattern_case, range(15))]
    return windows + sequences + patterns


def make_scenario(text: str, tables: dict[str, pa.Table]) -> Scenario | None:
    known = Catalog({name: table.schema for name, table in tables.items()}, describe_sql, frozenset(tables))
    try:
        placed = compile_query(text, known).placed
    except CepheidError:
        return None  # the random queries have some that are refused
    settings = {"fidelity": "cepsim", "duration_s": SECONDS}
    return scenario_of_graph(placed, dict.fromkeys(tables, Uniform(RATE_PER_S)), settings=settings)


def check_numbers(scenario: Scenario) -> None:
    for query in scenario.queries:
        for vertex in query.vertices:
            assert math.isfinite(vertex.ipe)
            assert vertex.ipe > 0.0
            if vertex.kind == "window":
                assert vertex.window_s >= vertex.advance_s > 0.0
                assert vertex.output is None or 0.0 <= vertex.output < 1e6
        for edge in query.edges:
            assert 0.0 < edge.selectivity < 1e5


def test_random_queries_are_simulated_to_their_sinks() -> None:
    outcomes: Counter[str] = Counter()
    for text, tables in list_cases():
        try:
            scenario = make_scenario(text, tables)
            if scenario is None:
                outcomes["refused"] += 1
                continue
            check_numbers(scenario)
            for consumer in simulate(scenario, engine="reference").consumers():
                outcomes["silent" if consumer.latency_ms is None else "heard"] += 1
        except Exception as problem:
            raise AssertionError(f"{text}\n{problem}") from problem
    assert outcomes["heard"] > 60
    assert outcomes["silent"] <= MOST_WITHOUT_ROWS * outcomes["heard"]
