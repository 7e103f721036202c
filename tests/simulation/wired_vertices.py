"""Vertices of the reference engine with edges around them, to be run by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cepheid.simulation.reference.consumer import ConsumerRun
from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.operator import OperatorRun
from cepheid.simulation.reference.ports import Channel, Inputs, Outputs
from cepheid.simulation.reference.producer import ProducerRun
from cepheid.simulation.reference.window import Combination, WindowRun

Values = tuple[float, ...]  # size, time, latency, totals


def make_set(size: float, ts: float = 0.0, latency: float = 0.0, *totals: float) -> EventSet:
    """Without totals: of one producer, as many as there are."""
    return EventSet(size, ts, latency, list(totals or (size,)))


def values(events: EventSet) -> Values:
    return (events.size, events.ts, events.latency, *events.totals)


def near(*expected: float) -> object:
    """Published vectors are told to three places."""
    return pytest.approx(expected, abs=1e-3)


def make_channels(selectivities: Sequence[float], limits: Sequence[float] = ()) -> list[Channel]:
    channels = [Channel(selectivity, 0.0, 1) for selectivity in selectivities]
    for channel, limit in zip(channels, limits, strict=False):
        channel.limit = limit
    return channels


def make_producer(ipe: float = 1.0, limits: Sequence[float] = (), limited: bool = False) -> ProducerRun:
    return ProducerRun(ipe, Outputs(make_channels([1.0], limits), "announced"), 0, 1, limited, sheds=False)


def make_operator(
    ipe: float = 10.0, inputs: int = 1, selectivities: Sequence[float] = (1.0,), limits: Sequence[float] = ()
) -> OperatorRun:
    outputs = Outputs(make_channels(selectivities, limits), "announced")
    return OperatorRun(ipe, Inputs(make_channels([1.0] * inputs), 1), outputs, 1)


def make_consumer(ipe: float = 1.0, inputs: int = 1) -> ConsumerRun:
    return ConsumerRun(ipe, Inputs(make_channels([1.0] * inputs), 1), 1)


def make_window(
    window_ms: float,
    advance_ms: float,
    combine: Combination,
    begins_at: float = 0.0,
    limits: Sequence[float] = (),
    limits_output: bool = False,
) -> WindowRun:
    """With two inputs and 10 instructions per event."""
    inputs, outputs = Inputs(make_channels([1.0, 1.0]), 1), Outputs(make_channels([1.0], limits), "announced")
    window = WindowRun(10.0, inputs, outputs, 1, window_ms, advance_ms, combine, limits_output)
    window.begin(begins_at)
    return window


def load(vertex: OperatorRun | WindowRun | ConsumerRun, *sets: EventSet) -> None:
    """One set for each input."""
    for channel, events in zip(vertex.inputs.channels, sets, strict=True):
        vertex.inputs.receive(channel, events)


def take_sent(vertex: ProducerRun | OperatorRun | WindowRun, output: int = 0) -> list[Values]:
    """Everything that was sent since, set by set."""
    queue = vertex.outputs.channels[output].outgoing
    sent = [values(events) for events in queue.sets]
    queue.clear()
    return sent


def in_queue(vertex: OperatorRun | WindowRun | ConsumerRun) -> list[float]:
    return [channel.incoming.size for channel in vertex.inputs.channels]
