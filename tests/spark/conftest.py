"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from cepheid.execution.spark.session import build_session
    from cepheid.kernel.compiled.warm_up import compile_kernels

    compile_kernels()  # once here, instead of in every worker
    folder: Path = tmp_path_factory.mktemp("spark")
    session = build_session(
        "cepheid tests",
        quiet_log=folder / "spark.log",
        spark__driver__extraJavaOptions="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        spark__driver__memory="2g",
        spark__sql__warehouse__dir=str(folder / "warehouse"),
    )
    yield session
    session.stop()


@pytest.fixture
def far_away(spark: Any) -> Iterator[Any]:
    """A session in a zone that is not UTC."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)
