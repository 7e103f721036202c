"""Records that are JSON objects: what fits, what does not, and that neighbours make no difference."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from cepheid.errors import NotSupportedYet
from cepheid.execution.spark.json_records import JsonRecords

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("a", pa.float64()),
        ("n", pa.string()),
        ("d", pa.date32()),
    ]
)
FITS = [
    (b"{}", {}),
    (b' {"id":\n1}\n', {"id": 1}),
    (b'{"x": null, "id": null}', {}),
    (b'{"n": "} {"}', {"n": "} {"}),
    (b'{"a": 5}', {"a": 5.0}),
    (b'{"d": "2026-01-02"}', {"d": date(2026, 1, 2)}),
    (b'{"ts": "2026-01-01T00:00:00.123456789Z"}', {"ts": datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)}),
    (b'{"ts": "2026-01-01 02:00:00+02:00"}', {"ts": datetime(2026, 1, 1, tzinfo=UTC)}),
    (b'{"ts": "2026-01-01T01:00:00"}', {"ts": datetime(2026, 1, 1, tzinfo=UTC)}),  # in the zone that is given
    (b'{"ts": "2026-10-25T02:30:00"}', {"ts": datetime(2026, 10, 25, 0, 30, tzinfo=UTC)}),  # twice: the earlier one
]
MISFITS = [
    (None, "it has no value"),
    (b"", "it is no JSON object"),
    (b"null", "it is no JSON object"),
    (b"[1]", "it is no JSON object"),
    (b'{"id": 1', "it is no JSON object"),
    (b'{"id": 1}{"id": 2}', "it is no JSON object"),
    (b'{"id": 1} null {"id": 2}', "it is no JSON object"),
    (b'{"id": 1.5}', '"id" is 1.5, no int32'),
    (b'{"id": 3000000000}', '"id" is 3000000000, no int32'),
    (b'{"id": "1"}', '"id" is "1", no int32'),
    (b'{"n": 1}', '"n" is 1, no string'),
    (b'{"n": "\xff"}', '"n" is "\udcff", no string'),
    (b'{"ts": 1767225600}', '"ts" is 1767225600, no timestamp'),
    (b'{"ts": "soon"}', '"ts" is "soon", no timestamp'),
    (b'{"ts": "2026-03-29T02:30:00"}', '"ts" is "2026-03-29T02:30:00", no timestamp'),  # the clock skips it
    (b'{"d": "2026-1-1"}', '"d" is "2026-1-1", no date'),
]


@pytest.mark.parametrize(("record", "values"), FITS, ids=lambda value: str(value)[:40])
def test_what_fits(record: bytes, values: dict[str, object]) -> None:
    parsed = JsonRecords(SCHEMA, "Europe/Berlin").parse([record])
    assert parsed.misfits == []
    assert parsed.rows.to_pylist() == [{**dict.fromkeys(SCHEMA.names), **values}]


@pytest.mark.parametrize(("record", "reason"), MISFITS, ids=lambda value: str(value)[:40])
def test_what_does_not_fit_and_why(record: bytes | None, reason: str) -> None:
    parser = JsonRecords(SCHEMA, "Europe/Berlin")
    assert parser.parse([record]).misfits == [0]
    assert parser.explain(record) == reason


def test_neighbours_make_no_difference() -> None:
    """Whatever is broken in a record, it is judged, and read, as if it were alone."""
    draw = random.Random(3)
    parser = JsonRecords(SCHEMA)
    whole = json.dumps({"id": 12, "ts": "2026-01-01T00:00:05Z", "a": 1.25, "n": "a}b", "o": {"p": [1, None]}}).encode()
    pieces = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"1", b"\n", b"\x00", b"\xff", b" ", b"\\", b"e9"]

    def break_it() -> bytes:
        record = whole
        for _ in range(draw.randrange(3)):
            place = draw.randrange(len(record) + 1)
            record = record[:place] + draw.choice(pieces) + record[place + draw.randrange(3) :]
        return record

    records = [break_it() for _ in range(400)]
    together = parser.parse(records)
    alone = [parser.parse([record]) for record in records]
    assert together.misfits == [place for place, each in enumerate(alone) if each.misfits]
    assert 50 < len(together.misfits) < 350
    assert together.rows.equals(pa.concat_tables([each.rows for each in alone]))


def test_bytes_and_times_inside_of_others_are_refused_before_anything_runs() -> None:
    for kind in (pa.binary(), pa.struct([("at", pa.timestamp("us"))]), pa.list_(pa.date32())):
        with pytest.raises(NotSupportedYet, match='column "x"'):
            JsonRecords(pa.schema([("x", kind)]))
