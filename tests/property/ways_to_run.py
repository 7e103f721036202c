"""The ways to run a query that must give one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cepheid.compiler import compile_query
from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.execution import engine
from cepheid.execution.embedded.batch_host import run_batch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.hosts import EMBEDDED
from cepheid.language.catalog import Catalog
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.testing import assert_same_rows, cut_table, run_in_batches

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Cutting:
    """How a stream is cut: places (0 to 1) in each table, where the query is taken up again, what is forgotten."""

    places: tuple[float, ...]
    resume_after: int | None
    spare_events: int

    def cut(self, tables: Tables) -> list[dict[str, pa.Table]]:
        parts = {name: cut_table(table, self.rows_of(len(table))) for name, table in tables.items()}
        return [{name: tables[number] for name, tables in parts.items()} for number in range(len(self.places) + 1)]

    def rows_of(self, count: int) -> list[int]:
        return [min(count, int(place * (count + 1))) for place in self.places]


def make_cutting(seed: int) -> Cutting:
    random = Random(seed)
    places = [random.random() for _ in range(random.choice((0, 1, 4, 12, 30)))]
    if places and random.random() < 0.5:
        places += [places[0], min(1.0, places[0] + 0.02)]  # an empty batch, and a small one
    resume_after = random.choice((None, random.randint(0, len(places)), random.randint(0, len(places))))
    return Cutting(tuple(sorted(places)), resume_after, random.choice((0, 0, 16, engine.SPARE_EVENTS)))


@dataclass(frozen=True)
class Outcome:
    """Rows and how many events were rejected, or the rule of matching that the data broke."""

    rows: pa.Table | None
    rejected: int = 0
    failure: str | None = None


class TooCostly(Exception):
    """A twin gave up: nothing to compare."""


def assert_one_answer(text: str, tables: Tables, shuffled: Tables, cutting: Cutting, lateness: timedelta) -> Outcome:
    """Run it every way there is; gives what the reference twin says.  `shuffled`: what `lateness` allows for."""
    expected, compiled = run_both_twins(text, tables)
    _assert_same_outcome(compiled, expected, "compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "MOST_AT_ONCE", 3 + cutting.spare_events % 13)
        _assert_same_outcome(run_both_twins(text, tables)[1], expected, "compiled, in small pieces")
    streamed = run_streaming(text, tables, cutting)
    _assert_same_outcome(streamed, expected, "streaming")
    assert streamed.rejected == compiled.rejected or expected.failure, "every way rejects the same events"
    _assert_same_outcome(run_streaming(text, shuffled, cutting, lateness), expected, "streaming, out of order")
    return expected


def report_smallest(wrong: list[tuple[int, object, AssertionError]]) -> None:
    """Fail with the case that is the quickest to read."""
    if wrong:
        seed, case, problem = min(wrong, key=lambda found: len(repr(found[1])))
        raise AssertionError(f"{len(wrong)} cases; the smallest is {seed}: {problem}\n{case!r}") from problem


def run_both_twins(text: str, tables: Tables) -> tuple[Outcome, Outcome]:
    """The reference twin over the graph as it was bound, which no rule has touched; and what cep.sql runs."""
    compilation = compile_query(text, Catalog({name: table.schema for name, table in tables.items()}, describe_sql))
    bound = place_by_nature(compilation.bound, EMBEDDED.native)
    expected = _attempt(lambda: _read_batch(run_batch(bound, tables, twin="reference")))
    return expected, _attempt(lambda: _read_batch(run_batch(compilation.placed, tables)))


def run_streaming(text: str, tables: Tables, cutting: Cutting, lateness: timedelta | None = None) -> Outcome:
    def run() -> Outcome:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "SPARE_EVENTS", cutting.spare_events)
            batches = cutting.cut(tables)
            rows, query = run_in_batches(text, batches, resume_after=cutting.resume_after, lateness=lateness)
        assert query.counts.late == 0, "no event is late"
        return Outcome(pa.concat_tables(rows), query.counts.rejected)

    return _attempt(run)


def _assert_same_outcome(found: Outcome, expected: Outcome, told: str) -> None:
    assert found.failure == expected.failure, f"{told}: {found.failure} instead of {expected.failure}"
    if found.rows is not None and expected.rows is not None:
        assert_same_rows(found.rows, expected.rows, told)


def _read_batch(result: tuple[dict[str, pa.Table], Any]) -> Outcome:
    return Outcome(result[0]["query"], result[1].rejected)


def _attempt(run: Callable[[], Outcome]) -> Outcome:
    try:
        return run()
    except MatchFailure as problem:
        return Outcome(None, failure=problem.code)
    except PatternTooCostly:
        raise TooCostly from None
