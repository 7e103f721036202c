"""The syntax tree: what the parser hands to the binder.

The relational part stays a sqlglot tree, in which each event construct is replaced by a table with a made-up
name (`placeholder`); the constructs themselves are the typed clauses below.  Scalar expressions inside
clauses are sqlglot trees too, and keep their places (`parser.span_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal

from sqlglot import exp

from cepheid.errors import Span
from cepheid.kernel.pattern import RowPattern, Strategy
from cepheid.settings import DialectName


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier as the user wrote it, and where."""

    text: str
    span: Span | None = field(default=None, compare=False)
    quoted: bool = field(default=False, compare=False)

    @property
    def folded(self) -> str:
        """As the standard tells identifiers apart: in capitals, unless it is quoted."""
        return self.text if self.quoted else self.text.upper()


@dataclass(frozen=True, slots=True)
class OrderTerm:
    expression: exp.Expression
    descending: bool = False
    span: Span | None = field(default=None, compare=False)
    nulls_first: bool | None = None  # None: nothing is written


@dataclass(frozen=True, slots=True)
class Measure:
    """expression AS name, with RUNNING or FINAL when written in front of the whole expression."""

    expression: exp.Expression
    name: Name
    semantics: Literal["running", "final"] | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """variable AS condition."""

    variable: Name
    condition: exp.Expression


@dataclass(frozen=True, slots=True)
class Subset:
    """SUBSET name = (members)."""

    name: Name
    members: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class AfterMatch:
    """AFTER MATCH SKIP ...; `TO v` means the same as `TO LAST v`."""

    kind: Literal["past_last", "to_next", "to_first", "to_last"] = "past_last"
    variable: Name | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Within:
    """WITHIN <interval>, or a number where event time is one; the parser reads the amount, the binder judges it."""

    duration: timedelta | int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class MatchRecognizeClause:
    """<input> MATCH_RECOGNIZE ( ... )."""

    placeholder: str
    source: exp.Expression  # a table, or a subquery, with its alias if it has one
    partition_by: tuple[exp.Expression, ...]
    order_by: tuple[OrderTerm, ...]
    measures: tuple[Measure, ...]
    rows_per_match: Literal["one", "all"]
    empty_matches: Literal["show", "omit", "with_unmatched"] | None
    after_match: AfterMatch
    pattern: RowPattern
    subsets: tuple[Subset, ...]
    within: Within | None
    definitions: tuple[Definition, ...]
    span: Span
    pattern_span: Span
    timeouts: Span | None = None  # where TIMEOUT ROWS is written

    @property
    def head(self) -> Span:
        """The word MATCH_RECOGNIZE, for what is missing in the clause."""
        return Span(self.span.start, self.span.start + len("MATCH_RECOGNIZE"))


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """`count(*) OVER w` or, for a measure m, `m OVER w`: the rest of the query reads it as a column."""

    output: str
    expression: exp.Expression


@dataclass(frozen=True, slots=True)
class PatternWindowClause:
    """WINDOW w AS ( ... PATTERN ... ), or the same behind OVER: a row pattern that is sought from every row on.

    It stands for its input with a column more for each of its `functions`.
    """

    placeholder: str
    source: exp.Expression  # FROM and WHERE of the SELECT around
    partition_by: tuple[exp.Expression, ...]
    order_by: tuple[OrderTerm, ...]
    measures: tuple[Measure, ...]
    following: int | None  # rows after the current one that belong to the frame; None: all
    after_match: AfterMatch
    seek: bool
    pattern: RowPattern
    subsets: tuple[Subset, ...]
    within: Within | None
    definitions: tuple[Definition, ...]
    span: Span
    pattern_span: Span
    functions: tuple[WindowFunction, ...] = ()
    frame_end: exp.Expression | None = None  # how many rows, where it is no number
    base: Name | None = None  # the window of which it takes PARTITION BY and ORDER BY

    @property
    def head(self) -> Span:
        """The opening parenthesis, for what is missing in the clause."""
        return Span(self.span.start, self.span.start + 1)


