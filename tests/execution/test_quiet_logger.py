"""PySpark logs its errors through loggers of its own; what we silence for a moment stays one of them."""

from __future__ import annotations

import logging

import pytest
from pyspark.logger import PySparkLogger

from cepheid.execution.spark.spark_sql import _quiet_logger

NAME = "SQLQueryContextLogger"


def test_logger_that_was_silenced_first_can_log_the_errors_of_spark(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(logging.Logger.manager.loggerDict, NAME, raising=False)  # as in a new process
    with _quiet_logger():
        assert logging.getLogger(NAME).disabled
    PySparkLogger.getLogger(NAME).exception("told", file="", line="", fragment="", errorClass="X")
    assert not logging.getLogger(NAME).disabled
    assert "told" in caplog.text
