"""Read PATTERN SEQ ( ... ) and the clauses that belong to it.

    FROM PATTERN SEQ(bids a, bids+ b[], ~cancels c, (asks d | trades e), (bids f & asks g))
      ORDER BY ts  WHERE a.id = b.id  WITHIN INTERVAL '10' SECOND TIMEOUT ROWS  STRATEGY skip_till_next
      CONSUME MATCHED  LIMIT PARTIALS 1000 DROP OLDEST

Each clause may be left out, none may change its place: so an ORDER BY behind WHERE, WITHIN or STRATEGY is
that of the query around, and so is a LIMIT without PARTIALS.  The span of the clause reaches from PATTERN to the last
of these.
"""

from __future__ import annotations

from typing import Literal, cast, get_args

from sqlglot import TokenType, exp

from cepheid.errors import Span, suggest_name
from cepheid.kernel.pattern import Strategy
from cepheid.language.parsing.interval_parser import read_timeouts, read_within
from cepheid.language.parsing.syntax import PartialLimit, SequenceClause, SequenceTerm, TermGroup
from cepheid.language.parsing.token_reader import TokenReader

TERM_HINT = (
    "terms are: bids a, or bids+ b[] for several, or ~cancels c for none, or (asks d | trades e) for one of them, "
    "or (bids f & asks g) for both in any order"
)
ORDER_HINT = "the order is ORDER BY, WHERE, WITHIN, STRATEGY, CONSUME MATCHED, LIMIT PARTIALS, each at most once"
LIMIT_HINT = "write LIMIT PARTIALS 1000, LIMIT PARTIALS 1000 REFUSE or LIMIT PARTIALS 1000 DROP OLDEST"
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
GROUP_MARKS: dict[TokenType, Literal["one_of", "all_of"]] = {TokenType.PIPE: "one_of", TokenType.AMP: "all_of"}


def read_sequence(reader: TokenReader) -> SequenceClause | None:
    """The clause if one comes next; a table called pattern is left alone."""
    start = reader.position
    if not reader.take_words("PATTERN", "SEQ", "("):
        return None
    items = reader.read_list(lambda: read_item(reader))
    reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
    order_by = reader.read_order_by()
    where = read_where(reader)
    within = read_within(reader)
    timeouts = read_timeouts(reader)
    strategy, strategy_span = read_strategy(reader)
    consume = read_consume(reader)
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
    )


def refuse_misplaced(reader: TokenReader) -> None:
    """WHERE behind WITHIN would filter rows of the output, where no variable is known."""
    misplaced = reader.next_word in ("WHERE", "WITHIN", "TIMEOUT", "STRATEGY", "CONSUME", "REUSE")
    if misplaced or reader.at_words("LIMIT", "PARTIALS"):
        reader.refuse(f'"{reader.next_word}" stands at the wrong place in PATTERN SEQ', hint=ORDER_HINT)


def read_item(reader: TokenReader) -> SequenceTerm | TermGroup:
    """A term, or a group of terms in parentheses."""
    start = reader.position
    if not reader.take_mark(TokenType.L_PAREN):
        return read_term(reader)
    terms = [read_term(reader)]
    kind = next((kind for mark, kind in GROUP_MARKS.items() if reader.take_mark(mark)), None)
    if kind is None:
        reader.refuse_next('"|" or "&"', hint=TERM_HINT)
    mark = next(mark for mark, meaning in GROUP_MARKS.items() if meaning == kind)
    terms.append(read_term(reader))
    while reader.take_mark(mark):
        terms.append(read_term(reader))
    if any(reader.take_mark(other) for other in GROUP_MARKS):
        span = reader.span_from(start)
        reader.refuse('"|" and "&" cannot be mixed in one group', hint=TERM_HINT, span=span)
    reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
    group = TermGroup(kind, tuple(terms), reader.span_from(start))
    refuse_in_group(reader, group)
    return group


def refuse_in_group(reader: TokenReader, group: TermGroup) -> None:
    for term in group.terms:
        if term.negated:
            hint = "put it before or behind the group"
            reader.refuse("a negated term cannot stand in a group", hint=hint, span=term.span)
        if term.repeated and group.kind == "all_of":
            hint = "terms in (... & ...) take one event each"
            reader.refuse("a repeated term cannot stand in a group with &", hint=hint, span=term.span)


def read_term(reader: TokenReader) -> SequenceTerm:
    start = reader.position
    negated = reader.take_mark(TokenType.TILDE)
    wrapped = negated and reader.take_mark(TokenType.L_PAREN)
    term = read_positive_term(reader)
    if wrapped:
        reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
    span = reader.span_from(start)
    if negated and term.repeated:
        reader.refuse("a negated term cannot be repeated", hint=TERM_HINT, span=span)
    return SequenceTerm(term.stream, term.variable, term.repeated, negated, span)


def read_positive_term(reader: TokenReader) -> SequenceTerm:
    stream = reader.read_name("a stream", hint=TERM_HINT)
    repeated = reader.take_mark(TokenType.PLUS)
    variable = reader.read_name(f'a variable for stream "{stream.text}"', hint=TERM_HINT)
    opening = reader.position
    if reader.take_mark(TokenType.L_BRACKET):
        reader.expect_mark(TokenType.R_BRACKET, "]", hint=TERM_HINT)
        if not repeated:
            hint = f"write {stream.text}+ {variable.text}[] for one or more events"
            reader.refuse('"[]" needs a repeated stream', hint=hint, span=reader.span_from(opening))
    return SequenceTerm(stream, variable, repeated)


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
