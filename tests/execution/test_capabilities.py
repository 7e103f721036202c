"""What differs between Spark 4.0 and 4.3, asked of each alike."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.runtime_version import VersionError
from pyspark.sql.pandas import types
from pyspark.sql.types import StructType

from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.execution.spark import capabilities

SCHEMA = pa.schema([("at", pa.timestamp("us", tz="UTC")), ("local", pa.timestamp("us")), ("n", pa.int64())])


def test_times_keep_or_lack_their_zone_both_ways() -> None:
    there = capabilities.from_arrow_schema(SCHEMA)
    assert [field.dataType.typeName() for field in there] == ["timestamp", "timestamp_ntz", "long"]
    assert capabilities.to_arrow_schema(there).equals(SCHEMA)


def test_spark_that_asks_for_utc_in_the_older_way_is_asked_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def convert(schema: StructType, timestamp_utc: bool = False) -> Any:
        assert len(schema) == 3
        return SCHEMA if timestamp_utc else None

    schema = capabilities.from_arrow_schema(SCHEMA)
    monkeypatch.setattr(types, "to_arrow_schema", convert)
    assert capabilities.to_arrow_schema(schema) is SCHEMA


def test_protobuf_that_does_not_fit_is_told_with_one_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise VersionError(f"gencode 6.33.5 of {name} runtime 5.29.6")

    capabilities.check_protobuf()
    monkeypatch.setattr(capabilities, "import_module", refuse)
    with pytest.raises(InvalidInput, match=r"gencode 6\.33\.5") as found:
        capabilities.check_protobuf()
    assert "protobuf>=6.33.5" in str(found.value)


def test_client_that_cannot_keep_state_is_refused() -> None:
    with pytest.raises(NotSupportedYet, match="over Spark Connect") as found:
        capabilities.check_stateful(object())
    assert "Spark 4.1 or newer" in str(found.value)
