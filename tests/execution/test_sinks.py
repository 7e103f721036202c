"""Sinks: what was written is what is read, an empty result has its schema, and no part is taken for a whole."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, UnknownKind
from cepheid.execution.sinks import whole_files
from cepheid.execution.sinks.kinds import SINK_KINDS, find_target, open_sink
from cepheid.execution.sources.kinds import open_source, read_whole

ROWS = pa.table(
    {
        "ts": pa.array([0, 1_500_000, None, 86_400_000_000], pa.timestamp("us")),
        "bus": pa.array([1, None, 3, -4], pa.int32()),
        "delay": pa.array([0.5, -1e300, 0.1, None], pa.float64()),
        "line": pa.array(["a", 'with, comma and "quotes"', "ü", "two\twords"]),
        "late": pa.array([True, False, None, True]),
    }
)
FILES = ["rows.parquet", "rows.pq", "rows.csv", "rows.jsonl", "rows.ndjson", "rows.json", "rows.arrow", "rows.feather"]
WHOLE = ["rows.parquet", "rows.arrow"]
GROWING = ["rows.csv", "rows.jsonl"]


def read_back(path: Path, schema: pa.Schema = ROWS.schema) -> pa.Table:
    return read_whole(open_source(path, name="rows", schema=schema), "rows")


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("name", FILES)
def test_what_is_written_is_what_is_read(tmp_path: Path, name: str, size: int) -> None:
    sink = open_sink(str(tmp_path / "out" / name), name="jam", schema=ROWS.schema)
    for begin in range(0, len(ROWS), size):
        sink.write(ROWS.slice(begin, size))
    sink.write(ROWS.slice(0, 0))
    sink.close()
    sink.close()  # once more does no harm
    assert read_back(tmp_path / "out" / name).equals(ROWS)
    assert left_in(tmp_path / "out") == [name]


@pytest.mark.parametrize("name", FILES)
def test_the_schema_of_the_first_table_will_do(tmp_path: Path, name: str) -> None:
    sink = open_sink(name, name="jam", folder=tmp_path)
    sink.write(ROWS)
    sink.close()
    assert read_back(tmp_path / name).equals(ROWS)


@pytest.mark.parametrize("known", ["at the start", "by an empty table"])
@pytest.mark.parametrize("name", FILES)
def test_a_result_without_rows_has_its_schema(tmp_path: Path, name: str, known: str) -> None:
    sink = open_sink(tmp_path / name, name="jam", schema=ROWS.schema if known == "at the start" else None)
    if known != "at the start":
        sink.write(ROWS.slice(0, 0))
    sink.close()
    if name.endswith(("jsonl", "ndjson", "json")):
        assert (tmp_path / name).read_bytes() == b"", "lines cannot show columns"
        return
    found = open_source(tmp_path / name, name="rows")
    assert found.schema.names == ROWS.schema.names
    assert list(found.read()) == []
    if not name.endswith("csv"):
        assert found.schema.equals(ROWS.schema)


@pytest.mark.parametrize("name", FILES)
def test_without_any_schema_there_is_no_file(tmp_path: Path, name: str) -> None:
    open_sink(tmp_path / name, name="jam").close()
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_file_appears_when_it_is_closed_and_replaces_the_old_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("an earlier result")
    sink = open_sink(tmp_path / name, name="jam", schema=ROWS.schema)
    sink.write(ROWS)
    assert (tmp_path / name).read_text() == "an earlier result"
    hidden = [path for path in left_in(tmp_path) if path != name]
    assert len(hidden) == 1
    assert hidden[0].startswith("."), "not found by patterns and folders"
    with pytest.raises(InvalidInput, match="no file fits"):
        open_source(tmp_path / "*.part", name="rows")
    sink.close()
    assert left_in(tmp_path) == [name]
    assert read_back(tmp_path / name).equals(ROWS)


@pytest.mark.parametrize("name", WHOLE)
def test_a_sink_that_is_dropped_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("an earlier result")
    sink = open_sink(tmp_path / name, name="jam", schema=ROWS.schema)
    sink.write(ROWS)
    del sink
    gc.collect()
    assert left_in(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "an earlier result"


@pytest.mark.parametrize("name", [*WHOLE, *GROWING])
def test_a_process_that_ends_early_leaves_no_part_that_looks_whole(tmp_path: Path, name: str) -> None:
    script = f"""
