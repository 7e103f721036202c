"""Where events leave the query, and are counted."""

from __future__ import annotations

from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.ports import Inputs, add_up


class ConsumerRun:
    def __init__(self, ipe: float, inputs: Inputs, producers: int) -> None:
        self.ipe, self.inputs, self.producers = ipe, inputs, producers
        self.dropped = 0.0
        self.output = EventSet.empty(producers)

    def waiting(self) -> float:
        return self.inputs.total

    def needed(self) -> float:
        return self.inputs.total * self.ipe

    def run(self, instructions: float, start: float, end: float) -> EventSet:  # noqa: ARG002
        events = add_up(self.inputs.retrieve(instructions / self.ipe), self.producers)
        events.update(end)
        self.output.add(events)
        return events
