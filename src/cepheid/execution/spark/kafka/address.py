"""kafka:HOST:PORT/TOPIC, what it names, and the settings of clients.

Settings of librdkafka, the client, are written with `kafka.` in front, as Spark's users do: kafka.security.protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from cepheid.errors import InvalidInput

PREFIX = "kafka:"
CLIENT = "kafka."
WRITTEN = "kafka:HOST:PORT/TOPIC"
QUIET = {"log_level": 0, "error_cb": lambda _problem: None}  # what matters is raised by the call that it concerns

RECONNECT = {"reconnect.backoff.max.ms": 1000}  # a broker that is back is found soon


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """servers: HOST:PORT, several parted by commas.  settings: of the client.  given: what was written behind a
    question mark, without settings of the client."""

    servers: str
    topics: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """In messages, without secrets."""
        return f"{PREFIX}{self.servers}/{','.join(self.topics)}"

    def client(self, usual: Mapping[str, object], fixed: Mapping[str, object]) -> dict[str, object]:
        """The configuration of a client of confluent_kafka.  usual: users may say otherwise; fixed: they may not."""
        return {"bootstrap.servers": self.servers, **RECONNECT, **usual, **self.settings, **fixed, **QUIET}


def read_address(text: str, options: Mapping[str, str] | None = None) -> KafkaAddress:
    """options: of the source; those for the client are taken from there as well."""
    place, _, query = text.removeprefix(PREFIX).partition("?")
    servers, _, topics = place.removeprefix("//").partition("/")
    names = tuple(name for name in topics.split(",") if name)
    if not names or not all(_is_server(server) for server in servers.split(",")):
        raise InvalidInput(
            f'"{PREFIX}{place}" does not name a topic of a Kafka cluster', hint=f'write "{WRITTEN}", as in '
            '"kafka:localhost:9092/buses"'
        )  # fmt: skip
    asked = {**dict(parse_qsl(query, keep_blank_values=True)), **(options or {})}
    settings = {name.removeprefix(CLIENT): value for name, value in asked.items() if name.startswith(CLIENT)}
    given = {name: value for name, value in asked.items() if not name.startswith(CLIENT)}
    return KafkaAddress(servers, names, settings, given)


def _is_server(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdigit()
