"""What a splitter says to an operator instance, and what an instance says to the merger.

    in order    OpenWindow, CloseWindow, SendEvent                        wait in the normal queue
    urgent      SendEvent (late), Add, Delete, NotClosed, EndOfReplay     overtake what waits there

A window is told by a number that is never used again: a start that moves (Add) leaves the number as it is, and a
message about a window that was deleted can never mean another one.  Since urgent messages overtake, each has a turn:
of two messages about one end of a window, the one with the higher turn holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput
from cepheid.execution.parallel.events import Event


class SendEvent(NamedTuple):
    """late: was an event behind it sent before?"""

    event: Event
    late: bool = False
    is_speculative: bool = False


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """A pseudo-event: a window starts with this event."""

    window: int
    first: EventName


@dataclass(frozen=True, slots=True)
class CloseWindow:
    """A pseudo-event: a window ends with this event, or in front of it, as its predicate says."""

    window: int
    end: EventName


@dataclass(frozen=True, slots=True)
class Add:
    """ADD: the window starts earlier, with this event."""

    window: int
    first: EventName


@dataclass(frozen=True, slots=True)
class Delete:
    """DEL: there is no such window, nor any of its matches."""

    window: int


@dataclass(frozen=True, slots=True)
class NotClosed:
    """NOTCLOSE: the window goes on; where it ends is told later."""

    window: int


@dataclass(frozen=True, slots=True)
class EndOfReplay:
    """END: nothing more follows from the late event."""


@dataclass(frozen=True, slots=True)
class SaveState:
    """Black box: save all that you know, under this number.  oldest: states of lower numbers are not needed."""

    number: int
    oldest: int


@dataclass(frozen=True, slots=True)
class Restore:
    """Black box: be as you were.  state: what you had sent, None: you have it."""

    number: int
    state: Any = None


@dataclass(frozen=True, slots=True)
class StateSaved:
    """Black box: an answer.  state: None, it stays with the instance."""

    number: int
    state: Any = None


@dataclass(frozen=True, slots=True)
class Together:
    """Black box: messages of which an instance sees all or none."""

    messages: tuple[Any, ...]


Message = SendEvent | OpenWindow | CloseWindow | Add | Delete | NotClosed | EndOfReplay
WindowMessage = OpenWindow | CloseWindow | Add | Delete | NotClosed


class Envelope(NamedTuple):
    """turn: grows from message to message.  floor: from now on, no message is about anything at or before it."""

    turn: int
    urgent: bool
    floor: EventName
    message: Any


class Sending(NamedTuple):
    instance: int
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Match:
    """What an operator found: the events of it, in order, and what it makes of them (a value that can be hashed)."""

    events: tuple[EventName, ...]
    value: Any = None

    def __post_init__(self) -> None:
        if not self.events:
            raise InvalidInput("an operator made a match of no events", hint="name the events that it found")


@dataclass(frozen=True, slots=True)
class Finding:
    """A window of an instance has found a match, or (retracted) has it no longer."""

    match: Match
    retracted: bool = False
