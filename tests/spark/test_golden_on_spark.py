"""Every golden case of matching as a batch on Spark: few jobs, each of which unites many."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.errors import CepheidError

sys.path.append(str(Path(__file__).parent.parent / "golden"))
from golden_files import HERE, Case, is_failure, read_cases, read_events, split_rows, write_cell

pytestmark = pytest.mark.spark

PARTS = 8  # what Spark does with a plan takes longer than in proportion to its size
CASES = {path.stem: read_cases(path)[0] for path in sorted((HERE / "matching").glob("*.txt"))}
# the others are the same in both dialects, and run in Spark's
IN_TRINO = {
    CASES[name].query
    for name in (
        "odd_names",  # names in double quotes, which are texts in Spark SQL
        "rows_quoted_labels",
        "scalar_date_diff",  # Spark's has another order of arguments, and counts by the session's clock
        "host_function_of_two_events",
        "scalar_floor_and_ceil",
        "win_agg_of_decimals",  # their mean is a decimal in Spark SQL
        "scalar_round",
        "win_agg_texts_joined",  # workers do not compute Spark's listagg
    )
}
NOT_ON_SPARK = {"rows_any_and_all_of_tables": "Spark SQL has no x > ALL (SELECT ...)"}


def start(spark: Any, case: Case) -> Any:
    """The case as a DataFrame; nothing runs yet."""
    tables = read_events(case.events)
    frames = {name: spark.createDataFrame(table).coalesce(1) for name, table in tables.items()}
    dialect = "trino" if case.query in IN_TRINO else "spark"
    return cep.sql(case.query, key_groups=1, dialect=dialect, **frames)


def as_json(frame: Any, name: str) -> Any:
    """All rows of all cases in one shape: name of the case, row as JSON."""
    from pyspark.sql.functions import col, lit, struct, to_json

    formats = {
        "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    }
    told = {"ignoreNullFields": "false", **formats}
    row = to_json(struct(*(col(f"`{column}`") for column in frame.columns)), told)
    return frame.select(lit(name).alias("case"), row.alias("row"))


@pytest.fixture
def small_jobs(spark: Any) -> Iterator[Any]:
    """Hundreds of tiny plans: what pays for large ones is switched off."""
    settings = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_case_gives_the_same_rows_on_spark(small_jobs: Any, part: int) -> None:
    from pyspark.sql.types import StructType

    chosen = [name for name, case in CASES.items() if not is_failure(case) and name not in NOT_ON_SPARK][part::PARTS]
    frames = {name: start(small_jobs, CASES[name]) for name in chosen}
    united = reduce(lambda one, other: one.union(other), (as_json(frame, name) for name, frame in frames.items()))
    found: dict[str, list[str]] = {name: [] for name in frames}
    for name, row in united.collect():
        found[name].append(row)
    wrong = []
    for name, rows in found.items():
        schema: StructType = frames[name].schema
        texts = [" | ".join(write_row(row, schema)) for row in rows]
        if split_rows("\n".join([" | ".join(schema.names), *texts])) != split_rows(CASES[name].expected):
            wrong.append((name, texts))
    assert not wrong, f"{len(wrong)} of {len(found)}: {wrong[:5]}"


@pytest.mark.parametrize("name", NOT_ON_SPARK)
def test_what_spark_cannot_say_is_refused(name: str, small_jobs: Any) -> None:
    with pytest.raises(CepheidError, match=r"Spark SQL refuses this: \S"):
        start(small_jobs, CASES[name])


def write_row(row: str, schema: Any) -> list[str]:
    """The cells of a JSON row as in golden files."""
    values = json.loads(row)
    return [write_cell(read_value(values[field.name], field.dataType)) for field in schema]


def read_value(value: Any, kind: Any) -> Any:
    from pyspark.sql import types

    if value is None:
        return None
    match kind:
        case types.TimestampType():
            return datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None)
        case types.TimestampNTZType():
            return datetime.fromisoformat(value)
        case types.DateType():
            return datetime.fromisoformat(value).date()
        case types.DecimalType():
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-kind.scale))
        case types.DoubleType() | types.FloatType():
            return float(value)
        case types.DayTimeIntervalType():
            clock = re.search(r"(\d+) (\d+):(\d+):([\d.]+)", value)
            assert clock is not None, value
            days, hours, minutes, seconds = map(float, clock.groups())
            return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        case types.ArrayType():
            return [read_value(item, kind.elementType) for item in value]
    return value


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if is_failure(case)])
def test_data_that_break_a_rule_fail_on_spark(spark: Any, name: str) -> None:
    with pytest.raises((CepheidError, Exception), match=r"AFTER MATCH SKIP|64 bits|a frame of a row pattern"):
        start(spark, CASES[name]).collect()
