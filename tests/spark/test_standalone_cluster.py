"""A standalone cluster of two workers whose Python lacks Cepheid: rows, losses of processes, and what doctor finds.

One cluster and one program (standalone_program.py) for all of it, since starting them takes most of the time.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

import cepheid
from cepheid.execution.spark.shipped_start import digest_source, read_source

sys.path.append(str(Path(__file__).parent))
from standalone import StandaloneCluster

pytestmark = pytest.mark.spark

OWN = Path(cepheid.__file__).parent
COLD = "CEPHEID_COLD" in os.environ  # make soak


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python with what Cepheid needs, without Cepheid, which is installed by a .pth file here."""
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text("\n".join(site.getsitepackages()))
    return folder / "bin" / "python"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    """Its machine has the kernels of the shipped source already: compiling them would take half a minute."""
    home = tmp_path / "home"
    shipped = home / ".cache" / "cepheid" / "shipped" / digest_source(read_source(OWN))
    if not COLD:
        shutil.copytree(OWN, shipped / "cepheid")
    running = StandaloneCluster(tmp_path, {"PATH": os.environ["PATH"], "HOME": str(home)})
    yield running
    running.stop()


def can_import(python: Path, module: str) -> bool:
    done = subprocess.run(
        [python, "-c", f"import {module}"], env={"PATH": os.environ["PATH"]}, capture_output=True, check=False
    )
    return done.returncode == 0


def test_cluster_without_cepheid_gives_the_same_rows_whatever_is_killed(
    cluster: StandaloneCluster, python: Path, tmp_path: Path
) -> None:
    assert not can_import(python, "cepheid")
    assert can_import(python, "numba")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "standalone_program.py"), cluster.url, str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": str(OWN.parent), "PYSPARK_PYTHON": str(python)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    logs = cluster.read_logs()
    assert logs.count("Cepheid compiles its kernels") == (1 if COLD else 0), "once for all executors of a machine"
    shipped = list((tmp_path / "home" / ".cache" / "cepheid" / "shipped").iterdir())
    assert [place.name for place in shipped] == [digest_source(read_source(OWN))]
