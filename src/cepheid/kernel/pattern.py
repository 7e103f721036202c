"""The regular expression of a row pattern, as a tree, and the programs the two pattern operators run.

The tree is what the parser reads out of PATTERN ( ... ) and what `explain` prints back; `automaton.py`
turns it into instructions.  A program is all that a pattern operator is given: names of columns, conditions,
bounds.  It knows neither SQL nor plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cepheid.errors import MatchFailure, Span
from cepheid.kernel.columns import Events
from cepheid.kernel.expression import Expression
from cepheid.kernel.sequence_flow import Flow


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


@dataclass(frozen=True, slots=True)
class Absence:
    """NOT b: no event that satisfies the condition of b.

    Before another term it passes over events, as few as possible and none of them a b, which do not become part
    of the match: `a NOT b c` is an a, then the next c with no b between them.  At the end of the pattern it takes no
    event, and asks that none of the events after the match is a b, up to the first event's time + WITHIN.

    `lasting`: NOT b FOR d, a step of its own.  The events after the last one of the match so far, up to its time + d,
    are passed over, and none of them is a b; what stands behind goes on at the first event after that time.  At the
    start of the pattern, the events from the first of the partition on, up to its time + d.  In microseconds, or
    (`counted`) in units of event time that is a number.
    """

    variable: str
    lasting: int | None = None
    counted: bool = False
    span: Span | None = field(default=None, compare=False)


DURATION_UNITS = {
    "DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MILLISECOND": 1000,
    "MICROSECOND": 1,
}  # fmt: skip

RowPattern = Term | Concatenation | Alternation | Repetition | Permutation | Exclusion | Anchor | EmptyPattern | Absence


def list_parts(pattern: RowPattern) -> tuple[RowPattern, ...]:
    """What the pattern is made of."""
    match pattern:
        case Concatenation(items=parts) | Alternation(options=parts) | Permutation(items=parts):
            return parts
        case Repetition(item=item) | Exclusion(item=item):
            return (item,)
    return ()


def walk_pattern(pattern: RowPattern) -> Iterator[RowPattern]:
    """The pattern and all its parts, in the order in which they are written."""
    yield pattern
    for part in list_parts(pattern):
        yield from walk_pattern(part)


def list_terms(pattern: RowPattern) -> list[Term]:
    """The terms in the order in which they are written, repeats included."""
    return [part for part in walk_pattern(pattern) if isinstance(part, Term)]


def list_absences(pattern: RowPattern) -> list[Absence]:
    return [part for part in walk_pattern(pattern) if isinstance(part, Absence)]


def list_timed(pattern: RowPattern) -> list[Absence]:
    """NOT b FOR d."""
    return [absence for absence in list_absences(pattern) if absence.lasting is not None]


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
        case Absence(variable=variable, lasting=None):
            return f"NOT {variable}"
        case Absence(variable=variable, lasting=int(lasting), counted=counted):
            return f"NOT {variable} FOR {show_duration(lasting, counted)}"
    raise AssertionError(f"not a row pattern: {pattern!r}")


def show_duration(lasting: int, counted: bool) -> str:
    """A duration as SQL text, in the largest unit of which it is a whole number."""
    if counted:
        return str(lasting)
    unit = next(unit for unit, length in DURATION_UNITS.items() if lasting % length == 0)
    return f"INTERVAL '{lasting // DURATION_UNITS[unit]}' {unit}"


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
class Frame:
    """A row pattern of a WINDOW clause: one search for each event, among it and those that follow.

    `seek`: the match may begin later than at the event itself; `following`: how many events after it belong to the
    frame (None: all); `column`: each event tells it by itself.
    """

    seek: bool = False
    following: int | None = None
    column: str | None = None


def check_frame(frame: Frame | None, events: Events) -> None:
    """Events that tell their frames must tell a number of rows."""
    if frame is None or frame.column is None:
        return
    told = events.columns[frame.column]
    if (told.values < 0).any() or (told.valid is not None and not told.valid.all()):
        raise MatchFailure(
            "a frame of a row pattern in WINDOW ends at a number of rows that is null or less than zero",
            hint="write ROWS BETWEEN CURRENT ROW AND greatest(coalesce(n, 0), 0) FOLLOWING",
        )


@dataclass(frozen=True, slots=True)
class RowPatternProgram:
    """What MATCH_RECOGNIZE asks of one partition of events.

    `conditions` has an entry for each variable of the pattern (of its absences too) that is not always true;
    variables without one match every event.  `within` bounds (last event's time - first event's time), in
    microseconds.  `lookahead` events after a match must be known before it is given out (NEXT in a measure).
    `unmatched`: events that are in no match are reported too.  `timeouts`: where no match begins at an event because
    time ran out, the most preferred partial match that reached that far is reported.  `frame` is set for a row pattern
    of a WINDOW clause: then every event is reported, with its match or without.
    """

    pattern: RowPattern
    conditions: tuple[tuple[str, Expression], ...]
    skip: Skip = Skip()
    within: int | None = None
    lookahead: int = 0
    unmatched: bool = False
    timeouts: bool = False
    frame: Frame | None = None

    @property
    def waits_for_time(self) -> bool:
        """Can time alone decide whether there is a match?"""
        return self.within is not None or bool(list_timed(self.pattern))


@dataclass(frozen=True, slots=True)
class Step:
    """One positive term of SEQ: an event of `stream` for which `condition` holds; one or more if `repeated`.

    `condition` reads this event alone: Position(("a",)) is the event bound to a.  Of a repeated step it may read the
    closure so far: Position(("b",)) is the event under test b[i], Position(("b",), "last", 1) the one before b[i-1],
    Position(("b",), "first") is b[1], and Aggregate(..., variables=("b",), before=True) is over b[..i-1].
    """

    variable: str
    stream: int
    condition: Expression | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """`~cancels c`: no such event between its neighbours; at the end, none up to the first event's time + WITHIN;
    at the start, none from the last event's time - WITHIN on."""

    variable: str
    stream: int
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """(asks b | trades c): one of the steps."""

    options: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """(asks b & trades c): all of the steps, in any order."""

    steps: tuple[Step, ...]


