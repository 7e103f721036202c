"""What an instance answers: the batches it has handled, what it found, the state it was asked for, a failure.

    head: a small pickle │ findings: an Arrow record batch of retracted, events │ state

An event of a match is three numbers; the values of all matches of a batch go in the head.  Columns are written by
buffers: Arrow loads pandas, if that is installed, to look at lists, and each process of an instance would have to.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.messages import Finding, Match

FINDINGS = pa.schema([("retracted", pa.bool_()), ("events", pa.list_(pa.int64()))])
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
    values = [finding.match.value for finding in reply.findings]
    head = (
        reply.through,
        reply.handled,
        reply.recoveries,
        reply.answers,
        reply.failure,
        reply.busy_s,
        None if all(value is None for value in values) else values,
        len(reply.checkpoint) if reply.checkpoint is not None else None,
    )
    found = _write_findings(reply.findings) if reply.findings else b""
    told = pickle.dumps(head, protocol=5)
    sizes = len(told).to_bytes(_SIZE, "little") + len(found).to_bytes(_SIZE, "little")
    return b"".join((sizes, told, found, reply.checkpoint or b""))


def _write_findings(all_findings: list[Finding]) -> pa.Buffer:
    retracted = np.packbits([finding.retracted for finding in all_findings], bitorder="little")
    numbers = np.array([event for finding in all_findings for event in finding.match.events], dtype=np.int64)
    ends = np.cumsum([0, *(_NUMBERS * len(finding.match.events) for finding in all_findings)], dtype=np.int32)
    events = pa.Array.from_buffers(pa.int64(), numbers.size, [None, pa.py_buffer(numbers)])
    arrays = [
        pa.Array.from_buffers(pa.bool_(), len(all_findings), [None, pa.py_buffer(retracted)]),
        pa.ListArray.from_arrays(pa.Array.from_buffers(pa.int32(), len(ends), [None, pa.py_buffer(ends)]), events),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=FINDINGS).serialize()


def decode_reply(encoded: bytes) -> Reply:
    told, found = (int.from_bytes(encoded[place : place + _SIZE], "little") for place in (0, _SIZE))
    start = 2 * _SIZE
    through, handled, recoveries, answers, failure, busy_s, values, kept = pickle.loads(encoded[start : start + told])
    findings = _read_findings(pa.py_buffer(encoded).slice(start + told, found), values) if found else []
    checkpoint = encoded[start + told + found :] if kept is not None else None
    return Reply(through, handled, recoveries, findings, answers, checkpoint, failure, busy_s)


def _read_findings(found: pa.Buffer, values: Sequence[Any] | None) -> list[Finding]:
    batch = pa.ipc.read_record_batch(found, FINDINGS)
    retracted = batch.column(0).to_pylist()
    lists = batch.column(1)
    numbers = np.frombuffer(lists.values.buffers()[1], dtype=np.int64).reshape(-1, _NUMBERS).tolist()
    ends = (np.frombuffer(lists.buffers()[1], dtype=np.int32, count=len(batch) + 1)[1:] // _NUMBERS).tolist()
    told = values if values is not None else [None] * len(retracted)
    findings, start = [], 0
    for is_retracted, end, value in zip(retracted, ends, told, strict=True):
        events = tuple(EventName(*each) for each in numbers[start:end])
        findings.append(Finding(Match(events, value), is_retracted))
        start = end
    return findings
