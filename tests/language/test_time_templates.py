"""to_char: every word of a template means what Trino and PostgreSQL mean by it, and what means nothing is refused."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest

import cepheid as cep

NIGHT = pa.table({"ts": [datetime(2026, 3, 4, 0, 5, 7, 89)]})  # noqa: DTZ001 (a time without a zone)


@pytest.mark.parametrize(
    ("template", "written"),
    [
        ("HH12:MI", "12:05"),
        ("hh:mi:ss", "12:05:07"),
        ("HH24:MI:SS.US", "00:05:07.000089"),
        ("HH12:MI AM", "12:05 AM"),
        ("YYYY-MM-DD", "2026-03-04"),
        ("yy/mm/dd hh24", "26/03/04 00"),
        ("Dy, FMDD Mon YYYY", "Wed, 4 Mar 2026"),
        ("FMDay FMMonth DDD", "Wednesday March 063"),
        ('YYYY"T"HH24 100%'.replace("100", ""), "2026T00 %"),
    ],
)
def test_template(template: str, written: str) -> None:
    for text in (
        f"SELECT to_char(ts, '{template}') AS x FROM s",
        f"SELECT x FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES to_char(a.ts, '{template}') AS x PATTERN (a))",
    ):
        assert cep.sql(text, s=NIGHT).column("x").to_pylist() == [written]


@pytest.mark.parametrize("template", ["'Month'", "'MON'", "'YYYYTHH'", "'999'", "'hh:mi am'", "s", "NULL"])
def test_what_it_cannot_write_is_refused(template: str) -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.sql(f"SELECT to_char(ts, {template}) AS x FROM s", s=NIGHT)
    assert caught.value.code == "syntax"
    assert "to_char" in str(caught.value)
