"""Random queries give on Spark, batch and stream, the rows that they give in this process."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "property")]
from random_events import SCHEMA, START
from random_row_patterns import make_row_pattern_case
from random_sequences import make_sequence_case
from streams import FedStream

import cepheid as cep
from cepheid.errors import MatchFailure, PatternTooCostly
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
    except (MatchFailure, PatternTooCostly):
        return False


def test_random_row_patterns_on_batches(spark: Any) -> None:
    cases = [make_row_pattern_case(seed) for seed in range(1000, 1016)]
    rows = [assert_spark_agrees(spark, case.text, {"t": case.events}) for case in cases]
    assert sum(count > 0 for count in rows) > 5


@pytest.mark.essential
def test_random_sequences_on_batches(spark: Any) -> None:
    cases = [make_sequence_case(seed) for seed in range(1000, 1060)]
    finding = [case for case in cases if finds_rows(case.text, case.tables)]
    rows = [assert_spark_agrees(spark, case.text, case.tables) for case in [*finding[:12], *cases[:3]]]
    assert sum(count > 0 for count in rows) >= 12


# Spark's watermarks need a timestamp with a zone
ZONED = SCHEMA.set(SCHEMA.get_field_index("ts"), pa.field("ts", pa.timestamp("us", tz="UTC")))


def list_stream_cases(count: int) -> list[tuple[str, list[pa.Table], pa.Table]]:
    """Queries with WITHIN that break no rule: text, batches, and the rows settled after these batches."""
    found = []
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
        if "WITHIN" in case.text and len(rows) > 3:
            found.append((case.text, batches, rows))
        if len(found) == count:
            break
    return found


def test_random_row_patterns_on_streams_with_restart(spark: Any, tmp_path: Path) -> None:
    for number, (text, batches, expected) in enumerate(list_stream_cases(4)):
        stream = FedStream(spark, tmp_path / str(number), ZONED)
        for place, batch in enumerate(batches):
            stream.feed(batch)
            if place == 1:
                stream.run(text, "t", lateness=timedelta(0))
        stream.run(text, "t", lateness=timedelta(0))
        assert_same_rows(stream.rows().select(expected.column_names).cast(expected.schema), expected, text)


def far_event(second: int) -> pa.Table:
    values = {"ts": START + second * 1_000_000, "n": 0, "k": second, "s": str(second)}
    return pa.table([pa.array([values.get(field.name)], field.type) for field in SCHEMA], schema=SCHEMA)
