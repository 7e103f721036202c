"""Where NOT may stand in a row pattern.

    a NOT b c        between rows: what stands behind it takes at least one row
    a NOT b          at the end, with WITHIN
    a NOT b c?       refused: it would be both

Behind and before it we look for the nearest thing that counts: a row, another NOT, an anchor, or the edge of the
pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cepheid.errors import InvalidWithin, NotSupportedYet
from cepheid.kernel.pattern import (
    Absence,
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    Term,
)
from cepheid.language.parsing.syntax import PatternWindowClause, RowPatternClause

Mark = Literal["row", "absence", "anchor", "nothing", "edge"]
Marks = frozenset[Mark]
NOTHING: Marks = frozenset({"nothing"})
EDGE: Marks = frozenset({"edge"})
ROW: Marks = frozenset({"row"})


@dataclass(frozen=True, slots=True)
class _Place:
    """What may be the nearest thing before and behind; `inside`: what the place is in that NOT must not be in."""

    before: Marks = EDGE
    behind: Marks = EDGE
    inside: str | None = None


def check_absences(clause: RowPatternClause) -> None:
    for absence, place in _places(clause.pattern, _Place()):
        _check_place(absence, place)
        if place.behind == EDGE:
            _check_end(absence, clause)


def _places(pattern: RowPattern, place: _Place) -> list[tuple[Absence, _Place]]:
    match pattern:
        case Absence():
            return [(pattern, place)]
        case Concatenation(items=items):
            found: list[tuple[Absence, _Place]] = []
            for number, item in enumerate(items):
                before = _fill(_nearest_of(items[:number][::-1], backwards=True), place.before)
                behind = _fill(_nearest_of(items[number + 1 :], backwards=False), place.behind)
                found += _places(item, _Place(before, behind, place.inside))
            return found
        case Alternation(options=parts):
            return [found for part in parts for found in _places(part, place)]
        case Exclusion(item=item):
            return _places(item, place)
        case Repetition(item=item):
            return _places(item, _Place(place.before, place.behind, "a quantifier"))
        case Permutation(items=parts):
            return [found for part in parts for found in _places(part, _Place(inside="PERMUTE"))]
    return []


def _check_place(absence: Absence, place: _Place) -> None:
    shown = f"NOT {absence.variable}"
    if place.inside is not None:
        repeats = place.inside != "PERMUTE"
        apart = f"x {shown} y {shown} y" if repeats else f"(x {shown} y | y x)"
        raise NotSupportedYet(f"NOT inside {place.inside}", span=absence.span, hint=f"write the cases out: {apart}")
    if place.before != ROW and "absence" not in place.before:
        raise NotSupportedYet(
            "NOT at the start of a pattern",
            span=absence.span,
            hint=f"put a variable that takes a row in front of it: a {shown} c",
        )
    if "absence" in place.before | place.behind:
        raise NotSupportedYet(
            "NOT beside NOT", span=absence.span, hint="write one NOT, whose variable is defined with OR"
        )
    if place.behind not in (ROW, EDGE):
        raise NotSupportedYet(
            "NOT before a part that may take no row",
            span=absence.span,
            hint=f"write the two cases apart: (a {shown} c | a {shown})",
        )


def _check_end(absence: Absence, clause: RowPatternClause) -> None:
    if isinstance(clause, PatternWindowClause):
        hint = "use MATCH_RECOGNIZE, where WITHIN says how long to wait"
        raise NotSupportedYet("NOT at the end of a pattern in WINDOW", span=absence.span, hint=hint)
    if clause.within is None:
        raise InvalidWithin(
            f"NOT {absence.variable} at the end of the pattern needs WITHIN: nothing else says how long to wait",
            span=absence.span,
            hint="add WITHIN behind the pattern, for instance WITHIN INTERVAL '10' MINUTE",
        )


def _fill(found: Marks, outside: Marks) -> Marks:
    """Where there may be nothing, the nearest thing is what is outside."""
    return (found - NOTHING) | outside if "nothing" in found else found


def _nearest(pattern: RowPattern, backwards: bool) -> Marks:
    """What one may meet first in the pattern; "nothing" if it can be passed without meeting anything."""
    match pattern:
        case Term():
            return ROW
        case Absence():
            return frozenset({"absence"})
        case Anchor():
            return frozenset({"anchor"})
        case Concatenation(items=items):
            return _nearest_of(items[::-1] if backwards else items, backwards)
        case Alternation(options=parts):
            return frozenset().union(*(_nearest(part, backwards) for part in parts))
        case Repetition(item=item, least=least):
            return _nearest(item, backwards) | (NOTHING if least == 0 else frozenset())
        case Exclusion(item=item):
            return _nearest(item, backwards)
        case Permutation(items=parts):
            nearest = [_nearest(part, backwards) for part in parts]
            skipped = all("nothing" in marks for marks in nearest)
            return frozenset().union(*nearest) - (frozenset() if skipped else NOTHING)
    return NOTHING


def _nearest_of(items: tuple[RowPattern, ...], backwards: bool) -> Marks:
    """The same of parts in a row, the nearest first."""
    found = NOTHING
    for item in items:
        found = _fill(found, _nearest(item, backwards))
        if "nothing" not in found:
            break
    return found
