"""Read PATTERN SEQ ( ... ) and the clauses that belong to it.

    FROM PATTERN SEQ(bids a, bids+ b[], ~cancels c, (asks d | trades e), (bids f & asks g))
      ORDER BY ts  WHERE a.id = b.id  WITHIN INTERVAL '10' SECOND TIMEOUT ROWS  STRATEGY skip_till_next
      CONSUME MATCHED  ONCE PER KEY  LIMIT PARTIALS 1000 DROP OLDEST

    bids a NEXT asks b FOLLOWED BY asks c FOLLOWED BY ANY asks d NOT NEXT cancels e NOT FOLLOWED BY cancels f
    bids{2,3} b[] CONSECUTIVE | COMBINATIONS, GREEDY, UNTIL stops u        (bids a, asks b)+, EVERY (bids a, asks b)
    ~cancels c FOR INTERVAL '2' SECOND                                     EVERY ~cancels c FOR INTERVAL '2' SECOND

Each clause may be left out, none may change its place: so an ORDER BY behind WHERE, WITHIN or STRATEGY is
that of the query around, and so is a LIMIT without PARTIALS.  The span of the clause reaches from PATTERN to the last
of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from sqlglot import TokenType, exp

from cepheid.errors import Span, suggest_name
from cepheid.kernel.pattern import Strategy
from cepheid.language.parsing.interval_parser import read_span, read_timeouts, read_within
from cepheid.language.parsing.syntax import (
    Link,
    PartialLimit,
    Repeats,
    SequenceClause,
    SequenceItems,
    SequenceTerm,
    TermGroup,
    Within,
)
from cepheid.language.parsing.token_reader import TokenReader

TERM_HINT = (
    "terms are: bids a, or bids+ b[] for several, or ~cancels c for none, or (asks d | trades e) for one of them, "
    "or (bids f & asks g) for both in any order"
)
ORDER_HINT = "the order is ORDER BY, WHERE, WITHIN, STRATEGY, CONSUME MATCHED, ONCE, LIMIT PARTIALS, each at most once"
COUNT_HINT = "write bids+ b[], bids* b[], bids? b, bids{3} b[], bids{2,} b[], bids{2,5} b[] or bids{,5} b[]"
MOST_TIMES = 1000
LIMIT_HINT = "write LIMIT PARTIALS 1000, LIMIT PARTIALS 1000 REFUSE or LIMIT PARTIALS 1000 DROP OLDEST"
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
GROUP_MARKS: dict[TokenType, Literal["one_of", "all_of"]] = {TokenType.PIPE: "one_of", TokenType.AMP: "all_of"}


COUNT_MARKS: dict[TokenType, tuple[int, int | None]] = {
    TokenType.PLUS: (1, None), TokenType.STAR: (0, None), TokenType.PLACEHOLDER: (0, 1),
}  # fmt: skip


def read_sequence(reader: TokenReader) -> SequenceClause | None:
    """The clause if one comes next; a table called pattern is left alone."""
    start = reader.position
    if not reader.take_words("PATTERN", "SEQ", "("):
        return None
    items = read_items(reader)
    reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
    order_by = reader.read_order_by()
    where = read_where(reader)
    within = read_within(reader)
    timeouts = read_timeouts(reader)
    strategy, strategy_span = read_strategy(reader)
    consume = read_consume(reader)
    once = read_once(reader)
    per_key = reader.take_words("PER", "KEY")
    limit = read_limit(reader)
    refuse_misplaced(reader)
    return SequenceClause(
        placeholder="",
        items=items,
        order_by=order_by,
        where=where,
        within=within,
        strategy=strategy,
        span=reader.span_from(start),
        strategy_span=strategy_span,
        consume=consume,
        limit=limit,
        timeouts=timeouts,
        once=once,
        per_key=per_key,
    )


def refuse_misplaced(reader: TokenReader) -> None:
    """WHERE behind WITHIN would filter rows of the output, where no variable is known."""
    misplaced = reader.next_word in ("WHERE", "WITHIN", "TIMEOUT", "STRATEGY", "CONSUME", "REUSE", "ONCE")
    if misplaced or reader.at_words("LIMIT", "PARTIALS"):
        reader.refuse(f'"{reader.next_word}" stands at the wrong place in PATTERN SEQ', hint=ORDER_HINT)


@dataclass(frozen=True, slots=True)
class Written:
    """What stands between two items: a comma, or words that say how the next one follows."""

    link: Link | None = None
    negated: bool = False
    at_once: bool = False


def read_items(reader: TokenReader) -> SequenceItems:
    return read_further(reader, read_item(reader, Written()))


def read_further(reader: TokenReader, first: SequenceTerm | TermGroup) -> SequenceItems:
    items = [first]
    while (written := read_link(reader)) is not None:
        items.append(read_item(reader, written))
    return tuple(items)


def read_link(reader: TokenReader) -> Written | None:
    if reader.take_mark(TokenType.COMMA):
        return Written()
    if reader.take_words("NOT", "NEXT"):
        return Written(negated=True, at_once=True)
    if reader.take_words("NOT", "FOLLOWED", "BY"):
        return Written(negated=True)
    if reader.take_words("NEXT"):
        return Written("next")
    if reader.take_words("FOLLOWED"):
        reader.expect_words("BY", hint="write FOLLOWED BY, or FOLLOWED BY ANY")
        return Written("any" if reader.take_words("ANY") else "followed")
    return None


def read_item(reader: TokenReader, written: Written) -> SequenceTerm | TermGroup:
    """A term, or a group of them in parentheses."""
    start = reader.position
    every = reader.take_words("EVERY")
    if not reader.take_mark(TokenType.L_PAREN):
        return read_term(reader, written, every, start)
    if written.negated:
        term = read_positive_term(reader)
        reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
        return negate(reader, term, written, every, start)
    group = read_group(reader, start)
    repeats = read_options(reader, *read_count(reader))
    return replace(group, repeats=repeats, link=written.link, every=every, span=reader.span_from(start))


def read_group(reader: TokenReader, start: int) -> TermGroup:
    """What stands behind an opening parenthesis, up to the closing one."""
    first = read_item(reader, Written())
    kind = next((kind for mark, kind in GROUP_MARKS.items() if reader.take_mark(mark)), None)
    if kind is None:
        in_turn = TermGroup("in_turn", read_further(reader, first))
        if not reader.take_mark(TokenType.R_PAREN):
            reader.refuse_next('"|", "&", "," or ")"', hint=TERM_HINT)
        return in_turn
    mark = next(mark for mark, meaning in GROUP_MARKS.items() if meaning == kind)
    terms = [first, read_item(reader, Written())]
    while reader.take_mark(mark):
        terms.append(read_item(reader, Written()))
    if any(reader.take_mark(other) for other in GROUP_MARKS):
        span = reader.span_from(start)
        reader.refuse('"|" and "&" cannot be mixed in one group', hint=TERM_HINT, span=span)
    reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
    group = TermGroup(kind, tuple(terms), reader.span_from(start))
    refuse_in_group(reader, group)
    return group


def refuse_in_group(reader: TokenReader, group: TermGroup) -> None:
    for term in group.terms:
        if isinstance(term, TermGroup):
            if group.kind == "all_of":
                hint = "name its terms one by one"
                reader.refuse("a group cannot stand in a group with &", hint=hint, span=term.span)
            continue
        if term.negated and term.lasting is None and group.kind == "one_of":
            hint = "say how long nothing must come: ~cancels c FOR INTERVAL '2' SECOND"
            reader.refuse("a negated term in a group with | needs FOR", hint=hint, span=term.span)
        if term.repeated and group.kind == "all_of":
            hint = "terms in (... & ...) take one event each"
            reader.refuse("a repeated term cannot stand in a group with &", hint=hint, span=term.span)


def read_term(reader: TokenReader, written: Written, every: bool, start: int) -> SequenceTerm:
    negated = reader.take_mark(TokenType.TILDE) or written.negated
    wrapped = negated and reader.take_mark(TokenType.L_PAREN)
    term = read_positive_term(reader)
    if wrapped:
        reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
    if negated:
        return negate(reader, term, written, every, start)
    return replace(term, span=reader.span_from(start), link=written.link, every=every)


def negate(reader: TokenReader, term: SequenceTerm, written: Written, every: bool, start: int) -> SequenceTerm:
    """An absence, and for how long."""
    span = reader.span_from(start)
    if term.repeats != Repeats():
        reader.refuse("a negated term cannot be repeated", hint=TERM_HINT, span=span)
    at = reader.position
    lasting = None
    if reader.take_words("FOR"):
        lasting = Within(read_span(reader), reader.span_from(at))
    if lasting is not None and written.at_once:
        hint = "leave out FOR, or write a comma instead of NOT NEXT"
        reader.refuse("NOT NEXT is about one event, not about a time", hint=hint, span=lasting.span)
    if every and lasting is None:
        hint = "write EVERY ~cancels c FOR INTERVAL '2' SECOND"
        reader.refuse("EVERY of an absence needs FOR", hint=hint, span=span)
    return SequenceTerm(
        term.stream, term.variable, False, True, reader.span_from(start), link=written.link, at_once=written.at_once,
        lasting=lasting, every=every,
    )  # fmt: skip


def read_positive_term(reader: TokenReader) -> SequenceTerm:
    stream = reader.read_name("a stream", hint=TERM_HINT)
    least, most = read_count(reader)
    repeated = (least, most) not in ((1, 1), (0, 1))
    variable = reader.read_name(f'a variable for stream "{stream.text}"', hint=TERM_HINT)
    opening = reader.position
    if reader.take_mark(TokenType.L_BRACKET):
        reader.expect_mark(TokenType.R_BRACKET, "]", hint=TERM_HINT)
        if not repeated:
            hint = f"write {stream.text}+ {variable.text}[] for one or more events"
            reader.refuse('"[]" needs a repeated stream', hint=hint, span=reader.span_from(opening))
    return SequenceTerm(stream, variable, repeated, repeats=read_options(reader, least, most))


def read_count(reader: TokenReader) -> tuple[int, int | None]:
    """How often: + * ? {n} {n,} {n,m} {,m}; just once if nothing is said."""
    start = reader.position
    for mark, count in COUNT_MARKS.items():
        if reader.take_mark(mark):
            return count
    if not reader.take_mark(TokenType.L_BRACE):
        return 1, 1
    least = read_times(reader)
    most = least
    if reader.take_mark(TokenType.COMMA):
        most = read_times(reader)
    elif least is None:
        reader.refuse_next("a number of events", hint=COUNT_HINT)
    reader.expect_mark(TokenType.R_BRACE, "}", hint=COUNT_HINT)
    if most is not None and (most == 0 or most < (least or 0)):
        reader.refuse("no events can be so many", hint=COUNT_HINT, span=reader.span_from(start))
    if reader.at_mark(TokenType.PLACEHOLDER):
        hint = "put the step into parentheses: (bids{3} b[])?"
        reader.refuse('"?" behind a count: so many events or none are a group that may be left out', hint=hint)
    return least or 0, most


def read_times(reader: TokenReader) -> int | None:
    at = reader.position
    written = reader.take_text(TokenType.NUMBER)
    if written is None:
        return None
    if not written.isdigit() or int(written) > MOST_TIMES:
        hint = f"write a whole number up to {MOST_TIMES:,}"
        reader.refuse(f'"{written}" is not a number of events', hint=hint, span=reader.span_from(at))
    return int(written)


def read_options(reader: TokenReader, least: int, most: int | None) -> Repeats:
    """CONSECUTIVE, COMBINATIONS, GREEDY and UNTIL, which say more about how often."""
    start = reader.position
    inner: Link | None = None
    if reader.take_words("CONSECUTIVE"):
        inner = "next"
    elif reader.take_words("COMBINATIONS"):
        inner = "any"
    greedy = reader.take_words("GREEDY")
    until = None
    if reader.take_words("UNTIL"):
        at = reader.position
        until = read_positive_term(reader)
        if until.repeats != Repeats():
            reader.refuse("one event ends it", hint="write UNTIL stops u", span=reader.span_from(at))
        until = replace(until, negated=True, span=reader.span_from(at))
    told = inner is not None or greedy or until is not None
    if told and (least, most) == (1, 1):
        reader.refuse("this is about events that are repeated", hint=COUNT_HINT, span=reader.span_from(start))
    return Repeats(least, most, inner, greedy, until)


def read_once(reader: TokenReader) -> Span | None:
    start = reader.position
    return reader.span_from(start) if reader.take_words("ONCE") else None


def read_where(reader: TokenReader) -> exp.Expression | None:
    return (
        reader.read_expression("a condition", hint="write WHERE a.bus = b.bus")
        if reader.take_mark(TokenType.WHERE)
        else None
    )


def read_strategy(reader: TokenReader) -> tuple[Strategy, Span | None]:
    start = reader.position
    if not reader.take_words("STRATEGY"):
        return "skip_till_next", None
    name = reader.read_name("a strategy", hint=f"strategies are {', '.join(STRATEGIES)}")
    if name.text.lower() not in STRATEGIES:
        message = f'strategy "{name.text}" does not exist'
        reader.refuse(message, hint=suggest_name(name.text, STRATEGIES), span=name.span)
    return cast(Strategy, name.text.lower()), reader.span_from(start)


def read_consume(reader: TokenReader) -> bool:
    """CONSUME MATCHED; REUSE is what happens anyway."""
    if reader.take_words("CONSUME"):
        reader.expect_words("MATCHED", hint="write CONSUME MATCHED, or REUSE")
        return True
    reader.take_words("REUSE")
    return False


def read_limit(reader: TokenReader) -> PartialLimit | None:
    start = reader.position
    if not reader.take_words("LIMIT", "PARTIALS"):
        return None
    at = reader.position
    written = reader.take_text(TokenType.NUMBER)
    if written is None:
        reader.refuse_next("a number of partial matches", hint=LIMIT_HINT)
    if not written.isdigit() or not 0 < int(written) < 2**31:
        reader.refuse(f'"{written}" is not a number of partial matches', hint=LIMIT_HINT, span=reader.span_from(at))
    overflow: Literal["refuse", "drop_oldest"] = "refuse"
    if reader.take_words("DROP"):
        reader.expect_words("OLDEST", hint=LIMIT_HINT)
        overflow = "drop_oldest"
    else:
        reader.take_words("REFUSE")
    return PartialLimit(int(written), overflow, reader.span_from(start))
