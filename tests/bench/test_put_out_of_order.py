"""Tables of users put out of order, for their tests."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput
from cepheid.testing import Exponential, Fixed, Outage, Replay, find_most_late, put_out_of_order

START = datetime(2026, 1, 1)  # noqa: DTZ001 (event time without a zone)
TEXT = "SELECT k, count(*) AS c FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k"


def make_table(count: int) -> pa.Table:
    times = [START + timedelta(milliseconds=100 * number) for number in range(count)]
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "k": [number % 3 for number in range(count)]})


def numbers(table: pa.Table) -> list[int]:
    return [round((time - START) / timedelta(milliseconds=100)) for time in table.column("ts").to_pylist()]


def test_rows_come_at_their_time_plus_all_delays() -> None:
    late = put_out_of_order(make_table(5), Replay(delays_ms=(0, 150, 0, 0, 0)), Fixed(delay_ms=7))
    assert numbers(late) == [0, 2, 1, 3, 4]
    assert find_most_late(late) == timedelta(milliseconds=100)
    assert numbers(put_out_of_order(late, Fixed(delay_ms=7))) == [0, 1, 2, 3, 4]
    assert find_most_late(make_table(5)) == timedelta(0)


def test_in_a_fifo_stream_nothing_overtakes() -> None:
    assert numbers(put_out_of_order(make_table(30), Exponential(mean_ms=300), fifo=True)) == list(range(30))
    assert numbers(put_out_of_order(make_table(30), Exponential(mean_ms=300))) != list(range(30))


def test_rows_without_a_time_come_first_and_an_empty_table_stays_empty() -> None:
    table = pa.table({"ts": pa.array([START, None, START + timedelta(seconds=1)], pa.timestamp("us", tz="UTC"))})
    late = put_out_of_order(table, Outage(every_s=1.5, length_s=0.4))
    assert late.column("ts").to_pylist() == [None, *table.column("ts").drop_null().to_pylist()]
    assert len(put_out_of_order(make_table(0), Fixed(delay_ms=1))) == 0
    assert find_most_late(make_table(0)) == timedelta(0)


def test_with_what_was_most_late_as_bound_the_rows_are_those_in_order() -> None:
    table = make_table(200)
    late = put_out_of_order(table, Exponential(mean_ms=400))
    query = cep.open(TEXT, disorder=cep.Disorder(bound=find_most_late(late)), s=table.schema)
    found = pa.concat_tables([query.push(s=late.slice(0, 90)), query.push(s=late.slice(90)), query.finish()])
    assert query.counts.late == 0
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, cep.sql(TEXT, s=table).to_pylist()))


def test_a_column_that_tells_no_time_is_named() -> None:
    with pytest.raises(InvalidInput, match='no column "at" of timestamps'):
        put_out_of_order(make_table(2), Fixed(delay_ms=1), time="at")
