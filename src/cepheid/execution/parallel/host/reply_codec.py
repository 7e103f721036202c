"""What an instance answers: the batches it has handled, what it found, the state it was asked for, a failure.

    head: a small pickle │ numbers of the events of all matches │ state

An event of a match is three numbers; which findings are retracted, how many events each has, and the values of all
matches go in the head.
"""

from __future__ import annotations

import pickle
from array import array
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.messages import Finding, Match

_SIZE = 8
_NUMBERS = 3  # of an event's name


@dataclass(frozen=True, slots=True)
class Failure:
    """sentence: what the user is told.  trace: where it happened."""

    sentence: str
    trace: str
    hint: str


@dataclass(frozen=True, slots=True)
class Reply:
    """through: the number of the last batch that was handled.  handled: so many messages.  busy_s: so long it took."""

    through: int
    handled: int
    recoveries: int
    findings: list[Finding]
    answers: list[Any]
    checkpoint: bytes | None = None
    failure: Failure | None = None
    busy_s: float = 0.0


def encode_reply(reply: Reply) -> bytes:
    findings = reply.findings
    values = [finding.match.value for finding in findings]
    numbers = array("q", [number for finding in findings for event in finding.match.events for number in event])
    head = (
        reply.through,
        reply.handled,
        reply.recoveries,
        reply.answers,
        reply.failure,
        reply.busy_s,
        [finding.retracted for finding in findings],
        [len(finding.match.events) for finding in findings],
        None if all(value is None for value in values) else values,
        len(reply.checkpoint) if reply.checkpoint is not None else None,
    )
    told, found = pickle.dumps(head, protocol=5), numbers.tobytes()
    sizes = len(told).to_bytes(_SIZE, "little") + len(found).to_bytes(_SIZE, "little")
    return b"".join((sizes, told, found, reply.checkpoint or b""))


def decode_reply(encoded: bytes) -> Reply:
    told, found = (int.from_bytes(encoded[place : place + _SIZE], "little") for place in (0, _SIZE))
    start = 2 * _SIZE
    through, handled, recoveries, answers, failure, busy_s, *listed, kept = pickle.loads(encoded[start : start + told])
    numbers = array("q", encoded[start + told : start + told + found])
    checkpoint = encoded[start + told + found :] if kept is not None else None
    findings = _read_findings(numbers, *listed)
    return Reply(through, handled, recoveries, findings, answers, checkpoint, failure, busy_s)


def _read_findings(
    numbers: array[int], retracted: list[bool], counts: list[int], values: list[Any] | None
) -> list[Finding]:
    events = map(EventName, numbers[0::_NUMBERS], numbers[1::_NUMBERS], numbers[2::_NUMBERS])
    told = values if values is not None else [None] * len(retracted)
    return [
        Finding(Match(tuple(islice(events, count)), value), is_retracted)
        for is_retracted, count, value in zip(retracted, counts, told, strict=True)
    ]
