"""Whoever waits for kernels to be compiled is told so, and they are compiled once on a machine."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numba
import pytest

from cepheid.compile_notice import CompileNotice, announce_compiling
from cepheid.execution.spark.kernels_ready import compile_once, name_marker


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
    before = name_marker()
    assert name_marker() == before
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/elsewhere")
    assert name_marker() != before
