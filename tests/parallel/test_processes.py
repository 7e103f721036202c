"""Operator instances as processes: the answer of one process, whatever happens to them, and nothing stays behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput, RunFailed
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.events import Arrival, Event
from cepheid.execution.parallel.host import instance_link
from cepheid.execution.parallel.host.message_codec import MessageBatch, decode_messages, encode_messages
from cepheid.execution.parallel.host.reply_codec import Reply, decode_reply, encode_reply
from cepheid.execution.parallel.host.shared_ring import SharedRing, frame_record
from cepheid.execution.parallel.host.windows_in_processes import WindowsInProcesses
from cepheid.execution.parallel.messages import (
    Add,
    CloseWindow,
    Delete,
    EndOfReplay,
    Envelope,
    Finding,
    Match,
    NotClosed,
    OpenWindow,
    Restore,
    SaveState,
    SendEvent,
    StateSaved,
    Together,
)
from cepheid.execution.parallel.operators.sequence import SequenceOperator
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.predicates.time import TimePredicate
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.splitter import Splitter

sys.path.append(str(Path(__file__).parent))
from feeder import Feeder, feed_all
from in_process import net
from reference import find_matches
from shipped_operators import DyingAlways, DyingOnce, Failing, Unwelcome, WholeWindow, read_sort

KILLS = int(os.environ.get("CEPHEID_KILLS", "2"))
SHARED = Path("/dev/shm")  # segments are files there, on Linux
SCHEMA = pa.schema([("sort", pa.string()), ("value", pa.float64())])


def draw_events(count: int, late: int, seed: int = 7) -> list[Event]:
    random = Random(seed)
    events = []
    for time in range(count):
        data = {"sort": random.choice("abc"), "value": random.random()}
        delay = random.randint(1, late) if late and random.random() < 0.1 else 0
        events.append((time + delay, Event(EventName(time, random.randrange(3), time), data)))
    return [event for _, event in sorted(events, key=lambda each: each[0])]


def run(windows: WindowsInProcesses, events: list[Event], late: int, cut: int = 20, in_step: bool = False) -> list:
    """in_step: whatever comes late finds that all before it is done."""
    arrivals = list(feed_all(Feeder(lambda: 0, late + 1), events))
    changes = []
    for start in range(0, len(arrivals), cut):
        changes += windows.push(arrivals[start : start + cut])
        if in_step:
            changes += windows.drain()
    return changes + windows.drain()


@pytest.fixture(autouse=True)
def _nothing_stays_behind() -> Iterator[None]:
    """No process, no segment of shared memory."""
    yield
    gc.collect()
    assert multiprocessing.active_children() == []
    assert not list(SHARED.glob(f"cepheid-{os.getpid()}-*"))


@pytest.mark.parametrize("strategy", ["open box", "black box"])
@pytest.mark.parametrize("predicate", [CountPredicate(20, 7), TimePredicate(25, 10)])
def test_processes_give_the_answer_of_the_sorted_events(strategy: str, predicate: Predicate) -> None:
    events = draw_events(300, 12)
    with WindowsInProcesses(predicate, WholeWindow(), SCHEMA, instances=2, strategy=strategy) as windows:
        changes = run(windows, events, 12, cut=5, in_step=True)
        assert windows.splitter.recoveries > 3
        assert sum(link.recoveries for link in windows.links) > 3
    assert net(changes) == find_matches(events, predicate, WholeWindow())
    assert any(change.retracted for change in changes)


def test_sequences_are_found_in_processes() -> None:
    events, operator = draw_events(400, 20), SequenceOperator("abc", read_sort)
    with WindowsInProcesses(CountPredicate(100, 20), operator, SCHEMA, instances=2) as windows:
        changes = run(windows, events, 20)
    found = net(changes)
    assert len(found) > 50
    assert found == find_matches(events, CountPredicate(100, 20), operator)


def test_rings_far_smaller_than_what_travels_hold_back_and_lose_nothing() -> None:
    events = draw_events(300, 12)
    with WindowsInProcesses(CountPredicate(20, 7), WholeWindow(), SCHEMA, instances=2, ring_bytes=256) as windows:
        changes = run(windows, events, 12)
    assert net(changes) == find_matches(events, CountPredicate(20, 7), WholeWindow())


def test_an_instance_that_dies_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance_link, "LOG_BYTES", 1_000)  # so that there are checkpoints
    events = draw_events(300, 12)
    operator = DyingOnce(str(tmp_path / "died"), 222)
    with WindowsInProcesses(CountPredicate(20, 7), operator, SCHEMA, instances=2) as windows:
        changes = run(windows, events, 12, in_step=True)
        assert sorted(link.lives for link in windows.links) in ([1, 2], [2, 2])
        assert all(link._checkpoint[0] > 0 for link in windows.links)
    assert net(changes) == find_matches(events, CountPredicate(20, 7), WholeWindow())


def test_an_instance_that_is_killed_from_outside_goes_on() -> None:
    events = draw_events(300, 12)
    arrivals = list(feed_all(Feeder(lambda: 0, 13), events))
    with WindowsInProcesses(CountPredicate(20, 7), WholeWindow(), SCHEMA, instances=2) as windows:
        changes = windows.push(arrivals[:150]) + windows.drain()
        killed = windows.links[1].process_id
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        changes += windows.push(arrivals[150:]) + windows.drain()
        assert [link.lives for link in windows.links] == [1, 2]
    assert net(changes) == find_matches(events, CountPredicate(20, 7), WholeWindow())


@pytest.mark.parametrize("seed", range(5, 5 + KILLS))
@pytest.mark.parametrize("strategy", ["open box", "black box"])
def test_whoever_is_killed_whenever_the_answer_stays(strategy: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance_link, "LOG_BYTES", 2_000)
    random, events, changes = Random(seed), draw_events(200, 12), []
    arrivals = list(feed_all(Feeder(lambda: 0, 13), events))
    with WindowsInProcesses(CountPredicate(20, 7), WholeWindow(), SCHEMA, instances=2, strategy=strategy) as windows:
        for start in range(0, len(arrivals), 20):
            changes += windows.push(arrivals[start : start + 20])
            if start % 60 == 0:
                # who dies three times without getting any further is given up
                changes += windows.drain() if start % 120 == 0 or random.random() < 0.5 else []
                killed = random.choice(windows.links).process_id
                assert killed is not None
                os.kill(killed, signal.SIGKILL)
        changes += windows.drain()
        assert sum(link.lives for link in windows.links) > len(windows.links), "nobody was killed"
    assert net(changes) == find_matches(events, CountPredicate(20, 7), WholeWindow())


def test_an_instance_that_always_dies_is_told() -> None:
    with WindowsInProcesses(CountPredicate(20, 7), DyingAlways(), SCHEMA, instances=1) as windows:
        with pytest.raises(RunFailed, match="died 3 times") as told:
            run(windows, draw_events(100, 0), 0)
        assert told.value.hint


def test_an_operator_that_raises_is_told_with_its_words() -> None:
    with WindowsInProcesses(CountPredicate(20, 7), Failing(), SCHEMA, instances=2) as windows:
        with pytest.raises(RunFailed, match="ZeroDivisionError: fifty") as told:
            run(windows, draw_events(100, 0), 0)
        assert told.value.code == "run-failed"
        assert told.value.hint
        with pytest.raises(InvalidInput, match="closed"):
            windows.drain()


def test_an_operator_that_cannot_arrive_is_told() -> None:
    windows = WindowsInProcesses(CountPredicate(20, 7), Unwelcome(), SCHEMA, instances=1)
    with windows, pytest.raises(RunFailed, match="not here"):
        run(windows, draw_events(100, 0), 0)


def test_an_operator_that_cannot_travel_is_refused() -> None:
    lock = threading.Lock()
    with pytest.raises(InvalidInput, match="cannot be sent"):
        WindowsInProcesses(CountPredicate(20, 7), SequenceOperator("ab", lambda event: (lock, event)), SCHEMA)


def test_an_operator_travels_by_its_code() -> None:
    events, sort = draw_events(200, 0), "sort"
    operator = SequenceOperator("abc", lambda event: event.data[sort])
    with WindowsInProcesses(CountPredicate(20, 7), operator, SCHEMA, instances=2) as windows:
        changes = run(windows, events, 0)
        assert all(busy > 0 for busy in windows.busy_s)
        assert windows.is_handled(windows.tell_sent())
    assert net(changes) == find_matches(events, CountPredicate(20, 7), operator)


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(InvalidInput, match="grey box"):
        WindowsInProcesses(CountPredicate(20, 7), WholeWindow(), SCHEMA, strategy="grey box")


class SendingAgain(Splitter):
    """Notes what would be sent if every event since the state was sent again to those who had it, with its windows."""

    def __init__(self, instances: int) -> None:
        super().__init__(CountPredicate(100, 20), instances, RoundRobin(), EveryEvents(50))
        self.again: list[Envelope] = []

    def _go_back(self, event: Event) -> None:
        until, had = self.position, dict(self.has_event)
        state = max(position for position in self.states._positions if position < event.name)
        super()._go_back(event)
        every = (1 << len(self.loads)) - 1
        for each in self.events.list_between(state, until):
            owners = (had[each] if each != event.name else every).bit_count()
            self.again += [Envelope(0, False, self.floor, SendEvent(self.events[each]))] * owners
        for window in (*self.closed, *self.state.windows):
            if window.first > state:
                self.again.append(Envelope(0, False, self.floor, OpenWindow(window.number, window.first)))


def test_replay_sends_less_than_a_twentieth_of_what_sending_again_would() -> None:
    """Windows of 100 events every 20, a state every 50 events, rows of two columns: more data would make it less."""
    splitter, urgent = SendingAgain(4), []
    for arrival in feed_all(Feeder(lambda: 0, 41), draw_events(2_000, 40)):
        urgent += [envelope for _, envelope in splitter.receive(arrival)]
        while splitter.step() is not None:
            pass
    ours, theirs = (
        len(encode_messages(MessageBatch(0, False, False, sent), SCHEMA)) for sent in (urgent, splitter.again)
    )
    assert splitter.recoveries > 150
    assert ours < 0.05 * theirs


FORGETFUL = """
import os, signal, sys
sys.path.append(sys.argv[1])
if __name__ == "__main__":
    import test_processes as here
    windows = here.WindowsInProcesses(here.CountPredicate(20, 7), here.WholeWindow(), here.SCHEMA, instances=1)
    here.run(windows, here.draw_events(50, 0), 0)
    print(windows.links[0].process_id, flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
@pytest.mark.parametrize("way", ["killed", "ends"])
def test_processes_end_with_an_application_that_does_not_close(way: str, tmp_path: Path) -> None:
    script = tmp_path / "forgetful.py"
    script.write_text(FORGETFUL)
    command = [sys.executable, str(script), str(Path(__file__).parent), way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as application:
        assert application.stdout is not None
        number = int(application.stdout.readline())
        try:
            ended = os.pidfd_open(number)
        except ProcessLookupError:
            return  # already
        assert select.select([ended], [], [], 20)[0], "it looks for the application now and then"
        os.close(ended)


def test_data_that_does_not_fit_the_schema_is_refused() -> None:
    arrival = Arrival(Event(EventName(1, 0, 0), {"value": "much"}), 1, 0)
    with (
        WindowsInProcesses(CountPredicate(20, 7), WholeWindow(), SCHEMA, instances=1) as windows,
        pytest.raises(InvalidInput, match="does not fit"),
    ):
        windows.push([arrival])


# --- what travels -----------------------------------------------------------------------------------------


def test_every_message_comes_out_as_it_went_in() -> None:
    here, floor = EventName(5, 2, 9), EventName(1, 0, 0)
    event = Event(here, {"sort": "a", "value": 1.5})
    parts = [
        *(SendEvent(event, True, False), SendEvent(event, False, True), OpenWindow(3, here), CloseWindow(3, here)),
        *(Add(3, here), Delete(3), NotClosed(3), EndOfReplay()),
    ]
    envelopes = [Envelope(turn, turn % 2 == 0, floor, part) for turn, part in enumerate(parts)]
    envelopes.append(Envelope(50, False, floor, Together((SaveState(4, 2), SendEvent(event), Restore(1)))))
    envelopes.append(Envelope(51, False, floor, Together((OpenWindow(8, here),))))
    batch = MessageBatch(7, True, False, envelopes)
    assert decode_messages(encode_messages(batch, SCHEMA), SCHEMA) == batch


def test_an_end_right_behind_a_late_event_costs_nothing() -> None:
    event = Event(EventName(5, 2, 9), {"sort": "a", "value": 1.5})
    late = [Envelope(3, True, EventName(1, 0, 0), SendEvent(event, late=True))]
    ended = [*late, Envelope(3, True, EventName(1, 0, 0), EndOfReplay())]
    sizes = [len(encode_messages(MessageBatch(7, False, False, each), SCHEMA)) for each in (late, ended)]
    assert sizes[0] == sizes[1]
    for sent in (ended, ended + late, ended + ended, [*ended, ended[-1]]):
        batch = MessageBatch(7, False, False, sent)
        assert decode_messages(encode_messages(batch, SCHEMA), SCHEMA) == batch


def test_every_reply_comes_out_as_it_went_in() -> None:
    match = Match((EventName(1, 2, 3), EventName(4, 5, 6)), ("x", 1.5))
    findings = [Finding(match), Finding(Match((EventName(7, 8, 9),)), retracted=True)]
    for reply in (
        Reply(3, 40, 1, findings, [StateSaved(4)], b"state"),
        Reply(3, 40, 1, [], [], busy_s=0.5),
    ):
        assert decode_reply(encode_reply(reply)) == reply


def test_records_cross_the_end_of_a_ring() -> None:
    ring = SharedRing(64)
    other = SharedRing(64, ring.name)
    random, read, records = Random(3), [], [bytes([number]) * (number * 7 % 150) for number in range(60)]
    waiting = memoryview(b"".join(map(frame_record, records)))
    while len(read) < len(records):
        waiting = waiting[ring.write(waiting[: random.randint(0, 90)]) :]
        other.take_in()
        while (record := other.read_record()) is not None:
            read.append(record)
    assert read == records
    other.close()
    ring.close()
