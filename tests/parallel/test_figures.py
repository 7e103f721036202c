"""The figures of the thesis as text: a stream, and what splitter and instances say and do.

A line of a script is one event, "a-4" (source and time), or what happens next: "step" (of the splitter), "run" (steps
until there are none), "take N" and "work N" (of instance N, whose messages have been delivered), "drain N" (both until
there is no more).  With a factor, events go through a feeder, and the splitter runs.  `--golden-update` renews what is
expected.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.checkpoints.every_speculative import EverySpeculative
from cepheid.execution.parallel.events import Arrival, Event
from cepheid.execution.parallel.messages import (
    Add,
    CloseWindow,
    Delete,
    EndOfReplay,
    Envelope,
    NotClosed,
    OpenWindow,
    Restore,
    SaveState,
    SendEvent,
    Together,
)
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.strategies import STRATEGIES

sys.path.extend([str(Path(__file__).parent), str(Path(__file__).parent.parent / "golden")])
from feeder import Feeder
from golden_files import Case, read_cases, write_cases
from reference import SpanOperator

FILES = sorted((Path(__file__).parent / "figures").glob("*.txt"))


class EverySecondA:
    """A window opens with the first "a", the third, ... and never ends."""

    includes_end = True

    class Seen:
        def __init__(self, count: int = 0) -> None:
            self.count = count

        def clone(self) -> EverySecondA.Seen:
            return EverySecondA.Seen(self.count)

    def begin(self) -> Seen:
        return self.Seen()

    def opens(self, event: Event, data: Seen) -> bool:
        data.count += event.name.source == 0
        return event.name.source == 0 and data.count % 2 == 1

    def closes(self, event: Event, window: object, data: Seen) -> bool:  # noqa: ARG002
        return False


class AThenB:
    """A "c" opens a window; a "b" right behind an "a" closes all."""

    includes_end = True

    class Last:
        def __init__(self, source: int = 2, before: int = 2) -> None:
            self.source, self.before = source, before

        def clone(self) -> AThenB.Last:
            return AThenB.Last(self.source, self.before)

    def begin(self) -> Last:
        return self.Last()

    def opens(self, event: Event, data: Last) -> bool:
        data.before, data.source = data.source, event.name.source
        return event.name.source == 2

    def closes(self, event: Event, window: object, data: Last) -> bool:  # noqa: ARG002
        return (data.before, data.source) == (0, 1)


PREDICATES = {"count": CountPredicate, "every second a": EverySecondA, "from c until b behind a": AThenB}


def name(event: EventName) -> str:
    return "the beginning" if event.time < 0 else f"{'abc'[event.source]}-{event.time}"


class Script:
    def __init__(self, case: Case) -> None:
        asked = case.settings
        kind, *numbers = asked["predicate"].split(": ")
        predicate = PREDICATES[kind](*(int(number) for each in numbers for number in each.split()))
        count, of = asked["checkpoints"].split()
        model = {"events": EveryEvents, "speculative": EverySpeculative}[of]
        strategy = STRATEGIES[asked.get("strategy", "open box")]
        self.instances = [
            strategy.instance(SpanOperator(), EveryEvents(1), True) for _ in range(int(asked["instances"]))
        ]
        self.splitter = strategy.splitter(predicate, len(self.instances), RoundRobin(), model(int(count)))
        factor = asked.get("factor")
        self.feeder = Feeder(lambda: float(factor), clock_source=0) if factor else None
        self.slack, self.clock = int(asked.get("K", 0)), 0
        self.numbers = [0, 0, 0]
        self.log: list[str] = []

    def run(self, lines: str) -> str:
        for line in lines.splitlines():
            for part in line.split(", "):
                self._run_one(part)
        return "\n".join(self.log)

    def _run_one(self, line: str) -> None:
        verb, _, number = line.partition(" ")
        if verb == "step":
            self._say(self.splitter.step() or [])
        elif verb == "run":
            self._run()
        elif verb == "drain":
            while self._drive("take", int(number)) or self._drive("work", int(number)):
                pass
        elif verb in ("take", "work"):
            self._drive(verb, int(number))
        else:
            source = "abc".index(line[0])
            event = Event(EventName(int(line[2:]), source, self.numbers[source]), line[0])
            self.numbers[source] += 1
            self._feed(event)

    def _feed(self, event: Event) -> None:
        if not self.feeder:
            self.clock = max(self.clock, event.time)
            self._receive(Arrival(event, self.clock, self.slack))
            return
        for arrival in self.feeder.feed(event):
            self._receive(arrival)
            self._run()

    def _receive(self, arrival: Arrival) -> None:
        splitter, event = self.splitter, arrival.event.name
        sort = "speculative" if arrival.is_speculative else "deterministic"
        self.log.append(f"{name(event)}: K {arrival.slack}, clock {arrival.clock}, {sort}")
        kept, until = splitter.states._positions.copy(), splitter.position
        recoveries, slipped = splitter.recoveries, splitter.slipped
        sendings = splitter.receive(arrival)
        if splitter.recoveries > recoveries:
            state = max(position for position in kept if position < event)
            replayed = " ".join(map(name, splitter.events.list_between(state, until)))
            self.log.append(f"  splitter back to {name(state)}, replay of {replayed}")
        if splitter.slipped > slipped:
            self.log.append("  slipped into the queue")
        self._say(sendings)

    def _run(self) -> None:
        """With a black box, instances take what they get and answer."""
        recoveries = self.splitter.recoveries
        while (sendings := self.splitter.step()) is not None:
            self._say(sendings)
            for number, instance in enumerate(self.instances):
                before = instance.handled
                while self.feeder and instance.take() is not None:
                    pass
                self.splitter.hear(number, instance.handled - before, instance.take_replies())
        self.log += [f"  {name(event.name)} is too late" for event in self.splitter.take_late()]
        if self.splitter.recoveries > recoveries:
            self.log.append("  all went back")

    def _drive(self, verb: str, number: int) -> bool:
        instance = self.instances[number]
        before, place = instance.recoveries, instance.position
        found = instance.take() if verb == "take" else instance.work()
        if verb == "work" and found is not None:
            self.log.append(f"{number} works on {name(instance.position)}")
        if instance.recoveries > before:
            self.log.append(f"{number} goes back from {name(place)} to {name(instance.position)}")
        for finding in found or []:
            sign = "retract" if finding.retracted else "give"
            told = " ".join(map(name, finding.match.events))
            self.log.append(f"  {sign} {told} ({finding.match.value})")
        return found is not None

    def _say(self, sendings: list) -> None:
        for number, envelope in sendings:
            self.instances[number].receive(envelope)
            for message in self._parts(envelope):
                mark = " (urgent)" if envelope.urgent else ""
                self.log.append(f"  to {number}: {tell(message)}{mark}")

    @staticmethod
    def _parts(envelope: Envelope) -> tuple:
        return envelope.message.messages if isinstance(envelope.message, Together) else (envelope.message,)


def tell(message: object) -> str:
    match message:
        case SendEvent(event=event, late=late):
            return f"event {name(event.name)}{', late' if late else ''}"
        case OpenWindow(window=window, first=first):
            return f"open w{window} at {name(first)}"
        case CloseWindow(window=window, end=end):
            return f"close w{window} at {name(end)}"
        case Add(window=window, first=first):
            return f"ADD {name(first)} to w{window}"
        case Delete(window=window):
            return f"DEL w{window}"
        case NotClosed(window=window):
            return f"NOTCLOSE w{window}"
        case EndOfReplay():
            return "END"
        case SaveState(number=number):
            return f"save {number}"
        case Restore(number=number):
            return f"restore {number}"
    raise AssertionError(message)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        pytest.param(path, number, id=f"{path.stem}-{number}")
        for path in FILES
        for number in range(len(read_cases(path)))
    ],
)
def test_figure(path: Path, number: int, request: pytest.FixtureRequest) -> None:
    cases = read_cases(path)
    found = Script(cases[number]).run(cases[number].query)
    if request.config.getoption("--golden-update"):
        cases[number] = replace(cases[number], expected=found)
        path.write_text(write_cases(cases))
    assert found == cases[number].expected
