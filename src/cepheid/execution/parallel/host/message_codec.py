"""Messages of a splitter as bytes: numbers in records of one length, and an Arrow record batch of the rows of events.

    number, flags, floor │ lengths │ messages: kind, turn, flags, window, time, source, number │ rows of events

The schema of the rows is known on both sides and does not travel.  Numbers are no Arrow columns: a batch has few
messages, as a rule, and to write seven columns takes longer than all that an instance does with them.  All envelopes
of a batch have the floor of the first: a floor that is too low only keeps more.  Messages that belong together (black
box) stand in a row and have one turn.  The END right behind a late event, which is all that most instances are told of
a replay, is a flag of the event.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import is_
from struct import Struct
from typing import Any, NamedTuple

import pyarrow as pa

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput
from cepheid.execution.parallel.events import Event
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

KINDS = [SendEvent, OpenWindow, CloseWindow, Add, Delete, NotClosed, EndOfReplay, SaveState, Restore]
_KIND_NUMBERS: dict[type, int] = {kind: number for number, kind in enumerate(KINDS)}
_URGENT, _LATE, _SPECULATIVE, _TOGETHER, _ENDS = 1, 2, 4, 8, 16
_NO_EVENT = EventName(0, 0, 0)
_HEAD = Struct("<q??qqqqq")
_MESSAGE = Struct("<bqbqqiq")  # kind, turn, flags, window, time, source, number
_FLAGS = 9  # where they stand in it


class MessageBatch(NamedTuple):
    """number: grows by one from batch to batch.  asks_checkpoint: the instance shall send its state.  is_boundary: it
    shall answer before it reads on."""

    number: int
    asks_checkpoint: bool
    is_boundary: bool
    envelopes: list[Envelope]


@dataclass(frozen=True, slots=True)
class WrittenEnvelope:
    """records: of its messages.  data: of the events in them."""

    envelope: Envelope
    records: list[bytes]
    data: list[Any]


class MessageWriter:
    """schema: of the data of events, which are mappings.  What several instances are told is written once."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._written: dict[int, WrittenEnvelope] = {}  # by identity of the envelope, which is kept with it
        self._data: list[Any] = []  # of the batch before,
        self._rows = b""  # and as it was written

    def write(self, batch: MessageBatch) -> bytes:
        records: list[bytes] = []
        data: list[Any] = []
        for envelope in batch.envelopes:
            if isinstance(envelope.message, EndOfReplay) and records:
                last = records[-1]
                if last[_FLAGS] & (_LATE | _ENDS) == _LATE:
                    records[-1] = last[:_FLAGS] + bytes((last[_FLAGS] | _ENDS,)) + last[_FLAGS + 1 :]
                    continue
            written = self._written.get(id(envelope)) or self._write_envelope(envelope)
            records += written.records
            data += written.data
        messages, rows = b"".join(records), self._write_rows(data) if data else b""
        floor = batch.envelopes[0].floor if batch.envelopes else _NO_EVENT
        head = _HEAD.pack(batch.number, batch.asks_checkpoint, batch.is_boundary, *floor, len(messages), len(rows))
        return b"".join((head, messages, rows))

    def forget(self) -> None:
        """All instances have been told."""
        self._written.clear()

    def _write_envelope(self, envelope: Envelope) -> WrittenEnvelope:
        written = self._written[id(envelope)] = WrittenEnvelope(envelope, [], [])
        message, flags = envelope.message, _URGENT if envelope.urgent else 0
        is_together = isinstance(message, Together)
        for each in message.messages if is_together else (message,):
            extra = _TOGETHER if is_together else 0
            if isinstance(each, SendEvent):
                written.data.append(each.event.data)
                extra |= (_LATE if each.late else 0) | (_SPECULATIVE if each.is_speculative else 0)
                window, event = 0, each.event.name
            else:
                window, event = _read_message(each)
            record = _MESSAGE.pack(_KIND_NUMBERS[type(each)], envelope.turn, flags | extra, window, *event)
            written.records.append(record)
        return written

    def _write_rows(self, data: list[Any]) -> bytes:
        if len(data) == len(self._data) and all(map(is_, data, self._data)):
            return self._rows
        try:
            columns = [pa.array([row.get(field.name) for row in data], field.type) for field in self._schema]
            rows = pa.RecordBatch.from_arrays(columns, schema=self._schema).serialize().to_pybytes()
        except (pa.ArrowException, AttributeError, TypeError) as problem:
            hint = f"each must be a mapping with values for the columns {', '.join(self._schema.names)}"
            raise InvalidInput(f"the data of an event does not fit the schema: {problem}", hint=hint) from problem
        self._data, self._rows = data, rows
        return rows


