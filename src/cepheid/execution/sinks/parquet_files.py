"""Parquet: whole when it is closed (whole_files.py); a result without rows has its schema."""

from __future__ import annotations

from pyarrow.parquet import ParquetWriter

from cepheid.execution.sinks.whole_files import kind_of_whole_files

KIND = kind_of_whole_files("Parquet", (".parquet", ".pq"), ParquetWriter)
