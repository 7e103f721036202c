"""How the steps of a SEQ follow one another, where each has a contiguity and a count of its own: places and ways.

    SEQ(ticks a NEXT ticks{2} b[] FOLLOWED BY ticks c)

    place 0  -a->  1  -b (next)->  2  -b (followed)->  3  -c (followed)->  4  a match

A partial match rests in a place and waits on the ways that are open to it.  An event that a way asks for takes a copy
of it along; time takes it along a way that waits for time (`~c FOR 2 seconds`).  Ways close: one that asks for a
neighbour by the next event, one that takes the first event that fits by that event, all behind an absence by an event
that must not come.  A partial match that has no open way left is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Contiguity = Literal["next", "followed", "any"]
AT_DEADLINE = -1
"""`after` of a way that is taken when WITHIN is over."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way on from a place.

    `variable`: the step whose event takes it; None: time does, `after` microseconds behind the moment at which the
    place was reached.
    `contiguity`: "next" closes with any event, "followed" with one that fits a way of the same `scope`, "any" never.
    `yields`: ways of the same place, by number; an event that fits one of them does not take this one, and closes it.
    `keeps_moment`: the moment of the place before counts on (parts of one group).
    `repeats`: time may take it again and again, each time counted from the last.
    `restart`: a copy without what is bound to `variables` begins again at that place.
    """

    target: int
    variable: str | None = None
    after: int | None = None
    contiguity: Contiguity = "followed"
    scope: int = 0
    yields: tuple[int, ...] = ()
    keeps_moment: bool = False
    repeats: bool = False
    restart: int | None = None
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """An event that must not come: it closes `ways` of its place, by number.

    `at_once`: only as the first event behind the place; `before`: ways close before the event can take them (NOT NEXT,
    UNTIL); `refuses`: it closes ways that it fits and does not take them, those of "any" stay open (the first element
    of a repetition with UNTIL; a condition that names elements says nothing about it); `restarts`: nothing is closed,
    but time is counted from that event on.
    """

    variable: str
    ways: tuple[int, ...]
    at_once: bool = False
    before: bool = False
    refuses: bool = False
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """`accepts`: what arrives here is a match; `inside`: an attempt is under way here, so that no other begins."""

    ways: tuple[Way, ...] = ()
    bars: tuple[Bar, ...] = ()
    accepts: bool = False
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """Steps that are repeated together, in the order in which they are written: a condition between them is about the
    events of one round, and is tested at the last of them that it names."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """Places, of which the first is the start.

    `begins`: "always", with each event that fits; "again", when no attempt is under way inside; "once", when none is
    under way at all, until there is a match; "first", with the first event, and never again.
    """

    places: tuple[Place, ...]
    begins: Literal["always", "again", "once", "first"] = "always"
    rounds: tuple[Round, ...] = ()

    def is_tested_at(self, variable: str, named: set[str]) -> bool:
        """Is a condition that names these variables tested when an event is bound to one of them?"""
        return not any(
            variable in each.variables and named & set(each.variables[each.variables.index(variable) + 1 :])
            for each in self.rounds
        )

    @property
    def asks_for_all(self) -> bool:
        """Does it matter that an event came, even if it fits nothing?"""
        return (
            any(way.contiguity == "next" for place in self.places for way in place.ways)
            or any(bar.at_once for place in self.places for bar in place.bars)
            or any(way.after is not None for way in self.places[0].ways)
            or self.begins == "first"
            or self.repeats
        )

    @property
    def waits(self) -> bool:
        """May time take a partial match along?"""
        return any(way.after is not None for place in self.places for way in place.ways)

    @property
    def repeats(self) -> bool:
        return any(way.repeats for place in self.places for way in place.ways)

    def list_bound(self) -> set[str]:
        """The variables that every match has bound."""
        named = {way.variable for place in self.places for way in place.ways if way.variable is not None}
        return {variable for variable in named if not self._accepts_without(variable)}

    def _accepts_without(self, variable: str) -> bool:
        reached, coming = {0}, [0]
        while coming:
            place = self.places[coming.pop()]
            if place.accepts:
                return True
            further = {way.target for way in place.ways if way.variable != variable} - reached
            reached |= further
            coming += further
        return False
