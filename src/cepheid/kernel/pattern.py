"""The regular expression of a row pattern, as a tree, and the programs the two pattern operators run.

The tree is what the parser reads out of PATTERN ( ... ) and what `explain` prints back; `automaton.py`
turns it into instructions.  A program is all that a pattern operator is told: names of columns, conditions,
bounds.  It knows neither SQL nor plans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cepheid.errors import Span
from cepheid.kernel.expression import Expression


@dataclass(frozen=True, slots=True)
class Term:
    """One event that satisfies the condition of a variable."""

    variable: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Concatenation:
    items: tuple[RowPattern, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The first option is preferred, then the second, and so on."""

    options: tuple[RowPattern, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """`least` to `most` times (None: no upper bound); greedy prefers more, reluctant prefers fewer."""

    item: RowPattern
    least: int
    most: int | None
    greedy: bool = True


@dataclass(frozen=True, slots=True)
class Permutation:
    """PERMUTE(a, b, ...): every order, lexicographically earlier ones preferred."""

    items: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """{- ... -}: matched, but left out of ALL ROWS PER MATCH."""

    item: RowPattern
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Anchor:
    """^ (start of the partition) or $ (end of the partition)."""

    at: Literal["start", "end"]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EmptyPattern:
    """(): matches no event, always."""

    span: Span | None = field(default=None, compare=False)


RowPattern = Term | Concatenation | Alternation | Repetition | Permutation | Exclusion | Anchor | EmptyPattern


def list_terms(pattern: RowPattern) -> list[Term]:
    """The terms in the order in which they are written, repeats included."""
    match pattern:
        case Term():
            return [pattern]
        case Concatenation(items=parts) | Alternation(options=parts) | Permutation(items=parts):
            return [term for part in parts for term in list_terms(part)]
        case Repetition(item=item) | Exclusion(item=item):
            return list_terms(item)
    return []


def show_pattern(pattern: RowPattern) -> str:
    """The pattern as SQL text."""
    match pattern:
        case Term(variable=variable):
            return variable
        case Concatenation(items=items):
            return " ".join(
                f"({show_pattern(item)})" if isinstance(item, Alternation) else show_pattern(item) for item in items
            )
        case Alternation(options=options):
            return " | ".join(show_pattern(option) for option in options)
        case Repetition(item=item, least=least, most=most, greedy=greedy):
            inner = show_pattern(item)
            atomic = isinstance(item, Term | Permutation | Exclusion | EmptyPattern)
            return (inner if atomic else f"({inner})") + show_quantifier(least, most) + ("" if greedy else "?")
        case Permutation(items=items):
            return f"PERMUTE({', '.join(show_pattern(item) for item in items)})"
        case Exclusion(item=item):
            return f"{{- {show_pattern(item)} -}}"
        case Anchor(at=at):
            return "^" if at == "start" else "$"
        case EmptyPattern():
            return "()"
    raise AssertionError(f"not a row pattern: {pattern!r}")


def show_quantifier(least: int, most: int | None) -> str:
    match least, most:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _, None:
            return f"{{{least},}}"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


@dataclass(frozen=True, slots=True)
class Skip:
    """Where matching goes on after a match; `variables` (a variable, or the members of a union variable)
    are set for `to_first` and `to_last`."""

    kind: Literal["past_last", "to_next", "to_first", "to_last"] = "past_last"
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowPatternProgram:
    """What MATCH_RECOGNIZE asks of one partition of events.

    `conditions` has an entry for each variable of the pattern that is not always true; variables without one
    match every event.  `within` bounds (last event's time - first event's time), in microseconds.
    `lookahead` events after a match must be known before it is given out (NEXT in a measure).
    """

    pattern: RowPattern
    conditions: tuple[tuple[str, Expression], ...]
    skip: Skip = Skip()
    within: int | None = None
    lookahead: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One positive term of SEQ: an event of `stream` for which `condition` holds.

    The condition may read the events of this and of earlier steps: Position(variables=("a",)) is the event
    bound to a.
    """

    variable: str
    stream: int
    condition: Expression | None = None


Strategy = Literal["skip_till_any", "skip_till_next", "strict", "partition_contiguity"]


@dataclass(frozen=True, slots=True)
class SequenceProgram:
    """What SEQ asks of the events of one key (of all events, when there is no key).

    `strict` is asked of the events of all keys together: its conditions carry the key's equality themselves.
    """

    steps: tuple[Step, ...]
    strategy: Strategy = "skip_till_next"
    within: int | None = None
