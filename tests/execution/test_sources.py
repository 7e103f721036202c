"""Sources: what is recognised, that reading in pieces is reading whole, and what is told of bad files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, UnknownKind
from cepheid.execution.sources import csv_files, json_lines
from cepheid.execution.sources.kinds import SOURCE_KINDS, open_source, read_whole
from cepheid.execution.sources.source import Source

COUNT = 1000
SECOND = 1_000_000


def make_events(count: int = COUNT, first: int = 0) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "ts": pa.array([number * SECOND for number in numbers], pa.timestamp("us")).cast(pa.timestamp("s")),
            "bus": pa.array([number % 7 for number in numbers], pa.int64()),
            "delay": pa.array([None if number % 11 == 3 else number / 4 for number in numbers], pa.float64()),
            "line": pa.array([f"line {number % 3}" for number in numbers]),
        }
    )


EVENTS = make_events()


def write_csv(table: pa.Table, path: Path) -> None:
    with pa.output_stream(path) as stream:  # compressed as its name says
        csv.write_csv(table, stream)


def write_json(table: pa.Table, path: Path) -> None:
    with pa.output_stream(path) as stream:
        for row in table.to_pylist():
            stream.write(f"{json.dumps(row, default=str)}\n".encode())


def write_arrow_stream(table: pa.Table, path: Path) -> None:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=170)


def write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=170, store_schema=True)


def write_feather(table: pa.Table, path: Path) -> None:
    feather.write_feather(table, path, chunksize=170)


WRITERS = {
    "feed.parquet": write_parquet,
    "feed.pq": write_parquet,
    "FEED.PARQUET": write_parquet,
    "feed.csv": write_csv,
    "feed.csv.gz": write_csv,
    "feed.csv.bz2": write_csv,
    "feed.csv.zst": write_csv,
    "feed.csv.lz4": write_csv,
    "feed.jsonl": write_json,
    "feed.ndjson": write_json,
    "feed.json": write_json,
    "feed.jsonl.gz": write_json,
    "feed.arrow": write_feather,
    "feed.feather": write_feather,
    "feed.arrows": write_arrow_stream,
    "stream.arrow": write_arrow_stream,
}


@pytest.fixture(params=WRITERS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    WRITERS[request.param](EVENTS, path)
    return path


def read_all(source: Source, rows: int) -> list[pa.Table]:
    return list(source.read(rows))


def times_in_seconds(table: pa.Table) -> pa.Table:
    """Parquet has no seconds: what was written as such is read as milliseconds."""
    return table.set_column(0, "ts", table.column("ts").cast(pa.timestamp("s")))


# --- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 7, 170, 999, 1000, 5000])
def test_a_file_in_pieces_is_the_file_whole(written: Path, rows: int) -> None:
    source = open_source(str(written), name="buses")
    assert source.is_finite
    pieces = read_all(source, rows)
    assert [len(piece) for piece in pieces[:-1]] == [rows] * (len(pieces) - 1)
    assert 0 < len(pieces[-1]) <= rows
    assert all(piece.schema.equals(source.schema) for piece in pieces)
    whole = read_whole(source, "buses")
    assert pa.concat_tables(pieces).equals(whole)
    assert times_in_seconds(whole).equals(EVENTS)


def test_the_schema_needs_a_first_piece_only(tmp_path: Path) -> None:
    """Rows further down may be anything."""
    path = tmp_path / "feed.csv"
    rows = (csv_files.SAMPLE_BYTES // 8) * "1,22222\n"
    path.write_text(f"id,size\n{rows}this is no row at all\n")
    assert open_source(path, name="buses").schema.names == ["id", "size"]


@pytest.mark.parametrize("name", ["feed.parquet", "folder", "feed.csv", "feed.jsonl", "feed.arrow"])
def test_a_large_file_is_read_with_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for module in (csv_files, json_lines):  # blocks small beside what is read
        monkeypatch.setattr(module, "SAMPLE_BYTES", 1 << 18)
        monkeypatch.setattr(module, "BLOCK_BYTES", 1 << 18)
    numbers = np.random.default_rng(7).random((4, 1_000_000))  # cannot be compressed
    many = pa.table(dict(zip("abcd", numbers, strict=True)))
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        pq.write_table(many, path / "part-0", row_group_size=10_000)
    elif name == "feed.jsonl":
        path.write_text("".join(f'{{"a": {a}, "b": {b}, "c": 0.5, "d": 0.25}}\n' for a, b in numbers[:2].T))
    elif name == "feed.parquet":
        pq.write_table(many, path, row_group_size=10_000)
    else:
        WRITERS[name](many, path)
    size = many.nbytes
    del many
    source = open_source(path, name="buses")
    assert len(source.schema) == 4
    before, most, count = pa.total_allocated_bytes(), 0, 0
    for table in source.read(10_000):
        most = max(most, pa.total_allocated_bytes() - before)
        count += len(table)
    assert count == 1_000_000
    assert most < size / 2, "Arrow parses some blocks of text ahead, however long the file is"


@pytest.mark.parametrize("pattern", ["day-*.csv", "*.csv", "day-?.csv", "**/day-*.csv", "[d]ay-*.csv", "day-*"])
def test_files_of_a_pattern_are_read_in_the_order_of_their_names(tmp_path: Path, pattern: str) -> None:
    for number in (2, 0, 3, 1):
        write_csv(make_events(10, number * 10), tmp_path / f"day-{number}.csv")
    (tmp_path / ".day-9.csv").write_text("being written")
    source = open_source(str(tmp_path / pattern), name="buses")
    assert pa.concat_tables(source.read(7)).column("ts").equals(make_events(40).column("ts"))
    assert [len(piece) for piece in source.read(7)] == [7, 7, 7, 7, 7, 5]


def test_a_name_with_brackets_is_no_pattern_if_there_is_such_a_file(tmp_path: Path) -> None:
    write_csv(EVENTS, tmp_path / "feed[1].csv")
    assert read_whole(open_source(tmp_path / "feed[1].csv", name="buses"), "buses").equals(EVENTS)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_a_folder_is_all_its_files(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / f"feed{ending}"  # as Spark calls it
    (folder / "below").mkdir(parents=True)
    for number, name in enumerate(("a", "b", "below/c")):
        WRITERS[f"feed{ending}"](make_events(10, number * 10), folder / f"{name}{ending}")
    (folder / "_SUCCESS").touch()
    (folder / f".d{ending}.part").write_text("being written")
    source = open_source(str(folder), name="buses")
    assert times_in_seconds(pa.concat_tables(source.read(4))).equals(make_events(30))
    assert times_in_seconds(read_whole(source, "buses")).equals(make_events(30))


def test_a_parquet_folder_is_read_as_before_whatever_its_files_are_called(tmp_path: Path) -> None:
    for bus in (1, 2):
        (tmp_path / f"bus={bus}").mkdir()
        write_parquet(make_events(10, bus * 10).drop(["bus"]), tmp_path / f"bus={bus}" / "part-0")
    source = open_source(tmp_path, name="buses")
    whole = read_whole(source, "buses")
    assert whole.equals(pq.read_table(tmp_path))
    assert whole.column("bus").to_pylist() == [1] * 10 + [2] * 10
    assert pa.concat_tables(source.read(3)).to_pylist() == whole.to_pylist()


def test_paths_start_from_the_folder_that_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(EVENTS, tmp_path / "feed.csv")
    for text, folder in (("feed.csv", tmp_path), (f"file://{tmp_path}/feed.csv", None), ("~/feed.csv", None)):
        monkeypatch.setenv("HOME", str(tmp_path))
        assert read_whole(open_source(text, name="buses", folder=folder), "buses").equals(EVENTS)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_the_zone_of_the_machine_changes_nothing(tmp_path: Path, zone: str) -> None:
    """Also in the hours that clocks leave out or have twice."""
    times = ["2026-03-29 02:30:00", "2026-10-25 02:30:00", "2026-03-08 02:30:00", "2026-11-01 01:30:00"]
    (tmp_path / "a.csv").write_text("ts,at\n" + "".join(f"{time},{time}Z\n" for time in times))
    (tmp_path / "a.jsonl").write_text("".join(f'{{"ts": "{time}"}}\n' for time in times))
    write_parquet(pa.table({"ts": [datetime.fromisoformat(time) for time in times]}), tmp_path / "a.parquet")
    script = """
