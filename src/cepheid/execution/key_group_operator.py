"""An operator over all events of its engine, made of several that have some key groups each.

    events in order ─▶ owner of each one's key group ─┬─▶ operator 0 ─┬─▶ rows in the order of one operator
                                                      └─▶ operator 1 ─┘

The gate in front is one, so that all see events in the same order and the same horizon.  Which rows come out at a step
does not depend on how many operators there are; their order is restored from the place that each row has
(placed_rows.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.event_time import order_values
from cepheid.execution.cores import run_all, run_one_by_one
from cepheid.execution.operator import KeptEvents, Owners, Piece, PlacedOperator, PlacedRows, Share
from cepheid.execution.placed_rows import merge_rows
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.key_owners import count_groups, part_events
from cepheid.kernel.key_hash import group_keys
from cepheid.placement.core_split import CoreSplit
from cepheid.settings import KEY_GROUPS

WORTH_THREADS = 16_384  # events or rows: for fewer, threads cost more than they save
WORTH_BALANCING, ENOUGH_TO_BALANCE = 4_096, 65_536  # events that say how many each key group will have


Run = Callable[[Sequence[Callable[[], Any]]], list[Any]]


@dataclass(frozen=True, slots=True)
class PartedPiece:
    """A piece, the indices of the events of each operator in it, and the ordinal of its first event."""

    piece: Piece
    events: list[Int64s]
    first: int


class KeyGroupOperator:
    """`make`: an operator for some of the events; `split`: the columns that decide which."""

    def __init__(self, make: Callable[[], PlacedOperator], split: CoreSplit, engines: int) -> None:
        assert split.columns, "there is something to split by"
        self._make = make
        self._split = split
        self._operators = [make() for _ in range(engines)]
        self._owners: Int64s = np.arange(KEY_GROUPS, dtype=np.int64) % engines
        self._ordinal = 0  # of the next event
        self.schemas = self._operators[0].schemas

    @property
    def owners(self) -> Int64s:
        """int64[key groups]: the operator that has each."""
        return self._owners

    def expect(self, count: int) -> None:
        for operator in self._operators:
            operator.expect(count // len(self._operators))

    def step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> list[pa.Table]:
        return self.step_pieces([Piece(released, times, horizon, final)])[0]

    def step_pieces(self, pieces: list[Piece]) -> list[list[pa.Table]]:
        """Each operator goes through its share of all pieces without waiting for the others."""
        count = sum(len(piece.released) for piece in pieces)
        run = run_all if count >= WORTH_THREADS else run_one_by_one
        if self._ordinal == 0 and count >= WORTH_BALANCING:
            self._balance(pieces[0].released.slice(0, ENOUGH_TO_BALANCE))
        shares = self._part_pieces(pieces, run)
        steps = [partial(self._step_share, number, shares) for number in range(len(self._operators))]
        by_operator = run(steps)
        by_piece = [list(zip(*found, strict=True)) for found in zip(*by_operator, strict=True)]
        return run([partial(_merge_piece, vertices) for vertices in by_piece])

    def _balance(self, released: pa.Table) -> None:
        counts = count_groups(self._keys_of(released), len(released), len(self._owners))
        self._owners = balance_groups(counts, len(self._operators))

    def _keys_of(self, events: pa.Table) -> list[pa.ChunkedArray]:
        return [events.column(name) for name in self._split.columns]

    def _part_pieces(self, pieces: list[Piece], run: Run) -> list[PartedPiece]:
        """Which events of each piece each operator gets; one large piece is cut, so that all threads have some of it to
        look through."""
        cuts = 1 if len(pieces) >= len(self._operators) else len(self._operators)
        spans = [(number, *span) for number, piece in enumerate(pieces) for span in _cut(len(piece.released), cuts)]

        def part(number: int, begin: int, end: int) -> list[Int64s]:
            keys = self._keys_of(pieces[number].released.slice(begin, end - begin))
            return part_events(keys, end - begin, self._owners, len(self._operators), begin)

        found = run([partial(part, *span) for span in spans])
        shares = []
        for number, piece in enumerate(pieces):
            parts = found[number * cuts : (number + 1) * cuts]
            shares.append(PartedPiece(piece, [_join(events) for events in zip(*parts, strict=True)], self._ordinal))
            self._ordinal += len(piece.released)
        return shares

    def _step_share(self, number: int, shares: list[PartedPiece]) -> list[list[PlacedRows]]:
        """What one operator finds in its events of each piece."""
        operator, found = self._operators[number], []
        for parted in shares:
            mine, piece, counts = parted.events[number], parted.piece, self._split.counts
            times = mine + parted.first if counts else piece.times.take(mine)
            horizon = parted.first + len(piece.times) if counts else piece.horizon
            found.append(operator.step_placed(Share(piece.released, mine, times, parted.first, horizon, piece.final)))
        return found

    def count_kept(self) -> int:
        return sum(operator.count_kept() for operator in self._operators)

    def count_needed(self, horizon: int) -> int:
        reached = self._ordinal if self._split.counts else horizon
        return sum(operator.count_needed(reached) for operator in self._operators)

    def floor(self, horizon: int) -> int:
        if self._split.counts:  # a row for each event, when it comes
            return horizon
        return min(operator.floor(horizon) for operator in self._operators)

    def is_waiting(self) -> bool:
        return any(operator.is_waiting() for operator in self._operators)

    def take_dropped(self) -> int:
        return sum(operator.take_dropped() for operator in self._operators)

    # --- state -------------------------------------------------------------------------------------------
    def keep(self, horizon: int) -> KeptEvents:
        """What one operator must be told, or any number of them."""
        self._refuse_groups()
        return self._operators[0].merge([operator.keep(horizon) for operator in self._operators])

    def pick(self, partials: bytes, members: list[int]) -> bytes:
        return self._operators[0].pick(partials, members)

    def split(self, kept: KeptEvents, owners: Owners, count: int) -> list[KeptEvents]:
        return self._operators[0].split(kept, owners, count)

    def merge(self, parts: list[KeptEvents]) -> KeptEvents:
        return self._operators[0].merge(parts)

    def replay(self, kept: KeptEvents, times: Int64s, order: Int64s | None) -> None:
        self._refuse_groups()
        in_order = kept.table if order is None else kept.table.take(pa.array(order))
        whose = self._find_owners(in_order)
        first = max(kept.arrivals, len(whose))  # numbers of keys are smaller: those that are known come first
        parts = self._operators[0].split(kept, self._find_owners, len(self._operators))
        for number, (operator, part) in enumerate(zip(self._operators, parts, strict=True)):
            mine = np.flatnonzero(whose == number)
            operator.replay_placed(part, times[mine], mine + first)
        self._ordinal = first + len(whose)

    def scale(self, engines: int, horizon: int) -> None:
        """Go on with another number of operators, at the horizon that was last told."""
        self._rearrange(np.arange(len(self._owners), dtype=np.int64) % engines, engines, horizon)

    def move_groups(self, groups: list[int], engine: int, horizon: int) -> None:
        """Give key groups to another operator, at the horizon that was last told."""
        owners = self._owners.copy()
        owners[groups] = engine
        self._rearrange(owners, len(self._operators), horizon)

    def _rearrange(self, owners: Int64s, engines: int, horizon: int) -> None:
        kept = replace(self.keep(horizon), horizon=horizon, arrivals=self._ordinal)
        self._owners = owners
        self._operators = [self._make() for _ in range(engines)]
        times, _ = order_values(kept.table.column("_time"))
        self.replay(kept, times, None)

    def _find_owners(self, rows: pa.Table) -> Int64s:
        return self._owners[group_keys(self._keys_of(rows), len(rows), len(self._owners))]

    def _refuse_groups(self) -> None:
        if not self._split.keyed:
            raise NotSupportedYet(
                "the state of a window of the whole stream, whose groups several engines share",
                hint="run it on one engine where state is kept: engines=1",
            )


def balance_groups(counts: Int64s, engines: int) -> Int64s:
    """int64[key groups]: an owner for each, so that all have about as many events: the largest group first, to the one
    that has the fewest."""
    owners = np.zeros(len(counts), dtype=np.int64)
    loads = [0] * engines
    for group in np.argsort(-counts, kind="stable").tolist():
        owner = loads.index(min(loads))
        owners[group] = owner
        loads[owner] += int(counts[group]) + 1
    return owners


def _merge_piece(vertices: list[tuple[PlacedRows, ...]]) -> list[pa.Table]:
    """The rows of each vertex, of which each operator has some."""
    return [merge_rows(list(parts)) for parts in vertices]


def _cut(count: int, ways: int) -> list[tuple[int, int]]:
    bounds = [count * way // ways for way in range(ways + 1)]
    return list(pairwise(bounds))


def _join(parts: tuple[Int64s, ...]) -> Int64s:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
