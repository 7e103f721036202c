"""Streams on Spark that may be silent: what engines are told of them.

Spark's own watermark stands still while one of its streams does.  Envelopes tell how far each stream has come, and so
the clocks of disorder/stream_clocks.py go on, in every share alike, batch by batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.disorder.stream_clocks import StreamClocks
from cepheid.errors import NotSupportedYet
from cepheid.event_time import BEGINNING
from cepheid.execution.engine import Engine
from cepheid.execution.spark.clock import POLICY, Clock
from cepheid.graph.column_origin import trace_columns
from cepheid.graph.query_graph import QueryGraph
from cepheid.processing_time import base_name
from cepheid.settings import Settings


def find_idle_inputs(graph: QueryGraph, vertex: str, settings: Settings) -> dict[int, int]:
    """By number of the input: after how many microseconds it is idle.  If it is made of several streams, all of them
    have to be."""
    inputs = graph.inputs(vertex)
    found: dict[int, int] = {}
    if settings.idle_after is None or len(inputs) < 2:
        return found
    for number, feed in enumerate(inputs):
        origins = trace_columns(graph, feed, "_time")
        if origins is None:
            raise NotSupportedYet(
                "idle_after for a stream whose time is computed in the query",
                hint="order by a column of the stream itself",
            )
        names = {source.name for source, _ in origins}
        spans = settings.idle_after_us(names)
        if len(spans) == len(names):
            found[number] = max(spans.values())
    return found


def find_stamped_inputs(graph: QueryGraph, vertex: str) -> list[int]:
    """Inputs that are ordered by the moment of the batch: how far one of them has come, all of them have."""
    traced = [trace_columns(graph, feed, "_time") or [] for feed in graph.inputs(vertex)]
    return [
        number
        for number, origins in enumerate(traced)
        if origins and all(base_name(source.name) is not None for source, _ in origins)
    ]


def follow_batch(engine: Engine, stamped: list[int], newest: list[int]) -> None:
    """The moment of a batch that brought events holds for all stamped inputs."""
    moment = max((newest[number] for number in stamped if newest), default=BEGINNING)
    for number in stamped:
        engine.gate.follow(number, moment)


def check_clock(idle_after: Mapping[Any, Any], clock: Clock) -> None:
    """Is it known how far each stream has come?"""
    if idle_after and clock is Clock.WATERMARK:
        raise NotSupportedYet(
            "idle_after where only Spark knows how far each stream has come (Spark Connect, unions of streams)",
            hint=f'let the fastest stream count: spark.conf.set("{POLICY}", "max")',
        )


def follow_others(
    engine: Engine,
    idle_after_us: Mapping[int, int],
    delays_us: list[int],
    state: Mapping[str, Any] | None,
    newest: list[int],
    watermark: int,
) -> dict[str, Any]:
    """Let the inputs that are idle follow the others; gives what is to be remembered.  newest: of each input in this
    batch, if anything came; watermark: so far has each of them come, as Spark knows."""
    clocks = StreamClocks({str(port): span for port, span in idle_after_us.items()})
    if state:
        clocks.read_state(state)
    ports = [str(port) for port in range(len(delays_us))]
    heard = clocks.see(
        [frozenset(ports)],
        dict(zip(ports, newest, strict=False)),
        dict.fromkeys(ports, watermark),
        dict(zip(ports, delays_us, strict=True)),
    )
    for number, port in enumerate(ports):
        engine.gate.follow(number, heard.get(port, BEGINNING))
    return clocks.write_state()