import sys
from cepheid.execution.sinks.kinds import open_sink
from cepheid.execution.sources.kinds import open_source
for name in ("a.csv", "a.jsonl", "a.parquet"):
    source = open_source(name, name="s")
    sink = open_sink("stdout:jsonl", name="q")
    for table in source.read(1):
        sink.write(table)
    copy = open_sink("copy.csv", name="q", schema=source.schema)
    copy.write(next(source.read()))
    copy.close()
    print(source.schema.field("ts").type, open("copy.csv").read())
"""
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert [json.loads(line)["ts"] for line in lines if line.startswith("{")] == times * 3
    assert json.loads(lines[0])["at"] == "2026-03-29 02:30:00+00:00"
    assert f"{times[0]},{times[0]}Z" in lines, "CSV to CSV, as it was"


# --- types that are guessed -------------------------------------------------------------------------------


def test_times_in_text_are_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "feed.csv"
    path.write_text("a,b,c,d\n2026-01-01 00:00:00,2026-01-01T00:00:00.5,2026-01-01,2026-01-01T00:00:00Z\n")
    kinds = [pa.timestamp("s"), pa.timestamp("ns"), pa.date32(), pa.timestamp("s", "UTC")]
    source = open_source(path, name="buses")
    assert source.schema.types == kinds
    assert next(source.read()).schema.types == kinds == read_whole(source, "buses").schema.types


def test_times_in_json_are_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "feed.jsonl"
    rows = [
        {
            "a": "2026-01-01 00:00:00",
            "b": "2026-01-01T00:00:00.123Z",
            "c": "2026-01-01 00:00:00.5",
            "d": "0.5",
            "e": None,
        },
        {"a": "2026-01-01 00:00:01", "b": "2026-01-01T02:00:00+02:00", "c": "2026-01-01 00:00:00", "d": "x", "e": None},
        {"a": None, "b": None, "c": None, "d": None, "e": "2026-01-01 00:00:00.25"},
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = open_source(path, name="buses")
    second, fraction = pa.timestamp("s"), pa.timestamp("ns")
    assert source.schema.types == [second, fraction, fraction, pa.string(), fraction]
    whole = read_whole(source, "buses")
    assert pa.concat_tables(source.read(1)).equals(whole)
    assert [str(value) for value in whole.column("b").to_pylist()] == [
        "2026-01-01 00:00:00.123000",
        "2026-01-01 00:00:00",
        "None",
    ]
    path.write_text('{"mixed": "2026-01-01 00:00:00.5"}\n{"mixed": "2026-01-01 00:00:00.5Z"}\n')
    assert open_source(path, name="buses").schema.types == [pa.string()], "nobody knows how they compare"


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (csv_files, json_lines):
        monkeypatch.setattr(module, "SAMPLE_BYTES", 64)
        monkeypatch.setattr(module, "BLOCK_BYTES", 64)


SURPRISES = {
    "feed.csv": ("a,b\n" + "1,x\n" * 100, "2.5,y\n", "2.5"),
    "feed.jsonl": ('{"a": 1, "b": "x"}\n' * 100, '{"a": 2.5, "b": "y"}\n', "2.5"),
    "more.jsonl": ('{"a": 1, "b": "x"}\n' * 100, '{"a": 2, "b": "y", "c": 3}\n', "unexpected field"),
    "null.csv": ("a,b\n" + ",x\n" * 100, "2,y\n", "2"),
    "null.jsonl": ('{"a": null, "b": "x"}\n' * 100, '{"a": 2, "b": "y"}\n', "changed from null to number"),
    "time.jsonl": (
        '{"a": "2026-01-01 00:00:00", "b": "x"}\n' * 100,
        '{"a": "2026-01-01 00:00:00.5", "b": "y"}\n',
        "00:00:00.5",
    ),
    "text.jsonl": (
        '{"a": "2026-01-01 00:00:00.5", "b": "x"}\n' * 100,
        '{"a": "soon", "b": "y"}\n',
        "soon",
    ),
    "time.csv": ("a,b\n" + "2026-01-01 00:00:00,x\n" * 100, "2026-01-01 00:00:00.5,y\n", "00:00:00.5"),
}


@pytest.mark.usefixtures("small_samples")
def test_lines_inside_of_values_are_no_ends_of_rows(tmp_path: Path) -> None:
    rows = pa.table({"n": list(range(200)), "text": [f"line\n{number},\n" * (number % 3) for number in range(200)]})
    write_csv(rows, tmp_path / "feed.csv")
    source = open_source(tmp_path / "feed.csv", name="rows")
    assert pa.concat_tables(source.read(7)).equals(rows)
    assert read_whole(source, "rows").equals(rows)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("name", SURPRISES)
def test_a_value_that_does_not_fit_the_first_is_told_in_pieces_and_taken_whole(tmp_path: Path, name: str) -> None:
    head, surprise, told = SURPRISES[name]
    path = tmp_path / name
    path.write_text(head + surprise + head[head.index("\n") + 1 :] * (name.endswith("csv")))
    source = open_source(path, name="buses")
    with pytest.raises(InvalidInput, match=r"cannot be read: .*") as problem:
        list(source.read(10))
    assert told in problem.value.message
    assert "declare a schema" in (problem.value.hint or "")
    whole = read_whole(source, "buses")
    assert whole.column("b").to_pylist().count("y") == 1
    assert read_all(open_source(path, name="buses", schema=whole.schema), 10)[0].schema.equals(whole.schema)
    declared = open_source(path, name="buses", schema=whole.schema)
    assert pa.concat_tables(declared.read(10)).equals(whole), "declared, it is the same in pieces"


@pytest.mark.parametrize("name", WRITERS)
def test_a_declared_schema_is_what_is_read(tmp_path: Path, name: str) -> None:
    WRITERS[name](EVENTS, tmp_path / name)
    schema = pa.schema([("line", pa.string()), ("bus", pa.int16()), ("ts", pa.timestamp("us"))])
    source = open_source(tmp_path / name, name="buses", schema=schema)
    assert source.schema.equals(schema)
    expected = EVENTS.select(["line", "bus", "ts"]).cast(schema)
    assert pa.concat_tables(source.read(300)).equals(expected)
    assert read_whole(source, "buses").equals(expected)


# --- tables and batches -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        EVENTS,
        EVENTS.combine_chunks().to_batches()[0],
        EVENTS.to_pandas(),
        pl.DataFrame(EVENTS.to_pydict()),
        EVENTS.to_pydict(),
    ],
    ids=["arrow", "batch", "pandas", "polars", "mapping"],
)
def test_tables_in_memory_are_sources(given: Any) -> None:
    source = open_source(given, name="buses")
    assert source.is_finite
    assert pa.concat_tables(source.read(300)).column("bus").to_pylist() == EVENTS.column("bus").to_pylist()
    assert [len(piece) for piece in source.read(300)] == [300, 300, 300, 100]
    assert read_whole(source, "buses").schema.names == EVENTS.schema.names
    fitted = open_source(given, name="buses", schema=pa.schema([("bus", pa.int32())]))
    assert next(fitted.read(1)).to_pylist() == [{"bus": 0}]


def give_batches() -> Iterator[pa.Table]:
    yield EVENTS.slice(0, 10)
    yield EVENTS.slice(10, 50)
    yield EVENTS.slice(60, 0)


@pytest.mark.parametrize(
    ("given", "again", "finite"),
    [
        (give_batches, True, False),
        (lambda: list(give_batches()), True, False),
        (list(give_batches()), True, True),
        (tuple(give_batches()), True, True),
        (give_batches(), False, False),
        (iter([pd.DataFrame({"a": range(60)})]), False, False),
        (
            EVENTS.slice(0, 60).to_reader(max_chunksize=25),
            False,
            False,
        ),
    ],
    ids=["function", "function of a list", "list", "tuple", "generator", "iterator of pandas", "Arrow reader"],
)
def test_batches_are_given_on_as_they_come(given: Any, again: bool, finite: bool) -> None:
    source = open_source(given, name="buses")
    assert source.is_finite is finite
    assert source.schema.names
    pieces = read_all(source, 30)
    assert sum(map(len, pieces)) == 60
    assert all(0 < len(piece) <= 30 for piece in pieces)
    assert all(piece.schema.equals(source.schema) for piece in pieces)
    if again:
        assert [piece.to_pylist() for piece in source.read(30)] == [piece.to_pylist() for piece in pieces]
    else:
        with pytest.raises(InvalidInput, match="read already"):
            source.read(30)


def test_an_iterator_is_not_read_ahead_of_what_is_taken() -> None:
    taken: list[int] = []

    def count() -> Iterator[pa.Table]:
        for number in range(100):
            taken.append(number)
            yield pa.table({"a": [number]})

    source = open_source(count(), name="buses", schema=pa.schema([("a", pa.int64())]))
    assert taken == [], "a declared schema needs no event"
    reading = source.read(1000)
    assert next(reading).to_pylist() == [{"a": 0}], "not held back until there are 1000"
    assert taken == [0]


def test_batches_without_a_first_one_need_a_schema() -> None:
    source = open_source(iter([]), name="buses")
    with pytest.raises(InvalidInput, match="no batch that would show its schema") as problem:
        _ = source.schema
    assert "declare its schema" in (problem.value.hint or "")
    assert list(open_source(iter([]), name="buses", schema=EVENTS.schema).read()) == []


def test_what_may_not_end_is_not_read_whole() -> None:
    with pytest.raises(InvalidInput, match='"buses" may not end'):
        read_whole(open_source(give_batches, name="buses"), "buses")


def test_batches_that_do_not_fit_are_told() -> None:
    source = open_source([EVENTS, pa.table({"bus": [1]})], name="buses")
    with pytest.raises(InvalidInput, match='a batch of "buses" lacks the column "ts"'):
        list(source.read())
    with pytest.raises(InvalidInput, match="gives a int"):
        _ = open_source(lambda: 3, name="buses").schema
    with pytest.raises(InvalidInput, match='"buses" is a int, not a table'):
        _ = open_source([3], name="buses").schema


# --- mistakes ---------------------------------------------------------------------------------------------


def test_unknown_kinds_are_told_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "feed.xlsx"
    path.touch()
    for given in (path, str(path), 3, "amqp://host/queue", object(), EVENTS.schema):
        with pytest.raises(UnknownKind, match=r'the source of "buses" is .* of no known kind') as problem:
            open_source(given, name="buses")
        assert problem.value.code == "unknown-kind"
        for kind in SOURCE_KINDS:
            assert kind.name in (problem.value.hint or "")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def test_truncated_files_are_told(tmp_path: Path) -> None:
    for name in ("feed.parquet", "feed.arrow", "feed.csv.gz"):
        path = tmp_path / name
        WRITERS[name](EVENTS, path)
        truncate(path)
        with pytest.raises(InvalidInput, match=rf'"{path}" cannot be read: ') as problem:
            list(open_source(path, name="buses").read())
        assert problem.value.hint
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_whole(open_source(path, name="buses"), "buses")


@pytest.mark.parametrize(
    ("name", "content", "told", "hint"),
    [
        ("feed.parquet", b"no parquet", "cannot be read", "not whole, or no Parquet"),
        ("feed.parquet", b"", "cannot be read", "Parquet"),
        ("feed.csv", b"a,b\n1,2\n3\n", "Expected 2 columns, got 1", "as many values as the first"),
        ("feed.csv", b"", "Empty CSV file", "first line names the columns"),
        ("feed.csv", b"a,a\n1,2\n", 'two columns called "a"', "case does not tell"),
        ("feed.csv", b"a,b\n1,\xff\xfe\n", None, ""),
        ("feed.csv.gz", b"a,b\n1,2\n", "cannot be read", "read as CSV"),
        ("feed.json", b'[{"a": 1},\n{"a": 2}]\n', "object to array", "an object in each line"),
        ("feed.json", b'{"a": 1}\n{"a": ', "JSON parse error", "read as JSON lines"),
        ("feed.jsonl", b"", "Empty JSON", "declare a schema"),
        ("feed.arrow", b"", "cannot be read", "not whole"),
        ("feed.arrow", b"ARROW1\0\0rest of it", "cannot be read", "not whole"),
        ("feed.arrow", b"something else entirely", "cannot be read", ""),
    ],
)
def test_bad_files_are_told_with_a_next_step(
    tmp_path: Path, name: str, content: bytes, told: str | None, hint: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if told is None:  # binary values, as before
        assert read_whole(open_source(path, name="buses"), "buses").schema.field("b").type == pa.binary()
        return
    for read in (lambda source: list(source.read()), lambda source: read_whole(source, "buses")):
        with pytest.raises(InvalidInput) as problem:
            read(open_source(path, name="buses"))
        assert told in problem.value.message
        assert hint in (problem.value.hint or "")
        assert problem.value.hint


def test_files_that_are_not_there_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for text, told in (
        ("gone.parquet", 'the file "gone.parquet" does not exist'),
        ("gone", 'the file "gone" does not exist'),
        ("gone/*.csv", 'no file fits "gone/*.csv"'),
        ("~nobody/gone.csv", 'the file "~nobody/gone.csv" does not exist'),
        ("x" * 5000, "File name too long"),
        (f"{'x' * 5000}.csv", "File name too long"),
        ("*", None),
        ("empty", 'the folder "empty" has no files'),
    ):
        with pytest.raises(InvalidInput) as problem:
            open_source(text, name="buses")
        assert told is None or told in problem.value.message
        assert problem.value.hint


def test_files_that_do_not_fit_the_first_are_told_by_name(tmp_path: Path) -> None:
    for name in ("parquet", "csv", "jsonl", "arrow"):
        write = WRITERS[f"feed.{name}"]
        write(EVENTS, tmp_path / f"1.{name}")
        write(EVENTS.drop(["delay"]).append_column("extra", EVENTS.column("bus")), tmp_path / f"2.{name}")
        with pytest.raises(InvalidInput, match=rf'"{tmp_path}/2\.{name}" .*(delay|unexpected field)') as problem:
            list(open_source(tmp_path / f"*.{name}", name="buses").read())
        assert problem.value.hint


def test_files_of_several_kinds_are_refused(tmp_path: Path) -> None:
    write_csv(EVENTS, tmp_path / "1.csv")
    write_json(EVENTS, tmp_path / "2.jsonl")
    with pytest.raises(InvalidInput, match="files of several kinds") as problem:
        open_source(tmp_path, name="buses")
    assert "*.csv" in (problem.value.hint or "")


def test_types_that_nobody_can_query_are_read_as_they_are(tmp_path: Path) -> None:
    nested = pa.table({"a": [[1, 2], None], "b": [{"c": 1}, {"c": 2}], "d": pa.array(["x", "y"]).dictionary_encode()})
    write_parquet(nested, tmp_path / "feed.parquet")
    source = open_source(tmp_path / "feed.parquet", name="buses")
    assert pa.concat_tables(source.read(1)).to_pylist() == nested.to_pylist() == read_whole(source, "b").to_pylist()
    with pytest.raises(InvalidInput, match=r'"a" as list<.*> instead of int64'):
        list(open_source(tmp_path / "feed.parquet", name="buses", schema=pa.schema([("a", pa.int64())])).read())


# --- kinds of users ---------------------------------------------------------------------------------------


class Counter:
    """What a user would write."""

    is_finite = True
    schema = pa.schema([("n", pa.int64())])

    def __init__(self, text: str) -> None:
        self.last = int(text.partition("://")[2])

    def read(self, rows: int = 100) -> Iterator[pa.Table]:
        for begin in range(0, self.last, rows):
            yield pa.table({"n": list(range(begin, min(begin + rows, self.last)))})


@pytest.fixture
def own_kinds() -> Iterator[None]:
    before = list(SOURCE_KINDS)
    yield
    SOURCE_KINDS[:] = before


@pytest.mark.usefixtures("own_kinds")
def test_users_add_kinds_of_their_own() -> None:
    def recognises(given: object) -> bool:
        return isinstance(given, str) and given.startswith("count://")

    cep.register_source("counter", recognises, lambda text, _, __: Counter(text))
    source = open_source("count://250", name="numbers", folder=Path("/somewhere"))
    assert [len(table) for table in source.read(100)] == [100, 100, 50]
    fitted = open_source("count://3", name="numbers", schema=pa.schema([("n", pa.int16())]))
    assert read_whole(fitted, "numbers").equals(pa.table({"n": pa.array([0, 1, 2], pa.int16())}))
    with pytest.raises(InvalidInput, match='called "counter" already'):
        cep.register_source("counter", recognises, lambda text, _, __: Counter(text))
    with pytest.raises(UnknownKind) as problem:
        open_source("amqp://x", name="numbers")
    assert "counter" in (problem.value.hint or "")


@pytest.mark.usefixtures("own_kinds")
def test_a_kind_that_opens_no_source_is_told() -> None:
    cep.register_source("wrong", lambda given: given == "wrong", lambda _, __, ___: 3)  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidInput, match='of kind "wrong" is a int, no Source') as problem:
        open_source("wrong", name="numbers")
    assert "is_finite" in (problem.value.hint or "")


def test_a_source_is_taken_as_it_is() -> None:
    source = Counter("count://3")
    assert open_source(source, name="numbers") is source


def open_paths() -> set[str]:
    links = (path.readlink for path in Path("/proc/self/fd").iterdir() if path.is_symlink())
    found = set()
    for link in links:
        with suppress(OSError):  # the one that lists the folder is gone
            found.add(str(link()))
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="shows open files on Linux")
def test_reading_is_closed_with_the_iterator(tmp_path: Path) -> None:
    path = tmp_path / "feed.parquet"
    write_parquet(EVENTS, path)
    reading = open_source(path, name="buses").read(10)
    next(reading)
    assert str(path) in open_paths()
    reading.close()  # type: ignore[attr-defined]
    assert str(path) not in open_paths()
