"""Random queries give on Spark, batch and stream, the rows that they give in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "property")]
from random_events import SCHEMA, START
from random_row_patterns import make_row_pattern_case
from random_sequences import make_sequence_case
from random_ways import make_ways_case
from streams import FedStream

import cepheid as cep
from cepheid.errors import (
    InvalidQuery,
    InvalidWithin,
    MatchFailure,
    NotSupportedYet,
    PatternTooCostly,
    TypeMismatch,
)
from cepheid.testing import assert_same_rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::cepheid.errors.RejectedEventsWarning"),
    pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning"),
]


def assert_spark_agrees(spark: Any, text: str, tables: dict[str, pa.Table]) -> int:
    """Gives how many rows there are."""
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    try:
        expected = cep.sql(text, **tables)
    except MatchFailure:
        with pytest.raises(Exception, match="match-failure"):
            cep.sql(text, **frames).toArrow()
        return 0
    assert_same_rows(cep.sql(text, **frames).toArrow().cast(expected.schema), expected, text)
    return len(expected)


def finds_rows(text: str, tables: dict[str, pa.Table]) -> bool:
    try:
        return len(cep.sql(text, **tables)) > 0
    except (MatchFailure, PatternTooCostly, NotSupportedYet, InvalidQuery, InvalidWithin):
        return False


def test_random_row_patterns_on_batches(spark: Any) -> None:
    cases = [make_row_pattern_case(seed) for seed in range(1000, 1018)]
    assert any(" FOR " in case.text for case in cases)
    rows, refused = [], []
    for case in cases:
        try:
            rows.append(assert_spark_agrees(spark, case.text, {"t": case.events}))
        except TypeMismatch as problem:
            refused.append(problem.message)
    assert sum(count > 0 for count in rows) > 5
    assert len(refused) < 3, "few conditions mix decimals and whole numbers of several events, 2.5 <> MATCH_NUMBER()"


@pytest.mark.essential
def test_random_sequences_on_batches(spark: Any) -> None:
    cases = [make_sequence_case(seed) for seed in range(1000, 1060)]
    finding = [case for case in cases if finds_rows(case.text, case.tables)]
    ways = [case for seed in range(1000, 1060) if finds_rows((case := make_ways_case(seed)).text, case.tables)]
    rows = [assert_spark_agrees(spark, case.text, case.tables) for case in [*finding[:10], *cases[:3], *ways[:10]]]
    assert sum(count > 0 for count in rows) >= 12


# Spark's watermarks need a timestamp with a zone
ZONED = SCHEMA.set(SCHEMA.get_field_index("ts"), pa.field("ts", pa.timestamp("us", tz="UTC")))


def list_stream_cases(word: str) -> Iterator[tuple[str, list[pa.Table], pa.Table]]:
    """Queries with WITHIN or FOR that break no rule: text, batches, and the rows settled after these batches."""
    for seed in range(2000, 3000):
        case = make_row_pattern_case(seed)
        third = -(-len(case.events) // 3)
        batches = [case.events.slice(number * third, third) for number in range(3)]
        batches += [far_event(10_000), far_event(10_001)]  # time goes on, and every key group gets to know
        batches = [batch.cast(ZONED) for batch in batches]
        try:
            query = cep.open(case.text, t=ZONED)
            rows = pa.concat_tables([query.push(t=batch) for batch in batches])
        except MatchFailure:
            continue
        if word in case.text and len(rows) > 3:
            yield case.text, batches, rows


def has_spark_functions_only(text: str, stream: FedStream) -> bool:
    """Over several events of a match, conditions in Spark's dialect have fewer functions."""
    try:
        cep.sql(text, t=stream.frame(), lateness=timedelta(0))
    except NotSupportedYet as problem:
        if "the function" not in problem.message:
            raise
        return False
    return True


@pytest.mark.parametrize(("word", "count"), [(" WITHIN ", 4), (" FOR ", 2)])
def test_random_row_patterns_on_streams_with_restart(spark: Any, tmp_path: Path, word: str, count: int) -> None:
    runs = 0
    for number, (text, batches, expected) in enumerate(list_stream_cases(word)):
        stream = FedStream(spark, tmp_path / str(number), ZONED)
        if not has_spark_functions_only(text, stream):
            continue
        for place, batch in enumerate(batches):
            stream.feed(batch)
            if place == 1:
                stream.run(text, "t", lateness=timedelta(0))
        stream.run(text, "t", lateness=timedelta(0))
        assert_same_rows(stream.rows().select(expected.column_names).cast(expected.schema), expected, text)
        runs += 1
        if runs == count:
            return
    raise AssertionError(f"there are fewer than {count} such queries")


def far_event(second: int) -> pa.Table:
    values = {"ts": START + second * 1_000_000, "n": 0, "k": second, "s": str(second)}
    return pa.table([pa.array([values.get(field.name)], field.type) for field in SCHEMA], schema=SCHEMA)
