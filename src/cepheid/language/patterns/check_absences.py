"""Where NOT may stand in a row pattern.

    a NOT b c        between rows: what stands behind it takes at least one row
    a NOT b          at the end, with WITHIN
    a NOT b c?       refused: it would be both
    (a NOT b)+ c     between rows: behind it comes another a, or the c
    (a NOT b)+       refused: it would be both

    a NOT b FOR 2 s ...      behind a row: what stands behind it may take none; WITHIN is not needed
    NOT b FOR 2 s a ...      at the start of the pattern, from the start of the partition on

Behind and before it we look for the nearest thing that counts: a row, another NOT, an anchor, or the edge of the
pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cepheid.errors import InvalidWithin, NotSupportedYet
from cepheid.kernel.automaton import find_first
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
    show_pattern,
)
from cepheid.language.parsing.syntax import PatternWindowClause, RowPatternClause

Mark = Literal["row", "absence", "anchor", "nothing", "edge"]
Marks = frozenset[Mark]
NOTHING: Marks = frozenset({"nothing"})
EDGE: Marks = frozenset({"edge"})
ROW: Marks = frozenset({"row"})


@dataclass(frozen=True, slots=True)
class _Place:
    """What may be the nearest thing before and behind; `is_permuted`: whether it is in a PERMUTE."""

    before: Marks = EDGE
    behind: Marks = EDGE
    is_permuted: bool = False


def check_absences(clause: RowPatternClause) -> None:
    first = find_first(clause.pattern)
    for absence, place in _places(clause.pattern, _Place()):
        _check_beside(absence, place)
        if absence.lasting is not None:
            _check_timed(absence, place, absence is first, clause)
            continue
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
                found += _places(item, _Place(before, behind, place.is_permuted))
            return found
        case Alternation(options=parts):
            return [found for part in parts for found in _places(part, place)]
        case Exclusion(item=item):
            return _places(item, place)
        case Repetition(item=item, most=1):
            return _places(item, place)
        case Repetition(item=item):
            # beside an iteration is what is outside, or another iteration
            before = place.before | _fill(_nearest(item, backwards=True), place.before)
            behind = place.behind | _fill(_nearest(item, backwards=False), place.behind)
            return _places(item, _Place(before, behind, place.is_permuted))
        case Permutation(items=parts):
            return [found for part in parts for found in _places(part, _Place(is_permuted=True))]
    return []


def _check_beside(absence: Absence, place: _Place) -> None:
    if place.is_permuted:
        hint = f"write the orders out: (x {show_pattern(absence)} y | y x)"
        raise NotSupportedYet("NOT inside PERMUTE", span=absence.span, hint=hint)
    if "absence" in place.before | place.behind:
        raise NotSupportedYet(
            "NOT beside NOT", span=absence.span, hint="write one NOT, whose variable is defined with OR"
        )


def _check_timed(absence: Absence, place: _Place, is_first: bool, clause: RowPatternClause) -> None:
    shown = show_pattern(absence)
    if is_first:
        if isinstance(clause, PatternWindowClause):
            hint = "use MATCH_RECOGNIZE: a frame does not begin where its partition does"
            raise NotSupportedYet(f"{shown} at the start of a pattern in WINDOW", span=absence.span, hint=hint)
        if place.behind != ROW:
            hint = f"put a variable that takes a row behind it: {shown} a"
            raise NotSupportedYet(f"{shown} before a part that may take no row", span=absence.span, hint=hint)
    elif place.before != ROW:
        is_start = place.before == EDGE
        told = "at the start of an optional part or an option" if is_start else "behind a part that may take no row"
        hint = "at the start it stands before all of the pattern" if is_start else "write the two cases apart"
        hint = f"{hint}, as in ({shown} (a | c))" if is_start else f"{hint}, as in (a {shown} | c a {shown})"
        raise NotSupportedYet(f"{shown} {told}", span=absence.span, hint=hint)


def _check_place(absence: Absence, place: _Place) -> None:
    shown = f"NOT {absence.variable}"
    if place.before != ROW:
        raise NotSupportedYet(
            "NOT at the start of a pattern",
            span=absence.span,
            hint=f"put a variable that takes a row in front of it: a {shown} c; or say how long: {shown} FOR 2 s",
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
            hint=f"write NOT {absence.variable} FOR INTERVAL '10' MINUTE, or add WITHIN behind the pattern",
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
