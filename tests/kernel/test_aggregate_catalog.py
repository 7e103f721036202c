"""Each aggregate of the catalog has all that one needs; these tests name what a new one still lacks."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from sqlglot import exp

from cepheid.kernel.aggregates.catalog import AGGREGATES, find_aggregate, find_written
from cepheid.kernel.aggregates.definition import ANYWHERE, AggregateDefinition
from cepheid.kernel.columns import Interner
from cepheid.kernel.compiled.pattern_aggregates import tabulate_aggregates
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.window_aggregates.banks import KeepingBank, make_banks
from cepheid.kernel.expression import Aggregate
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.kernel.window import WindowedAggregate

DOCS = Path(__file__).parents[2] / "docs" / "reference"
WRITTEN_OTHERWISE = {"least": "min(x, k)", "greatest": "max(x, k)", "python": "init"}
"""Aggregates without a name of their own in SQL, and what the pages say of them."""

every_aggregate = pytest.mark.parametrize("definition", AGGREGATES, ids=lambda definition: definition.name)


def make_windowed(definition: AggregateDefinition) -> WindowedAggregate:
    kind = definition.takes[0]
    python = PythonAggregate(list, lambda state, _: state, len) if definition.name == "python" else None
    return WindowedAggregate(
        function=definition.name, column="x", column_kind=kind, kind=definition.kind_of_answer(kind),
        by="y" if definition.has_measure else None, by_kind="int" if definition.has_measure else None,
        parameter=0.5 if definition.parameter == "share" else 1.0, python=python,
    )  # fmt: skip


def test_names_are_given_once() -> None:
    names = [definition.name for definition in AGGREGATES]
    assert sorted(set(names)) == sorted(names)
    written = [name for definition in AGGREGATES for name in definition.sql_names]
    assert sorted(set(written)) == sorted(written), "two aggregates have one name in SQL"


@every_aggregate
def test_compiled_twin_computes_it_in_windows(definition: AggregateDefinition) -> None:
    banks = make_banks((make_windowed(definition),), Interner())
    ((bank, _),) = banks._banks
    assert definition.mergeable == isinstance(bank, KeepingBank), (
        f"{definition.name}: a mergeable aggregate is one whose bank can keep and restore what slots hold"
    )


@every_aggregate
def test_compiled_twin_computes_it_in_conditions(definition: AggregateDefinition) -> None:
    if "condition" in definition.places:
        kind = definition.takes[0]
        wanted = Aggregate(definition.name, "x", kind, definition.kind_of_answer(kind), by_kind="int", by="y")
        assert len(tabulate_aggregates([wanted], (), CodeWriter(Interner()))) == 1


@every_aggregate
def test_language_finds_it_by_name(definition: AggregateDefinition) -> None:
    assert definition.sql_names or definition.name in WRITTEN_OTHERWISE, f"{definition.name} cannot be written"
    for name in definition.sql_names:
        assert find_written([name.lower()], "window") is definition
        in_pattern = find_written([name], "measures")
        assert in_pattern is (definition if "measures" in definition.places else None)


@every_aggregate
def test_reference_page_says_what_it_means(definition: AggregateDefinition) -> None:
    page = (DOCS / "windows.md").read_text().lower()
    shown = [name.lower() for name in definition.sql_names] or [WRITTEN_OTHERWISE[definition.name]]
    assert any(name in page for name in shown), f"docs/reference/windows.md does not mention {definition.name}"


@every_aggregate
def test_fold_has_the_two_arguments_of_a_fold(definition: AggregateDefinition) -> None:
    assert len(inspect.signature(definition.fold).parameters) == 2
    assert definition.places <= ANYWHERE


def test_what_sqlglot_takes_for_an_aggregate_is_known_by_its_names() -> None:
    known = {
        exp.Count: "count", exp.CountIf: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
        exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
        exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.ArgMin: "min_by", exp.ArgMax: "max_by",
        exp.LogicalAnd: "min", exp.LogicalOr: "max", exp.ArrayAgg: "array_agg", exp.First: "first",
        exp.FirstValue: "first", exp.Last: "last", exp.LastValue: "last", exp.AnyValue: "first",
        exp.Median: "percentile_cont", exp.Quantile: "percentile_cont", exp.PercentileCont: "percentile_cont",
        exp.ApproxDistinct: "count_distinct", exp.PercentileDisc: "percentile_disc",
        exp.ApproxQuantile: "percentile_disc",
    }  # fmt: skip
    for call, name in known.items():
        assert find_written(call.sql_names(), "window") is find_aggregate(name), call.__name__
