"""Where changes are merged into, as text: a folder, a table of a DuckDB file, a table of PostgreSQL.

out/jam                                     a folder of Parquet files
duckdb://shop.db#jam                        a table of a file; without # it bears the name of the query
postgresql://user@host/shop#jam
duckdb://shop.db#jam?key=bus,line&bound_s=3600&time=ts     with options, for places where only text can be written
out/jam?key=bus
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from cepheid.errors import InvalidInput, suggest_name
from cepheid.execution.file_names import is_path, locate_path
from cepheid.execution.merging.duckdb_table import DuckDBTable
from cepheid.execution.merging.folder_table import FolderTable
from cepheid.execution.merging.merged_table import MergedTable
from cepheid.execution.merging.postgres_table import PostgresTable

DUCKDB, POSTGRES = "duckdb://", ("postgresql://", "postgres://")
OPTIONS = ("key", "bound_s", "time")


@dataclass(frozen=True, slots=True)
class MergeAddress:
    """place: without table and options.  options: as they were written."""

    place: str
    table: str
    options: dict[str, str]


def read_merge_address(text: str) -> MergeAddress:
    if is_path(text):
        place, _, written = text.partition("?")
        table = ""
    else:
        place, _, fragment = text.partition("#")
        table, _, written = fragment.partition("?")
    options = dict(parse_qsl(written, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            raise InvalidInput(
                f'"{name}" is no option of a table that is merged into', hint=suggest_name(name, OPTIONS)
            )
    return MergeAddress(place, unquote(table), options)


def locate_merge_address(text: str, folder: Path) -> str:
    """The same with a path that starts from the folder."""
    scheme = DUCKDB if text.startswith(DUCKDB) else ""
    if not scheme and not is_path(text):
        return text
    place = read_merge_address(text).place
    located = locate_path(place.removeprefix(scheme), folder)
    return f"{scheme}{located}{text.removeprefix(place)}"


def open_merged_table(address: MergeAddress, table: str, key: tuple[str, ...]) -> MergedTable:
    """table: where the address names none."""
    if address.place.startswith(DUCKDB):
        path = unquote(address.place.removeprefix(DUCKDB))
        return DuckDBTable(locate_path(path), address.table or table, key)
    if address.place.startswith(POSTGRES):
        return PostgresTable(address.place, address.table or table, key)
    if is_path(address.place):
        return FolderTable(locate_path(address.place), key)
    hint = "a folder, duckdb://file.db#table or postgresql://user@host/database#table"
    raise InvalidInput(f'"{address.place.partition("://")[0]}://..." cannot be merged into', hint=hint)


def read_bound(text: str) -> timedelta:
    try:
        return timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        raise InvalidInput(f'bound_s is "{text}"', hint="a number of seconds: bound_s=3600") from None