def encode_messages(batch: MessageBatch, schema: pa.Schema) -> bytes:
    """One batch by itself."""
    return MessageWriter(schema).write(batch)


def set_flags(encoded: bytes, asks_checkpoint: bool, is_boundary: bool) -> bytes:
    """The same batch with other flags."""
    number, _, _, *rest = _HEAD.unpack_from(encoded)
    return _HEAD.pack(number, asks_checkpoint, is_boundary, *rest) + encoded[_HEAD.size :]


def decode_messages(encoded: bytes, schema: pa.Schema) -> MessageBatch:
    number, asks, boundary, time, source, place, size, events_size = _HEAD.unpack_from(encoded)
    floor = EventName(time, source, place)
    whole = pa.py_buffer(encoded)
    rows = whole.slice(_HEAD.size + size, events_size)
    data = iter(pa.ipc.read_record_batch(rows, schema).to_pylist() if events_size else ())
    envelopes: list[Envelope] = []
    told = list(_MESSAGE.iter_unpack(whole[_HEAD.size : _HEAD.size + size]))
    if not any(row[2] & _TOGETHER for row in told):
        for row in told:
            urgent = bool(row[2] & _URGENT)
            envelopes.append(Envelope(row[1], urgent, floor, _make_message(row, data)))
            if row[2] & _ENDS:
                envelopes.append(Envelope(row[1], urgent, floor, EndOfReplay()))
        return MessageBatch(number, asks, boundary, envelopes)
    for (turn, flags), group in groupby(told, key=lambda row: (row[1], row[2] & (_URGENT | _TOGETHER))):
        parts = [_make_message(row, data) for row in group]
        urgent = bool(flags & _URGENT)
        if flags & _TOGETHER:
            envelopes.append(Envelope(turn, urgent, floor, Together(tuple(parts))))
        else:
            envelopes += [Envelope(turn, urgent, floor, part) for part in parts]
    return MessageBatch(number, asks, boundary, envelopes)


def _read_message(message: Any) -> tuple[int, EventName]:
    match message:
        case OpenWindow(window=window, first=place) | Add(window=window, first=place):
            return window, place
        case CloseWindow(window=window, end=place):
            return window, place
        case Delete(window=window) | NotClosed(window=window):
            return window, _NO_EVENT
        case SaveState(number=number, oldest=oldest):
            return number, EventName(oldest, 0, 0)
        case Restore(number=number, state=None):
            return number, _NO_EVENT
        case EndOfReplay():
            return 0, _NO_EVENT
    raise AssertionError(f"{message} does not travel")


def _make_message(row: tuple[int, ...], data: Any) -> Any:
    number, _, flags, window, *place = row
    kind, event = KINDS[number], EventName(*place)
    if kind is SendEvent:
        return SendEvent(Event(event, next(data)), bool(flags & _LATE), bool(flags & _SPECULATIVE))
    if kind in (OpenWindow, CloseWindow, Add):
        return kind(window, event)
    if kind in (Delete, NotClosed, Restore):
        return kind(window)
    return SaveState(window, event.time) if kind is SaveState else EndOfReplay()
