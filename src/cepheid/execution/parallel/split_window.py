"""A window as a splitter knows it: where it starts and ends, and who has it."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.disorder.consistency_manager import EventName

NOBODY = -1


@dataclass(frozen=True, slots=True)
class SplitWindow:
    """number: never used again; NOBODY: it was asked for in a replay and is not given away yet.  rank: how many events
    came before its first one.  end: the event that closed it, None: it is open."""

    number: int
    first: EventName
    rank: int
    instance: int
    end: EventName | None = None
