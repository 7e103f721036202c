"""Read PATTERN SEQ ( ... ) and the clauses that belong to it.

    FROM PATTERN SEQ(bids a, bids+ b[], ~cancels c, bids d)
      ORDER BY ts  WHERE a.id = b.id  WITHIN INTERVAL '10' SECOND  STRATEGY skip_till_any

Each clause may be left out, none may change its place: so an ORDER BY behind WHERE, WITHIN or STRATEGY is
that of the query around.  The span of the clause reaches from PATTERN to the last of these.
"""

from __future__ import annotations

from typing import cast, get_args

from sqlglot import TokenType, exp

from cepheid.errors import Span, suggest_name
from cepheid.kernel.pattern import Strategy
from cepheid.language.interval_parser import read_within
from cepheid.language.syntax import SequenceClause, SequenceTerm
from cepheid.language.token_reader import TokenReader

TERM_HINT = "terms are: bids a, or bids+ b[] for several, or ~cancels c for none"
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def read_sequence(reader: TokenReader) -> SequenceClause | None:
    """The clause if one comes next; a table called pattern is left alone."""
    start = reader.position
    if not reader.take_words("PATTERN", "SEQ", "("):
        return None
    terms = reader.read_list(lambda: read_term(reader))
    reader.expect_mark(TokenType.R_PAREN, ")", hint=TERM_HINT)
    order_by = reader.read_order_by()
    where = read_where(reader)
    within = read_within(reader)
    strategy, strategy_span = read_strategy(reader)
    refuse_misplaced(reader)
    return SequenceClause(
        placeholder="",
        items=terms,
        order_by=order_by,
        where=where,
        within=within,
        strategy=strategy,
        span=reader.span_from(start),
        strategy_span=strategy_span,
    )


def refuse_misplaced(reader: TokenReader) -> None:
    """WHERE behind WITHIN would filter rows of the output, where no variable is known."""
    if reader.next_word in ("WHERE", "WITHIN", "STRATEGY"):
        reader.refuse(
            f'"{reader.next_word}" stands at the wrong place in PATTERN SEQ',
            hint="the order is ORDER BY, WHERE, WITHIN, STRATEGY, each at most once",
        )


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
    return reader.read_expression("a condition") if reader.take_mark(TokenType.WHERE) else None


def read_strategy(reader: TokenReader) -> tuple[Strategy, Span | None]:
    start = reader.position
    if not reader.take_words("STRATEGY"):
        return "skip_till_next", None
    name = reader.read_name("a strategy", hint=f"strategies are {', '.join(STRATEGIES)}")
    if name.text.lower() not in STRATEGIES:
        message = f'strategy "{name.text}" does not exist'
        reader.refuse(message, hint=suggest_name(name.text, STRATEGIES), span=name.span)
    return cast(Strategy, name.text.lower()), reader.span_from(start)
