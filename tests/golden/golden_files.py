"""Golden files: cases out of text, tables out of cases, rows as text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cepheid.schema import TYPE_NAMES

HERE = Path(__file__).parent
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (times without a zone, as in the tables)


@dataclass(frozen=True)
class Case:
    """What one case asks; `head` is kept as written."""

    head: str
    settings: dict[str, str]
    query: str
    events: str
    expected: str


def read_cases(path: Path) -> list[Case]:
    return [read_case(part) for part in path.read_text().split("\n====\n")]


def read_case(text: str) -> Case:
    first, *events, expected = [part.strip("\n") for part in f"{text}\n".split("\n----\n")]
    lines = first.splitlines()
    length = next(number for number, line in enumerate(lines) if not line.startswith("#") and ": " not in line)
    settings = dict(line.split(": ", 1) for line in lines[:length] if not line.startswith("#"))
    return Case("\n".join(lines[:length]), settings, "\n".join(lines[length:]), "\n----\n".join(events), expected)


def write_cases(cases: list[Case]) -> str:
    parts = [
        [f"{case.head}\n{case.query}".lstrip(), *([case.events] if case.events else []), case.expected]
        for case in cases
    ]
    return "\n====\n".join("\n----\n".join(part) for part in parts) + "\n"


def is_failure(case: Case) -> bool:
    """Does it expect that the data break a rule of matching?"""
    return case.expected.startswith("error: ")


def list_files(folder: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted((HERE / folder).glob("*.txt"))]


def read_events(text: str) -> dict[str, pa.Table]:
    """Tables, each under a line "name: column type | column type"."""
    tables: dict[str, pa.Table] = {}
    for block in text.split("\n\n"):
        head, *rows = block.splitlines()
        name, columns = head.split(":", 1)
        typed = [column.rsplit(maxsplit=1) for column in columns.split("|")]
        cells = [[cell.strip() for cell in row.split("|")] for row in rows]
        tables[name] = pa.table(
            {
                column.strip(): pa.array([read_cell(row[number], kind) for row in cells], read_type(kind))
                for number, (column, kind) in enumerate(typed)
            }
        )
    return tables


def read_type(kind: str) -> pa.DataType:
    special = {"decimal": pa.decimal128(10, 2), "dictionary": pa.dictionary(pa.int32(), pa.string())}
    return special.get(kind) or TYPE_NAMES[kind]


def read_cell(text: str, kind: str) -> Any:
    if text == "-":
        return None
    match kind:
        case "timestamp":
            return EPOCH + timedelta(seconds=float(text))
        case "date":
            return (EPOCH + timedelta(days=int(text))).date()
        case "bool":
            return text == "true"
        case "decimal":
            return Decimal(text)
        case "double" | "float":
            return float(text)
    return int(text) if "int" in kind else text


def write_rows(table: pa.Table) -> str:
    rows = [table.column_names, *([write_cell(cell) for cell in row.values()] for row in table.to_pylist())]
    widths = [max(len(row[number]) for row in rows) for number in range(table.num_columns)]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def write_cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case datetime():
            return f"{(value - EPOCH).total_seconds():g}"
        case timedelta():
            return f"{value.total_seconds():g} s"
        case pa.MonthDayNano():
            return f"{value.nanoseconds / 1e9:g} s"
    return str(value)


def split_rows(text: str) -> tuple[list[str], Counter[tuple[str, ...]]]:
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return head, Counter(map(tuple, rows))
