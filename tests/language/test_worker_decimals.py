"""Workers compute the whole number of a decimal's last digits as Spark does, and no other cast to BIGINT."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cepheid.language.expressions.decimals import whole_value
from cepheid.language.expressions.worker_sql import type_in_worker
from cepheid.language.relations.sql_values import read_condition
from cepheid.scalars.value import Column

SCHEMA = pa.schema([("p", pa.decimal128(10, 2)), ("w", pa.decimal128(20, 2)), ("d", pa.float64())])


def test_the_whole_number_of_a_decimal_may_be_computed_by_workers() -> None:
    value = whole_value(Column("p"), SCHEMA.field("p").type)
    assert type_in_worker(value, SCHEMA, ansi=True) == pa.int64()
    assert type_in_worker(value, SCHEMA, ansi=False) == pa.int64()


@pytest.mark.parametrize("text", ["CAST(p * 10 AS BIGINT)", "CAST(w * 100 AS BIGINT)", "CAST(d * 100 AS BIGINT)"])
def test_other_casts_are_left_to_spark(text: str) -> None:
    value = read_condition(text)
    assert value is not None
    assert type_in_worker(value, SCHEMA, ansi=True) is None
