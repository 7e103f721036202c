"""What users give to queries on Spark by mistake, and what workers find in their data: told in our words."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, MatchFailure
from cepheid.execution.spark.direct_ingest import read_parquet
from cepheid.execution.spark.plain_errors import TellPlainly


@pytest.mark.parametrize("given", ["x", "64", 1.5, True, 0, -1, 10**9])
def test_number_of_key_groups_is_checked(given: Any) -> None:
    with pytest.raises(InvalidInput, match="key_groups is") as told:
        cep.sql("SELECT 1", key_groups=given)
    assert "1 to 32768" in (told.value.hint or "")


@pytest.mark.parametrize("given", ["x", "0", "-3", ""])
def test_number_of_key_groups_in_the_environment_is_checked(given: str) -> None:
    environment = {**os.environ, "CEPHEID_KEY_GROUPS": given}
    done = subprocess.run(
        [sys.executable, "-c", "import cepheid.settings"], env=environment, capture_output=True, text=True, check=False
    )
    assert "error[invalid-input]: CEPHEID_KEY_GROUPS is" in done.stderr


def test_frame_of_pandas_on_spark_is_refused_with_what_to_give() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})()
    with pytest.raises(InvalidInput, match='"ev" is a pandas-on-Spark DataFrame') as told:
        cep.sql("SELECT * FROM ev", ev=frame)
    assert ".to_spark()" in (told.value.hint or "")


def test_late_events_of_what_is_no_session() -> None:
    with pytest.raises(InvalidInput, match="no Spark session"):
        cep.late_events(None, "checkpoint")


def test_times_after_2262_are_read_as_spark_writes_them(tmp_path: Path) -> None:
    moments = [datetime(2026, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]
    table = pa.table({"ts": pa.array(moments, pa.timestamp("us", tz="UTC"))})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    (read,) = read_parquet(str(tmp_path / "t.parquet"), table.schema)
    assert read.equals(table)


def test_what_a_worker_finds_is_told_without_the_way_to_it() -> None:
    def deep(depth: int) -> None:
        if depth == 0:
            raise MatchFailure("told", hint="do this")
        deep(depth - 1)

    with pytest.raises(MatchFailure) as found, TellPlainly():
        deep(20)
    assert "deep" not in "".join(traceback.format_exception(found.value))
    with pytest.raises(ZeroDivisionError) as broken, TellPlainly():
        1 / 0  # noqa: B018 (it is to be raised)
    assert "1 / 0" in "".join(traceback.format_exception(broken.value))
