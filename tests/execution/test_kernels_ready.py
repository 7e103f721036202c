"""Whoever waits for kernels to be compiled is told so, and they are compiled once on a machine."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numba
import pyarrow as pa
import pytest

from cepheid.compile_notice import CompileNotice, announce_compiling
from cepheid.compiler import compile_query
from cepheid.event_time import BEGINNING
from cepheid.execution.engine import Engine
from cepheid.execution.spark.engine_warm_up import warm_up
from cepheid.execution.spark.kernels_ready import compile_once, make_up_events, name_marker
from cepheid.graph.node import EngineNode
from cepheid.hosts import SPARK_STREAMS
from cepheid.session_inputs import make_catalog


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(notice: CompileNotice, clock: Clock, seconds: float, inner: int = 0) -> None:
    notice.begin()
    for _ in range(inner):
        run(notice, clock, seconds / inner)
    clock.now += 0 if inner else seconds
    notice.end()


def test_what_is_quick_goes_without_a_word() -> None:
    said: list[str] = []
    clock = Clock()
    notice = CompileNotice(said.append, clock)
    run(notice, clock, 0.9)
    clock.now += 100  # not spent on compiling
    assert said == []
    run(notice, clock, 0.2)
    assert said == [
        "Cepheid compiles its kernels, once on this machine: this takes about half a minute",
        "Cepheid has compiled 2 functions in 1 s",
    ]


def test_progress_is_told_every_few_seconds_also_within_one_function() -> None:
    said: list[str] = []
    clock = Clock()
    notice = CompileNotice(said.append, clock)
    run(notice, clock, 12, inner=12)
    assert said[1:] == [f"Cepheid has compiled {count} functions in {count} s" for count in (1, 6, 11)]


def test_numba_says_when_it_compiles(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    announce_compiling()
    monkeypatch.setattr("cepheid.compile_notice._notice._next", 0.0)
    numba.njit(lambda number: number + 1)(1)
    assert "Cepheid has compiled" in caplog.text


def test_machine_compiles_once_whoever_comes(tmp_path: Path) -> None:
    calls: list[int] = []

    def compile_slowly() -> None:
        time.sleep(0.05)
        calls.append(1)

    threads = [threading.Thread(target=compile_once, args=(tmp_path / "k", "m", compile_slowly)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]
    compile_once(tmp_path / "k", "other source", compile_slowly)
    assert calls == [1, 1]


def test_failure_is_tried_again_and_a_full_disk_is_none(tmp_path: Path) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        compile_once(tmp_path / "k", "m", fail)
    calls: list[int] = []
    compile_once(tmp_path / "k", "m", lambda: calls.append(1))
    assert calls == [1]
    (tmp_path / "file").touch()
    compile_once(tmp_path / "file" / "k", "m", fail)  # nowhere to write: kernels are compiled when they are needed


def test_marker_is_the_same_as_long_as_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = name_marker("a stage")
    assert name_marker("a stage") == before
    assert name_marker("another") != before
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/elsewhere")
    assert name_marker("a stage") != before


@pytest.mark.parametrize(
    "text",
    [
        "SELECT b.v AS v FROM PATTERN SEQ(s a, s b) WHERE a.k = b.k AND b.v > a.v WITHIN 5 s",
        """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(b.v) AS v PATTERN (a b+)
           WITHIN INTERVAL '5' SECOND DEFINE b AS b.v > PREV(b.v))""",
        "SELECT k, avg(v) AS v FROM s [RANGE 10 SECONDS] GROUP BY k",
    ],
    ids=["sequence", "rows", "window"],
)
def test_events_find_the_kernels_of_a_stage_compiled(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.int32()), ("v", pa.float64())])
    placed = compile_query(text, make_catalog({"s": schema}, {}, streams=["s"]), SPARK_STREAMS).placed
    (vertex,) = placed.at_engines()
    node = placed.graph.vertices[vertex]
    assert isinstance(node, EngineNode)
    layouts = []
    for feed in placed.graph.inputs(vertex):
        project = placed.graph.vertices[feed]
        names = [name for name, _ in project.columns]  # type: ignore[attr-defined]
        types = {"_time": schema.field("ts").type, "_key0": pa.int32()}
        layouts.append(pa.schema([(name, types.get(name, pa.float64())) for name in names]))
    warm_up(node, layouts)
    compiled: list[str] = []
    monkeypatch.setattr("cepheid.compile_notice._notice._say", compiled.append)
    monkeypatch.setattr("cepheid.compile_notice._notice._next", 0.0)
    engine = Engine([node], layouts)
    engine.push([make_up_events(layout) for layout in layouts], BEGINNING)
    engine.finish()
    assert compiled == []
