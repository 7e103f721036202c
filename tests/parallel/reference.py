"""What must come out: the windows of the sorted events, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.messages import Match
from cepheid.execution.parallel.operators.operator import Operator
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.split_window import SplitWindow


def cut_windows(events: Iterable[Event], predicate: Predicate) -> list[tuple[list[Event], bool]]:
    """The events of each window, and whether it has ended."""
    data = predicate.begin()
    every: list[tuple[SplitWindow, list[Event], list[bool]]] = []
    for rank, event in enumerate(sorted(events, key=lambda each: each.name)):
        if predicate.opens(event, data):
            every.append((SplitWindow(len(every), event.name, rank, 0), [], []))
        for window, inside, ended in every:
            if ended:
                continue
            if predicate.closes(event, window, data):
                ended.append(True)
                if not predicate.includes_end:
                    continue
            inside.append(event)
    return [(inside, bool(ended)) for _, inside, ended in every]


def find_matches(events: Iterable[Event], predicate: Predicate, operator: Operator) -> set[Match]:
    found: set[Match] = set()
    for inside, ended in cut_windows(events, predicate):
        data = operator.begin()
        for event in inside:
            found.update(operator.process(event, data))
        if ended:
            found.update(operator.finish(data))
    return found


class SpanOperator:
    """Everything that may go wrong shows in what it finds: matches on the way, and one at the end that has all."""

    def begin(self) -> list[EventName]:
        return []

    def process(self, event: Event, data: list[EventName]) -> list[Match]:
        data.append(event.name)
        return [Match((data[0], event.name), len(data))] if event.data == "a" else []

    def finish(self, data: list[EventName]) -> list[Match]:
        return [Match(tuple(data), "whole")] if data else []

    def clone(self, data: list[EventName]) -> list[EventName]:
        return list(data)
