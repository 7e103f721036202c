"""What an engine asks of a stateful operator, whatever it computes.

The engine is the gate: it rejects, sets late events apart, holds back and sorts.  The operator behind it sees events
in order, and tells what must be kept of them.  To add a kind of operator: a class like this, and its case in
`make_operator` (engine.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.kernel.columns import Int64s

PENDING, PAST, HELD = range(3)

Owners = Callable[[pa.Table], Int64s]
"""For a table with the columns `_key0`, ...: int64[n], the number of the part that each row belongs to."""


@dataclass(frozen=True, slots=True)
class KeptEvents:
    """What must be remembered.

    table: events in the layout with `_arrival`; roles: uint8[n], PENDING, PAST (before its key's search) or
    HELD; numbers: int64[n], matches found so far in the event's partition; taken: bool[n], events that are in a match
    already, where that matters; partials: what the operator has to say besides events (LIMIT PARTIALS, panes,
    counters).
    """

    table: pa.Table
    roles: npt.NDArray[np.uint8]
    numbers: Int64s
    taken: npt.NDArray[np.bool_]
    horizon: int
    arrivals: int
    partials: bytes = b""


class Operator(Protocol):
    """One or more vertices over the same events."""

    schemas: list[pa.Schema]  # of the rows of each vertex

    def expect(self, count: int) -> None:
        """So many events will come, in pieces."""
        ...

    def step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> list[pa.Table]:
        """Take in events in order; give the rows of each vertex that are settled once `horizon` is known."""
        ...

    def keep(self, horizon: int) -> KeptEvents:
        """What a new operator must be told to go on from here; horizon and arrivals are the engine's business."""
        ...

    def pick(self, partials: bytes, members: list[int]) -> bytes:
        """The part of `partials` that is about these vertices only, in this order."""
        ...

    def split(self, kept: KeptEvents, owners: Owners, count: int) -> list[KeptEvents]:
        """What `count` operators must be told to go on from here together, each with the events of its own keys.

        Works on what it is given and leaves the operator as it is, as `pick` and `merge` do.
        """
        ...

    def merge(self, parts: list[KeptEvents]) -> KeptEvents:
        """What one operator must be told to go on where several are, all at the same horizon, none with a key of
        another; `_arrival` is unique among all their events."""
        ...

    def replay(self, kept: KeptEvents, times: Int64s, order: Int64s | None) -> None:
        """Go on from there: the first thing a new operator is told.  `order`: of the events, None if they are in order;
        `times` are in order."""
        ...

    def count_kept(self) -> int:
        """How many events are kept, needed or not."""
        ...

    def count_needed(self, horizon: int) -> int: ...

    def floor(self, horizon: int) -> int:
        """No row that is still to come is about an event, or a moment, older than this."""
        ...

    def is_waiting(self) -> bool:
        """May rows come out when only the horizon moves on?"""
        ...

    def take_dropped(self) -> int:
        """Partial matches dropped since this was last asked."""
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """What `step` is given at a time."""

    released: pa.Table
    times: Int64s
    horizon: int
    final: bool


@runtime_checkable
class Adopts(Protocol):
    """An operator that may be told of keys that it has never seen, while others go on."""

    def adopt(self, kept: KeptEvents, times: Int64s) -> None:
        """`replay` of their events, in order."""
        ...


@runtime_checkable
class TakesPieces(Protocol):
    """An operator that is quicker if it is given many pieces at once."""

    def step_pieces(self, pieces: list[Piece]) -> list[list[pa.Table]]:
        """As if `step` had been given one after another: the rows of each vertex, for each piece."""
        ...


def step_pieces(operator: Operator, pieces: list[Piece]) -> list[list[pa.Table]]:
    if isinstance(operator, TakesPieces):
        return operator.step_pieces(pieces)
    return [operator.step(piece.released, piece.times, piece.horizon, piece.final) for piece in pieces]


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows that know their place among those of other operators.

    places: int64[rows] each, the first decides first; rows are in their order.
    """

    table: pa.Table
    places: tuple[Int64s, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """What one of several operators is given at a time.

    released: the events of all of them; events: int64[n], which ones are for this one; times: int64[n], of those;
    first: the ordinal of the first released event.
    """

    released: pa.Table
    events: Int64s
    times: Int64s
    first: int
    horizon: int
    final: bool

    @property
    def ordinals(self) -> Int64s:
        """int64[n]: the numbers of the events, counted over all since the operators began."""
        return self.events + self.first


class PlacedOperator(Operator, Protocol):
    """An operator that may be given some of the events only: its rows then stand between those of others."""

    def step_placed(self, share: Share) -> list[PlacedRows]:
        """As `step`."""
        ...

    def replay_placed(self, kept: KeptEvents, times: Int64s, ordinals: Int64s) -> None:
        """As `replay`, of events in order; their ordinals, and those of all to come, are above the numbers that keys
        have in what is kept."""
        ...


def kept_events(table: pa.Table, partials: bytes = b"") -> KeptEvents:
    """Events that are kept as they are."""
    count = len(table)
    return KeptEvents(
        table,
        np.full(count, PENDING, dtype=np.uint8),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.bool_),
        0,
        0,
        partials,
    )
