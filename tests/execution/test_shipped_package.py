"""Workers of a cluster get the source of the driver, once on a machine, or use what is installed if it is the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid
from cepheid.execution.spark.shipped_package import make_archive
from cepheid.execution.spark.shipped_start import choose_source, digest_source, read_source

OWN = Path(cepheid.__file__).parent
SAY_WHERE = "import cepheid, cepheid.errors as e; print(cepheid.__file__, e.__file__, cepheid.__version__)"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_archive(tmp_path_factory.mktemp("home"))
    assert made is not None
    return made


def test_archive_is_made_once(archive: Path) -> None:
    before = archive.stat()
    assert make_archive(archive.parent) == archive
    assert archive.stat() == before


def test_same_source_that_is_installed_is_used(archive: Path, tmp_path: Path) -> None:
    assert choose_source(archive, tmp_path / "none").samefile(OWN)
    assert not (tmp_path / "none").exists()


def test_other_source_is_not_used_and_what_is_shipped_is_unpacked_once(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = tmp_path / "older" / "cepheid"
    shutil.copytree(OWN, older, ignore=shutil.ignore_patterns("__pycache__"))
    (older / "event_time.py").write_text("# changed")
    monkeypatch.setattr(sys, "path", [str(older.parent)])
    chosen = choose_source(archive, tmp_path / "home")
    assert chosen.is_relative_to(tmp_path / "home")
    assert read_source(chosen) == read_source(OWN)
    one = "kernel/compiled/njit_options.py"
    assert (chosen / one).stat().st_mtime_ns == (OWN / one).stat().st_mtime_ns, "kernels are stamped with times"
    assert choose_source(archive, tmp_path / "home") == chosen
    assert [place.name for place in (tmp_path / "home").iterdir()] == [digest_source(read_source(OWN))]


def test_damaged_source_is_not_used(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    chosen = choose_source(archive, tmp_path)
    (chosen / "event_time.py").write_text("# changed")
    other = choose_source(archive, tmp_path)
    assert other != chosen
    assert read_source(other) == read_source(OWN)


def test_where_nobody_may_write_it_lies_beside_the_archive(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    (tmp_path / "file").touch()
    chosen = choose_source(archive, tmp_path / "file" / "home")
    assert chosen.is_relative_to(archive.parent)
    assert read_source(chosen) == read_source(OWN)


def test_import_in_a_process_without_cepheid_finds_the_archive(archive: Path, tmp_path: Path) -> None:
    """-S: a Python without any package."""
    copied = shutil.copy(archive, tmp_path)
    done = subprocess.run(
        [sys.executable, "-S", "-c", SAY_WHERE],
        env={"PYTHONPATH": str(copied), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    package, module, version = done.stdout.split()
    assert Path(package).is_relative_to(tmp_path)
    assert Path(module).parent == Path(package).parent
    assert version == cepheid.__version__
