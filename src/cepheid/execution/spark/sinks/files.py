"""Folders of files, by Spark's own sink: exactly once for who reads them with Spark.

The folder has `_spark_metadata`, which says which files count.  A batch that was cut short leaves files that do not;
readers that look at all files of the folder (Arrow, DuckDB, pandas) would take those as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cepheid.execution.file_names import has_ending, is_path, is_store, locate_path
from cepheid.execution.spark.sinks.sink import FileSink, SparkSinkKind


def kind_of_files(
    name: str, form: str, endings: tuple[str, ...], written: str, options: tuple[tuple[str, str], ...] = ()
) -> SparkSinkKind:
    return SparkSinkKind(
        name, written, _ends_with(endings, takes_folders=form == "parquet"), _open_as(form, options), find_target
    )


def find_target(text: str, folder: Path) -> Path | None:
    return locate_path(text, folder) if is_path(text) else None


def _ends_with(endings: tuple[str, ...], takes_folders: bool) -> Callable[[str], bool]:
    def recognises(text: str) -> bool:
        name = text.rstrip("/")
        if ":" in name and not text.startswith("file://") and not is_store(text):
            return False
        return has_ending(name, endings) or (takes_folders and (text.endswith("/") or not Path(name).suffix))

    return recognises


def _open_as(form: str, options: tuple[tuple[str, str], ...]) -> Callable[[str, str, Path], FileSink]:
    def open_folder(text: str, query: str, folder: Path) -> FileSink:  # noqa: ARG001 (Spark names the query itself)
        target = find_target(text, folder.absolute())
        return FileSink(form, text if target is None else str(target), options)

    return open_folder


PARQUET = kind_of_files("Parquet", "parquet", (".parquet", ".pq"), "out/, .parquet")
CSV = kind_of_files("CSV", "csv", (".csv",), ".csv", (("header", "true"),))
JSON = kind_of_files("JSON lines", "json", (".jsonl", ".ndjson", ".json"), ".jsonl, .json")
