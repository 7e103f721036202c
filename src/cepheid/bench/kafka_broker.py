"""A broker of Apache Kafka on this machine, for tests and benchmarks: one node in KRaft mode, on loopback.

    Ivy, which comes with pyspark ─▶ jars, kept for the next time ─▶ kafka.Kafka in a JVM, data in a folder of its own

Ports are free ones; Java is the one that Spark is started with.  It is stopped by who started it.
"""

from __future__ import annotations

import base64
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from cepheid.execution.spark.java import find_java

KAFKA = ("org.apache.kafka", "kafka_2.13", "4.1.0")
FETCH_S = 300.0
START_S = 60.0
SMALL_JVM = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=500
log.initial.task.delay.ms=500
"""


def fetch_jars(group: str, name: str, version: str, alone: bool = False) -> list[Path]:
    """A package of Maven's and all that it needs; alone: without that.  OSError: it cannot be had."""
    place = platformdirs.user_cache_path("cepheid") / "jars" / f"{name}-{version}{'-alone' if alone else ''}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as draft:
            _run_ivy(Path(draft), ["-notransitive"] * alone, group, name, version)
            if not place.exists():  # another process may have been quicker
                (Path(draft) / "jars").rename(place)
    return sorted(place.glob("*.jar"))


def _run_ivy(folder: Path, options: list[str], *package: str) -> None:
    spark = find_spec("pyspark")
    found = [] if spark is None or spark.origin is None else list(Path(spark.origin).parent.glob("jars/ivy-*.jar"))
    if not found:
        raise OSError("pyspark, which brings Ivy, is not installed")
    pattern = f"{folder}/jars/[artifact]-[revision](-[classifier]).[ext]"
    command = [_java(), "-cp", str(found[0]), "org.apache.ivy.Main", "-cache", str(folder / "cache"), "-warn", *options]
    asked = ["-dependency", *package, "-types", "jar", "bundle", "-retrieve", pattern]
    try:
        done = subprocess.run([*command, *asked], capture_output=True, timeout=FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        raise OSError(f"{':'.join(package)} does not come within {FETCH_S:.0f} s") from None
    if done.returncode or not list(folder.glob("jars/*.jar")):
        raise OSError(f"{':'.join(package)} cannot be had from a Maven repository")


def _java() -> str:
    home = find_java()
    return str(home.wraps or home.path / "bin" / "java")


class KafkaBroker:
    """servers: where clients find it."""

    def __init__(self, jars: list[Path]) -> None:
        self._classes = ":".join(map(str, jars))
        self._folder = Path(tempfile.mkdtemp(prefix="cepheid-kafka-"))
        port, controller = _find_ports(2)
        self.servers = f"127.0.0.1:{port}"
        self._port = port
        self._settings = self._folder / "server.properties"
        self._settings.write_text(SETTINGS.format(port=port, controller=controller, folder=self._folder))
        self.process: subprocess.Popen[bytes] | None = None
        identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        command = [*self._command("kafka.tools.StorageTool"), "format", "-t", identity, "-c", str(self._settings)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise OSError(made.stdout + made.stderr)

    def _command(self, main: str) -> list[str]:
        return [_java(), *SMALL_JVM, "-cp", self._classes, main]

    def start(self) -> None:
        """Until it takes connections."""
        if self.process is not None:
            return
        log = self._folder / "log"
        with log.open("ab") as written:
            command = [*self._command("kafka.Kafka"), str(self._settings)]
            self.process = subprocess.Popen(command, stdout=written, stderr=written, cwd=self._folder)
        deadline = time.monotonic() + START_S
        while not self._answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise OSError(f"Kafka does not start: {log.read_text()[-400:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=1.0):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        """As a machine that fails: at once.  What was acknowledged is in the files."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def make_topic(self, name: str, partitions: int, **settings: str) -> None:
        """settings: of the topic, with _ for dots."""
        from confluent_kafka.admin import AdminClient, NewTopic

        config = {setting.replace("_", "."): value for setting, value in settings.items()}
        client = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        client.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(START_S)


def _find_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()