import pyarrow as pa
from cepheid.execution.sinks.kinds import open_sink
rows = pa.table({{"a": [1, 2], "b": ["x", "y"]}})
sink = open_sink({name!r}, name="jam", schema=rows.schema)
sink.write(rows)
raise SystemExit(3)
"""
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 3, found.stderr
    assert "Exception ignored" not in found.stderr
    if name in GROWING:
        written = read_back(tmp_path / name, pa.schema([("a", pa.int64()), ("b", pa.string())]))
        assert written.to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "all lines of what was written"
    else:
        assert left_in(tmp_path) == []


def test_after_a_failure_closing_does_not_pass_a_part_for_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "GROUP_ROWS", 2)

    class Full:
        """A disk that is full after the first group."""

        def __init__(self, file: object, schema: pa.Schema) -> None:
            self.writer, self.groups = pq.ParquetWriter(file, schema), 0

        def write_table(self, table: pa.Table) -> None:
            self.groups += 1
            if self.groups > 1:
                raise OSError(28, "No space left on device")
            self.writer.write_table(table)

        def close(self) -> None:
            self.writer.close()

    path = tmp_path / "rows.parquet"
    sink = whole_files.WholeFileSink(path, "jam", ROWS.schema, Full)
    sink.write(ROWS.slice(0, 2))
    with pytest.raises(InvalidInput, match="No space left on device") as problem:
        sink.write(ROWS.slice(2, 2))
    assert problem.value.hint
    sink.close()
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("name", GROWING)
def test_lines_can_be_read_while_they_are_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("an earlier result")
    sink = open_sink(path, name="jam", schema=ROWS.schema)
    assert path.read_text() == "an earlier result", "a query that fails at the start destroys nothing"
    for count in (1, 2, 3, 4):
        sink.write(ROWS.slice(count - 1, 1))
        assert path.read_bytes().endswith(b"\n")
        assert read_back(path).equals(ROWS.slice(0, count))
    sink.close()
    assert read_back(path).equals(ROWS)


def test_small_tables_become_row_groups_of_a_good_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_files, "GROUP_ROWS", 1000)
    sink = open_sink(tmp_path / "rows.parquet", name="jam", schema=pa.schema([("n", pa.int64())]))
    for number in range(0, 2500, 10):
        sink.write(pa.table({"n": list(range(number, number + 10))}))
    sink.close()
    metadata = pq.read_metadata(tmp_path / "rows.parquet")
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [1000, 1000, 500]
    assert pq.read_table(tmp_path / "rows.parquet").column("n").to_pylist() == list(range(2500))


def test_dictionaries_that_differ_can_be_written(tmp_path: Path) -> None:
    parts = [pa.table({"line": pa.array(values).dictionary_encode()}) for values in (["a", "b"], ["c", "a"])]
    for name in ("rows.parquet", "rows.arrow", "rows.csv", "rows.jsonl"):
        sink = open_sink(tmp_path / name, name="jam")
        for part in parts:
            sink.write(part)
        sink.close()
        assert read_back(tmp_path / name, pa.schema([("line", pa.string())])).column("line").to_pylist() == list("abca")
    assert feather.read_table(tmp_path / "rows.arrow").schema == parts[0].schema


def test_json_lines_hold_what_csv_cannot(tmp_path: Path) -> None:
    rows = pa.table({"all": [[1, 2], []], "one": [{"x": 1}, None], "price": [Decimal("1.50"), None]})
    sink = open_sink(tmp_path / "rows.jsonl", name="jam")
    sink.write(rows)
    sink.close()
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert lines == [
        {"all": [1, 2], "one": {"x": 1}, "price": "1.50"},
        {"all": [], "one": None, "price": None},
    ]
    (tmp_path / "rows.csv").write_text("an earlier result")
    csv = open_sink(tmp_path / "rows.csv", name="jam")
    with pytest.raises(InvalidInput, match=r'rows\.csv" cannot be written: .*"all", a list') as problem:
        csv.write(rows)
    assert ".jsonl" in (problem.value.hint or "")
    with pytest.raises(InvalidInput, match='"all", a list'):
        open_sink(tmp_path / "rows.csv", name="jam", schema=rows.schema)
    assert (tmp_path / "rows.csv").read_text() == "an earlier result"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
def test_times_in_json_are_those_that_python_shows(tmp_path: Path, unit: str, zone: str | None) -> None:
    times = [0, 1, -1, 1_500, 999_999, 1_000_000, 253_402_300_799, None]
    if zone is not None and unit == "s":
        times.remove(253_402_300_799)  # the last second of year 9999 is in the next year there
    rows = pa.table({"ts": pa.array(times, pa.timestamp(unit, zone))})
    sink = open_sink(tmp_path / "rows.jsonl", name="jam")
    sink.write(rows)
    sink.close()
    shown = [json.loads(line)["ts"] for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert shown == [None if time is None else str(time) for time in rows.column("ts").to_pylist()]


def test_types_that_a_file_cannot_hold_are_told(tmp_path: Path) -> None:
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    with pytest.raises(InvalidInput, match="cannot be written") as problem:
        open_sink(tmp_path / "rows.parquet", name="jam", schema=pa.schema([("u", union.type)]))
    assert "cast" in (problem.value.hint or "")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("name", FILES)
def test_tables_of_another_schema_are_refused(tmp_path: Path, name: str) -> None:
    sink = open_sink(tmp_path / name, name="jam", schema=ROWS.schema)
    with pytest.raises(InvalidInput, match='"jam" lacks the column "ts"'):
        sink.write(pa.table({"bus": [1]}))
    sink.write(ROWS)
    sink.close()
    assert read_back(tmp_path / name).equals(ROWS)


def test_targets_that_cannot_be_written_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.parquet").mkdir()
    for name in ("file/rows.parquet", "file/rows.csv", "folder.parquet", f"{'x' * 5000}.csv"):
        with pytest.raises(InvalidInput, match="cannot be written") as problem:
            open_sink(tmp_path / name, name="jam")
        assert problem.value.hint


# --- the terminal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["stdout:jsonl", "-"])
def test_lines_on_the_terminal(capsys: pytest.CaptureFixture[str], text: str) -> None:
    sink = open_sink(text, name="jam", folder=Path("/somewhere"))
    sink.write(ROWS.slice(0, 1))
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"ts": "1970-01-01 00:00:00", "bus": 1, "delay": 0.5, "line": "a", "late": True}
    sink.close()
    assert capsys.readouterr().out == ""


def test_a_table_on_the_terminal_counts_all_and_shows_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    sink = open_sink("stdout:table", name="jam", schema=pa.schema([("n", pa.int64())]))
    for number in range(0, 60, 15):
        sink.write(pa.table({"n": list(range(1000 + number, 1015 + number))}))
    assert capsys.readouterr().out == ""
    sink.close()
    shown = capsys.readouterr().out
    assert "1039" in shown
    assert "1040" not in shown
    assert shown.endswith("\n60 rows (40 shown, stdout:jsonl gives all)\n")
    empty = open_sink("stdout:table", name="jam", schema=ROWS.schema)
    empty.close()
    shown = capsys.readouterr().out
    assert "delay" in shown
    assert shown.endswith("\n0 rows\n")


# --- functions, lists, kinds of users ---------------------------------------------------------------------


def test_a_function_gets_each_table_that_has_rows() -> None:
    seen: list[int] = []
    sink = open_sink(lambda table: seen.append(len(table)), name="jam", schema=ROWS.schema)
    sink.write(ROWS)
    sink.write(ROWS.slice(0, 0))
    sink.write(ROWS.slice(0, 1))
    sink.close()
    assert seen == [4, 1]


def test_a_list_collects_tables_and_has_at_least_the_schema() -> None:
    collected: list[pa.Table] = []
    sink = open_sink(collected, name="jam", schema=ROWS.schema)
    sink.write(ROWS.slice(0, 0))
    sink.write(ROWS.slice(0, 3))
    sink.write(ROWS.slice(3))
    sink.close()
    assert [len(table) for table in collected] == [3, 1]
    assert pa.concat_tables(collected).equals(ROWS)
    empty: list[pa.Table] = []
    sink = open_sink(empty, name="jam", schema=ROWS.schema)
    sink.close()
    sink.close()
    assert [table.schema for table in empty] == [ROWS.schema]


def test_unknown_kinds_are_told_with_the_known_ones(tmp_path: Path) -> None:
    for given in (str(tmp_path / "rows.xlsx"), tmp_path / "rows.csv.gz", "amqp://host/queue", 3, None, {}, list):
        with pytest.raises(UnknownKind, match=r'the sink of "jam" is .* of no known kind') as problem:
            open_sink(given, name="jam")
        for kind in SINK_KINDS:
            assert kind.name in (problem.value.hint or "")
    with (tmp_path / "plain").open("w") as file, pytest.raises(UnknownKind, match="TextIOWrapper"):
        open_sink(file, name="jam")


def test_the_target_of_a_text_is_found_without_opening_it(tmp_path: Path) -> None:
    assert find_target("out/rows.csv", name="jam", folder=tmp_path) == tmp_path / "out" / "rows.csv"
    assert find_target("stdout:table", name="jam", folder=tmp_path) is None
    with pytest.raises(UnknownKind):
        find_target("rows.doc", name="jam")
    assert left_in(tmp_path) == []


class Shelf:
    """What a user would write."""

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []
        self.closed = False

    def write(self, table: pa.Table) -> None:
        self.rows += table.to_pylist()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def own_kinds() -> Iterator[None]:
    before = list(SINK_KINDS)
    yield
    SINK_KINDS[:] = before


@pytest.mark.usefixtures("own_kinds")
def test_users_add_kinds_of_their_own() -> None:
    shelves: dict[str, Shelf] = {}

    def recognises(given: object) -> bool:
        return isinstance(given, str) and given.startswith("shelf://")

    def open_shelf(text: str, query: str, schema: pa.Schema | None) -> Shelf:
        assert schema == ROWS.schema
        return shelves.setdefault(f"{text} {query}", Shelf())

    cep.register_sink("shelf", recognises, open_shelf)
    sink = open_sink("shelf://top", name="jam", schema=ROWS.schema, folder=Path("/somewhere"))
    sink.write(ROWS)
    sink.close()
    assert shelves["shelf://top jam"].rows == ROWS.to_pylist()
    assert shelves["shelf://top jam"].closed
    assert find_target("shelf://top", name="jam") is None
    with pytest.raises(InvalidInput, match='called "shelf" already'):
        cep.register_sink("shelf", recognises, open_shelf)
    cep.register_sink("wrong", lambda given: given == "wrong", lambda _, __, ___: 3)  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidInput, match='of kind "wrong" is a int, no Sink'):
        open_sink("wrong", name="jam")


def test_a_sink_is_taken_as_it_is() -> None:
    shelf = Shelf()
    assert open_sink(shelf, name="jam") is shelf