Link = Literal["next", "followed", "any"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """`+`, `*`, `?`, `{2,5}` and what stands behind the variable: how often, how elements follow one another, whether
    as many as possible are taken, and the event that ends it."""

    least: int = 1
    most: int | None = 1
    inner: Link | None = None
    greedy: bool = False
    until: SequenceTerm | None = None

    @property
    def is_plain(self) -> bool:
        """Just one, or one or more."""
        return self in (Repeats(), Repeats(1, None))


@dataclass(frozen=True, slots=True)
class SequenceTerm:
    """`bids b`, `bids+ b[]` (repeated) or `~cancels c` (negated); `predicates` are functions in Python.

    `link`: how it follows the item before, if that is said; `at_once`: NOT NEXT; `lasting`: FOR <interval>; `every`: it
    may happen again and again.
    """

    stream: Name
    variable: Name
    repeated: bool = False
    negated: bool = False
    span: Span | None = field(default=None, compare=False)
    predicates: tuple[Callable[[Any], Any], ...] = ()
    repeats: Repeats = Repeats()
    link: Link | None = None
    at_once: bool = False
    lasting: Within | None = None
    every: bool = False

    @property
    def has_ways(self) -> bool:
        """Does it say more than the strategy can?"""
        told = self.link is not None or self.at_once or self.lasting is not None or self.every
        return told or not self.repeats.is_plain


@dataclass(frozen=True, slots=True)
class TermGroup:
    """`(asks b | trades c)`: one of them; `(asks b & trades c)`: all of them, in any order; `(asks b, trades c)+`: one
    after the other."""

    kind: Literal["one_of", "all_of", "in_turn"]
    terms: tuple[SequenceTerm | TermGroup, ...]
    span: Span | None = field(default=None, compare=False)
    repeats: Repeats = Repeats()
    link: Link | None = None
    every: bool = False

    @property
    def has_ways(self) -> bool:
        plain = self.kind != "in_turn" and self.repeats == Repeats() and self.link is None and not self.every
        return not plain or any(isinstance(term, TermGroup) or term.has_ways or term.negated for term in self.terms)


SequenceItems = tuple[SequenceTerm | TermGroup, ...]


def walk_terms(items: SequenceItems) -> Iterator[SequenceTerm]:
    """All terms, in the order in which they are written."""
    for item in items:
        if isinstance(item, TermGroup):
            yield from walk_terms(item.terms)
        else:
            yield item
        if item.repeats.until is not None:
            yield item.repeats.until


def change_terms(items: SequenceItems, change: Callable[[SequenceTerm], SequenceTerm]) -> SequenceItems:
    """The same items, with each term changed."""

    def change_item(item: SequenceTerm | TermGroup) -> SequenceTerm | TermGroup:
        if item.repeats.until is not None:
            item = replace(item, repeats=replace(item.repeats, until=change(item.repeats.until)))
        return replace(item, terms=change_terms(item.terms, change)) if isinstance(item, TermGroup) else change(item)

    return tuple(map(change_item, items))


@dataclass(frozen=True, slots=True)
class PartialLimit:
    """LIMIT PARTIALS n [REFUSE | DROP OLDEST]: the most partial matches of one key."""

    count: int
    overflow: Literal["refuse", "drop_oldest"] = "refuse"
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SequenceClause:
    """PATTERN SEQ ( ... ) [ORDER BY c] [WHERE p] [WITHIN i] [TIMEOUT ROWS] [STRATEGY s] [CONSUME MATCHED | REUSE]
    [ONCE] [PER KEY] [LIMIT PARTIALS n ...] as an item of FROM."""

    placeholder: str
    items: SequenceItems
    order_by: tuple[OrderTerm, ...]
    where: exp.Expression | None
    within: Within | None
    strategy: Strategy
    span: Span
    strategy_span: Span | None = None
    consume: bool = False
    limit: PartialLimit | None = None
    timeouts: Span | None = None  # where TIMEOUT ROWS is written
    once: Span | None = None  # where ONCE is written
    per_key: bool = False

    @property
    def terms(self) -> tuple[SequenceTerm, ...]:
        """All terms, in the order in which they are written."""
        return tuple(walk_terms(self.items))

    @property
    def has_ways(self) -> bool:
        """Do steps follow one another in ways of their own, and not all by the strategy?"""
        return self.once is not None or self.per_key or any(item.has_ways for item in self.items)

    @property
    def head(self) -> Span:
        """The word PATTERN, for what is missing in the clause."""
        return Span(self.span.start, self.span.start + len("PATTERN"))


@dataclass(frozen=True, slots=True)
class StreamWindowClause:
    """<input> [ [PARTITION BY ..] [ORDER BY ..] ROWS n | RANGE d | SESSION d | FROM p UNTIL q [SLIDE s] ] as an item
    of FROM.

    size: events (rows) or a duration, None for UNBOUNDED; slide: None if the window moves with every event.
    """

    placeholder: str
    source: exp.Expression
    partition_by: tuple[exp.Expression, ...]
    order_by: tuple[OrderTerm, ...]
    kind: Literal["rows", "range", "session", "semantic"]
    size: int | timedelta | None
    slide: int | timedelta | None
    opens: exp.Expression | None
    closes: exp.Expression | None
    span: Span
    size_span: Span | None = None
    slide_span: Span | None = None


@dataclass(frozen=True, slots=True)
class OutputClause:
    """OUTPUT ON EVENT | ON EXPIRY | ON CLOSE | EVERY n EVENTS | EVERY <duration>."""

    when: Literal["event", "expiry", "close", "time", "count"]
    every: int | timedelta | None
    span: Span


@dataclass(frozen=True, slots=True)
class ChangeStream:
    """ISTREAM, DSTREAM or RSTREAM of a SELECT."""

    kind: Literal["istream", "dstream", "rstream"]
    span: Span


RowPatternClause = MatchRecognizeClause | PatternWindowClause
EventClause = RowPatternClause | SequenceClause | StreamWindowClause


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """One statement: the relational remainder and the event constructs taken out of it.

    `clauses` is ordered so that a clause comes after those that its own input contains.
    """

    text: str
    relation: exp.Expression
    clauses: tuple[EventClause, ...]
    dialect: DialectName = "trino"
