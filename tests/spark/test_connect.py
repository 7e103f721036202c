"""Batches and streams over Spark Connect: the program connect_program.py, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from cepheid.execution.spark.java import prepare_java

pytestmark = pytest.mark.spark


@pytest.mark.skipif(find_spec("grpc_status") is None, reason='Spark Connect needs pip install "cepheid[connect]"')
def test_batches_and_streams_run_over_spark_connect(tmp_path: Path) -> None:
    prepare_java()
    program = Path(__file__).parent / "connect_program.py"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_TESTING": "1"},  # a free port, not always 15002
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
