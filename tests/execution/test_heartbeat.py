"""`advance`: time goes on though no event says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput

SCHEMA = {"k": "int", "v": "double", "ts": "timestamp"}
WINDOW = "SELECT k, sum(v) AS s FROM e [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k"
CHAIN = (
    "SELECT max(s) AS m FROM (SELECT sum(v) AS s FROM e [RANGE 1 SECOND SLIDE 1 SECOND]) "
    "[RANGE 5 SECONDS SLIDE 5 SECONDS]"
)


def events(*seconds: int) -> pa.Table:
    return pa.table(
        {
            "k": pa.array([1] * len(seconds), pa.int32()),
            "v": [1.0] * len(seconds),
            "ts": pa.array([1_000_000 * second for second in seconds], pa.timestamp("us")),
        }
    )


def test_a_heartbeat_closes_windows() -> None:
    query = cep.open(WINDOW, e=SCHEMA)
    assert not len(query.push(e=events(1, 2)))
    assert not len(query.advance(to=9_999_999))
    assert query.advance(to=datetime(1970, 1, 1, 0, 0, 10, tzinfo=UTC)).to_pylist() == [{"k": 1, "s": 2.0}]
    assert not len(query.finish())


def test_moments_without_a_zone_are_utc_and_others_are_converted() -> None:
    plain, zoned = (cep.open(WINDOW, e=SCHEMA) for _ in range(2))
    plain.push(e=events(1))
    zoned.push(e=events(1))
    assert len(plain.advance(to=datetime(1970, 1, 1, 0, 0, 10))) == 1  # noqa: DTZ001 (that is what is tested)
    assert len(zoned.advance(to=datetime(1970, 1, 1, 2, 0, 10, tzinfo=timezone(timedelta(hours=2))))) == 1


def test_events_before_a_heartbeat_are_late() -> None:
    query = cep.open(WINDOW, e=SCHEMA)
    query.push(e=events(1))
    query.advance(to=15_000_000)
    query.push(e=events(12, 16))
    assert query.counts.late == 1
    assert query.late_events().num_rows == 1
    assert query.finish().to_pylist() == [{"k": 1, "s": 1.0}]


def test_a_heartbeat_goes_through_chains() -> None:
    query = cep.open(CHAIN, e=SCHEMA)
    query.push(e=events(1, 1, 2))
    assert query.advance(to=6_000_000).to_pylist() == [{"m": 2.0}]


def test_a_heartbeat_never_takes_time_back() -> None:
    query = cep.open(WINDOW, e=SCHEMA)
    query.push(e=events(25))
    query.advance(to=1)
    query.push(e=events(24))
    assert query.counts.late == 1


@pytest.mark.parametrize("moment", ["now", 1.5, None, True])
def test_a_wrong_moment_is_refused(moment: object) -> None:
    query = cep.open(WINDOW, e=SCHEMA)
    with pytest.raises(InvalidInput, match="no moment"):
        query.advance(to=moment)
