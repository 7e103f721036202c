"""An operator that gathers events and gives some out when its window closes.

The window is a ring of slots, one for each advance; events are added to the current slot, apart for each predecessor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.event_set_queue import NEARLY_NOTHING, EventSetQueue
from cepheid.simulation.reference.ports import Channel, Inputs, Outputs, add_up

Combination = Callable[[Sequence[float]], float]


def give_all(sizes: Sequence[float]) -> float:
    """As many as came in."""
    total = 0.0
    for size in sizes:
        total += size
    return total


def give_constant(count: float) -> Combination:
    return lambda sizes: count  # noqa: ARG005


class WindowRun:
    def __init__(
        self,
        ipe: float,
        inputs: Inputs,
        outputs: Outputs,
        producers: int,
        window_ms: float,
        advance_ms: float,
        combine: Combination,
        limits_output: bool,
    ) -> None:
        self.ipe, self.inputs, self.outputs, self.producers = ipe, inputs, outputs, producers
        self.advance, self.combine, self.limits_output = advance_ms, combine, limits_output
        count = int(window_ms / advance_ms)
        self.slots = [[EventSet.empty(producers) for _ in inputs.channels] for _ in range(count)]
        self.index = 0
        self.close_at = math.inf
        self.unsent = EventSetQueue(producers)
        self.dropped = 0.0

    def begin(self, at: float) -> None:
        """The first window closes after one advance, full or not."""
        self.close_at = at + self.advance

    def waiting(self) -> float:
        return self.inputs.total + self.unsent.size

    def is_due(self, now: float) -> bool:
        """A window to close, or something held back that has room now.  CEPSim does not ask."""
        return now >= self.close_at or (self.unsent.size > 0.0 and self.outputs.room() > NEARLY_NOTHING)

    def needed(self) -> float:
        return self.inputs.total * self.ipe

    def run(self, instructions: float, start: float, end: float) -> EventSet:
        space = self.outputs.room()
        if self.unsent.size > 0.0 and space > 0.0:
            events = self.unsent.dequeue(min(self.unsent.size, space))
            events.update(end)
            self.outputs.send(events)
            space -= events.size
        while start >= self.close_at:
            space = self._close(space, end)
            self.close_at += self.advance
            self.index = (self.index + 1) % len(self.slots)
            for slot in self.slots[self.index]:
                slot.reset()
        parts = self.inputs.retrieve(instructions / self.ipe)
        for slot, part in zip(self.slots[self.index], parts, strict=True):
            slot.add(part)
        return add_up(parts, self.producers)

    def _close(self, space: float, end: float) -> float:
        sums = [
            add_up([slot[place] for slot in self.slots], self.producers) for place in range(len(self.inputs.channels))
        ]
        out = add_up(sums, self.producers)
        if not out.size > 0.0:
            return space
        count = self.combine([part.size for part in sums])
        out.size = count
        out.totals = add_up(self.slots[self.index], self.producers).totals
        if self.limits_output:
            surplus = max(map(_still_waiting, self.outputs.channels), default=0.0)
            self.dropped += out.extract(surplus).size
        now = min(count, space)
        if now > 0.0:
            first, rest = out.split(now / count)
            first.update(end)
            self.outputs.send(first)
            if now < count:
                self.unsent.enqueue(rest)
        else:
            self.unsent.enqueue(out)
        return space - now


def _still_waiting(channel: Channel) -> float:
    return channel.incoming.size / channel.selectivity if channel.selectivity > 0.0 else 0.0