SequenceItem = Step | Absent | Choice | AnyOrder
Strategy = Literal["skip_till_any", "skip_till_next", "strict", "partition_contiguity"]


@dataclass(frozen=True, slots=True)
class SequenceProgram:
    """What SEQ asks of the events of one key (of all events, when there is no key).

    `strict` is asked of the events of all keys together: its conditions carry the key's equality themselves.
    `joint`: conditions over several variables; each is tested when the last of its variables is bound (for an
    element of a repeated step: at each element), and says nothing about a match that leaves one of them unbound.  A
    joint condition that names an absent variable belongs to that absence.
    `consume`: events of a match belong to no other.  `limit`: the most partial matches of one key; `overflow` says
    what happens beyond.  `timeouts`: partial matches that ran out of time are reported.
    `flow`: steps follow one another in ways of their own, and not all by the strategy; `items` are then plain steps and
    absences, which conditions belong to.
    """

    items: tuple[SequenceItem, ...]
    joint: tuple[Expression, ...] = ()
    strategy: Strategy = "skip_till_next"
    within: int | None = None
    consume: bool = False
    limit: int | None = None
    overflow: Literal["refuse", "drop_oldest"] = "refuse"
    timeouts: bool = False
    flow: Flow | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The positive terms, in the order in which they are written."""
        return tuple(step for item in self.items for step in _list_steps(item))

    @property
    def terms(self) -> tuple[Step | Absent, ...]:
        return (*self.steps, *self.absences)

    @property
    def absences(self) -> tuple[Absent, ...]:
        return tuple(item for item in self.items if isinstance(item, Absent))


def _list_steps(item: SequenceItem) -> tuple[Step, ...]:
    match item:
        case Step():
            return (item,)
        case Choice(options=steps) | AnyOrder(steps=steps):
            return steps
    return ()
