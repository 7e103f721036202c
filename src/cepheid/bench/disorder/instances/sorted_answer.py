"""What must be found: count windows of the sorted events, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cepheid.bench.disorder.instances.loaded_sequence import LoadedSequence
from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.merger import MatchChange
from cepheid.execution.parallel.messages import Match


def find_matches(events: Iterable[Event], size: int, slide: int, refused: Collection[EventName] = ()) -> set[Match]:
    """refused: events that count for nothing."""
    ordered = sorted((event for event in events if event.name not in refused), key=lambda event: event.name)
    operator, found = LoadedSequence(0.0), set[Match]()
    for start in range(0, len(ordered), slide):
        data = operator.begin()
        for event in ordered[start : start + size]:
            found.update(operator.process(event, data))
    return found


def add_up(changes: Iterable[MatchChange]) -> set[Match]:
    """Inserts minus retracts."""
    there: set[Match] = set()
    for change in changes:
        (there.discard if change.retracted else there.add)(change.match)
    return there
