"""An operator without memory: takes events, works on them, hands them on."""

from __future__ import annotations

from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.ports import Inputs, Outputs, add_up


class OperatorRun:
    def __init__(self, ipe: float, inputs: Inputs, outputs: Outputs, producers: int) -> None:
        self.ipe, self.inputs, self.outputs, self.producers = ipe, inputs, outputs, producers
        self.dropped = 0.0

    def waiting(self) -> float:
        return self.inputs.total

    def needed(self) -> float:
        return min(self.inputs.total, self.outputs.room()) * self.ipe

    def run(self, instructions: float, start: float, end: float) -> EventSet:  # noqa: ARG002
        most = min(instructions / self.ipe, self.outputs.room())
        events = add_up(self.inputs.retrieve(most), self.producers)
        events.update(end)
        self.outputs.send(events)
        return events
