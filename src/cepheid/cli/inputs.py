"""Text of queries and tables from files, as given on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cepheid.errors import InvalidInput

READERS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".arrow": "feather", ".feather": "feather"}


def read_query(text: str) -> str:
    """The text itself, or the content of a file that ends in .sql."""
    if not text.rstrip().lower().endswith(".sql"):
        return text
    path = Path(text)
    if not path.exists():
        raise InvalidInput(f'the file "{text}" does not exist', hint=f"paths start from {Path.cwd()}")
    return path.read_text()


def read_tables(given: list[str]) -> dict[str, Any]:
    """NAME=FILE pairs as Arrow tables."""
    tables = {}
    for pair in given:
        name, equals, path = pair.partition("=")
        if not equals or not name:
            raise InvalidInput(f'"{pair}" is not of the form NAME=FILE', hint="for instance buses=feed.parquet")
        tables[name] = read_file(Path(path))
    return tables


def read_file(path: Path) -> Any:
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.json
    import pyarrow.parquet

    if not path.exists():
        raise InvalidInput(f'the file "{path}" does not exist', hint=f"paths start from {Path.cwd()}")
    readers = {
        "parquet": pyarrow.parquet.read_table,
        "csv": pyarrow.csv.read_csv,
        "json": pyarrow.json.read_json,
        "feather": pyarrow.feather.read_table,
    }
    kind = "parquet" if path.is_dir() else READERS.get(path.suffix.lower())
    if kind is None:
        raise InvalidInput(f'"{path}" is of no known kind', hint=f"known endings: {', '.join(READERS)}")
    try:
        return readers[kind](path)
    except (pyarrow.ArrowInvalid, OSError) as problem:
        hint = f"it was read as {kind}; if it is something else, give it that ending"
        raise InvalidInput(f'"{path}" cannot be read: {problem}', hint=hint) from None
