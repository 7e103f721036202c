"""A small standalone cluster of Spark on loopback: a master and workers, started from the classes in PySpark's jars.

pip's package has no start scripts for them.  Ports are the system's choice, folders are the test's, and each process is
ended by its id.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

PATIENCE_S = 60.0
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
HERE = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]


class StandaloneCluster:
    """environment: what workers, and so executors, see of the world."""

    def __init__(self, folder: Path, environment: Mapping[str, str], workers: int = 2, cores: int = 1) -> None:
        from cepheid.execution.spark.java import prepare_java

        prepare_java()
        self.folder = folder
        self._environment = {**environment, "JAVA_HOME": os.environ["JAVA_HOME"], "SPARK_LOCAL_IP": "127.0.0.1"}
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start("master", MASTER, [])
            self.url = self._wait_for("master", r"Starting Spark master at (spark://\S+)")
            for number in range(workers):
                given = ["-c", str(cores), "-m", "1g", "--work-dir", str(folder / f"work{number}"), self.url]
                self._start(f"worker{number}", WORKER, given)
            for number in range(workers):
                self._wait_for(f"worker{number}", r"Successfully registered with master (\S+)")
        except BaseException:
            self.stop()
            raise

    def read_logs(self) -> str:
        """All that executors and their Python workers have written."""
        return "\n".join(file.read_text(errors="replace") for file in sorted(self.folder.glob("work*/*/*/stderr")))

    def stop(self) -> None:
        """The workers first: they end their executors."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self._processes):
            try:
                process.wait(PATIENCE_S / 4)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes = []

    def _start(self, name: str, main: str, given: list[str]) -> None:
        import pyspark

        jars = Path(pyspark.__file__).parent / "jars"
        (core,) = jars.glob("spark-core_*.jar")  # workers ask for the version of Scala that the scripts would tell
        scala = core.name.split("_")[1].split("-")[0]
        java = Path(self._environment["JAVA_HOME"]) / "bin" / "java"
        command = [str(java), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{jars}/*", main]
        environment = {**self._environment, "SPARK_HOME": str(jars.parent), "SPARK_SCALA_VERSION": scala}
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, *HERE, *given], stdout=log, stderr=log, env=environment, cwd=self.folder
            )
        self._processes.append(process)

    def _wait_for(self, name: str, ready: str) -> str:
        """Gives what its log says when it is ready."""
        log = self.folder / f"{name}.log"
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(ready, log.read_text(errors="replace"))) is None:
            if time.monotonic() > deadline or any(process.poll() is not None for process in self._processes):
                raise OSError(log.read_text(errors="replace"))
            time.sleep(0.05)
        return found[1]
