"""Read a window of a stream, from its opening bracket to the closing one, and what says when it is looked at.

s [ROWS 500 SLIDE 100]    s [RANGE 1 HOUR]    s [PARTITION BY id ROWS 10]    s [SESSION 30 MINUTES]
s [RANGE UNBOUNDED]       s [ORDER BY ts FROM action = 'login' UNTIL action = 'logout']

OUTPUT ON EVENT | ON EXPIRY | ON CLOSE | EVERY 5 SECONDS | EVERY 100 EVENTS
ISTREAM (SELECT ...), SELECT ISTREAM ...         likewise DSTREAM and RSTREAM
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, cast

from sqlglot import TokenType, exp

from cepheid.errors import Span
from cepheid.language.parsing.interval_parser import read_duration, read_span
from cepheid.language.parsing.syntax import ChangeStream, OutputClause, StreamWindowClause
from cepheid.language.parsing.token_reader import TokenReader

EXTENTS = ("ROWS", "RANGE", "SESSION", "FROM")
FIRST_WORDS = (*EXTENTS, "PARTITION BY", "ORDER BY", "GROUPS")
WINDOW_HINT = (
    "write [ROWS 500], [ROWS 500 SLIDE 100], [RANGE 1 HOUR], [RANGE UNBOUNDED], [SESSION 30 MINUTES] or "
    "[FROM p UNTIL q], with PARTITION BY and ORDER BY in front if needed"
)
CONDITION_HINT = "write [FROM speed > 50], or [FROM speed > 50 UNTIL speed < 20]"
OUTPUT_HINT = "write OUTPUT ON EVENT, ON EXPIRY, ON CLOSE, EVERY 5 SECONDS or EVERY 100 EVENTS"
STREAM_WORDS = ("ISTREAM", "DSTREAM", "RSTREAM")
LONGEST_COUNT = 18  # digits that surely fit 64 bits
NOT_OPERANDS = frozenset({TokenType.COMMA, TokenType.FROM, TokenType.ALIAS, TokenType.DOT, TokenType.R_PAREN})

Size = tuple[int | timedelta | None, Span]


def at_window(reader: TokenReader) -> bool:
    """Does a window come next?  A bracket behind a table has no other meaning."""
    return reader.at_mark(TokenType.L_BRACKET)


def read_stream_window(reader: TokenReader, source: exp.Expression) -> StreamWindowClause:
    """The window that starts at the next token, a bracket; `source` stands in front of it."""
    start = reader.position
    reader.expect_mark(TokenType.L_BRACKET, "[", hint=WINDOW_HINT)
    partition_by = (
        reader.read_list(lambda: reader.read_expression("a column", hint="write PARTITION BY bus, line"))
        if reader.take_mark(TokenType.PARTITION_BY)
        else ()
    )
    order_by = reader.read_order_by()
    word = reader.next_word
    if word not in EXTENTS:
        reader.refuse_next("ROWS, RANGE, SESSION or FROM", hint=WINDOW_HINT)
    reader.take_words(word)
    opens = closes = None
    size: Size = (None, reader.span_from(start))
    if word == "FROM":
        opens = reader.read_expression("a condition that opens the window", hint=CONDITION_HINT)
        if reader.take_words("UNTIL"):
            closes = reader.read_expression("a condition that closes the window", hint=CONDITION_HINT)
    elif word == "SESSION":
        reader.take_words("GAP")
        size = _read_span(reader)
    else:
        size = _read_extent(reader, word)
    slide = _read_slide(reader, word)
    reader.expect_mark(TokenType.R_BRACKET, "]", hint=WINDOW_HINT)
    kind = {"ROWS": "rows", "RANGE": "range", "SESSION": "session", "FROM": "semantic"}[word]
    return StreamWindowClause(
        placeholder="",
        source=source,
        partition_by=partition_by,
        order_by=order_by,
        kind=cast(Literal["rows", "range", "session", "semantic"], kind),
        size=size[0],
        slide=slide[0] if slide else None,
        opens=opens,
        closes=closes,
        span=reader.span_from(start),
        size_span=size[1],
        slide_span=slide[1] if slide else None,
    )


def _read_extent(reader: TokenReader, word: str) -> Size:
    start = reader.position
    if reader.take_words("UNBOUNDED"):
        reader.take_words("PRECEDING")
        return None, reader.span_from(start)
    return _read_count(reader) if word == "ROWS" else _read_span(reader)


def _read_slide(reader: TokenReader, word: str) -> Size | None:
    if not reader.take_words("SLIDE"):
        return None
    if word == "SESSION":
        reader.refuse("a session has no slide", hint="it ends when no event comes for as long as the gap")
    return _read_span(reader) if word == "RANGE" else _read_count(reader)


def _read_count(reader: TokenReader) -> tuple[int, Span]:
    start = reader.position
    minus = reader.take_mark(TokenType.DASH)
    written = reader.take_text(TokenType.NUMBER)
    if written is None or not written.isdigit() or len(written) > LONGEST_COUNT:
        reader.refuse("a window of rows needs a whole number of events", hint=WINDOW_HINT, span=reader.span_from(start))
    span = reader.span_from(start)
    if not reader.take_words("EVENTS"):
        reader.take_words("ROWS")
    return -int(written) if minus else int(written), span


def _read_span(reader: TokenReader) -> Size:
    """A duration, or a number of event time that is one."""
    start = reader.position
    return read_span(reader), reader.span_from(start)


def _read_duration(reader: TokenReader) -> tuple[timedelta, Span]:
    start = reader.position
    duration = read_duration(reader)
    return duration, reader.span_from(start)


def at_output(reader: TokenReader) -> bool:
    return reader.at_words("OUTPUT", "EVERY") or reader.at_words("OUTPUT", "ON")


def at_emit(reader: TokenReader) -> bool:
    return reader.at_words("EMIT", "ON")


def read_emit(reader: TokenReader) -> None:
    """EMIT ON WINDOW CLOSE of RisingWave, which rows wait for anyway; others are asked for by emit=."""
    if not at_emit(reader):
        return
    start = reader.position
    reader.take_words("EMIT", "ON")
    if not reader.take_words("WINDOW", "CLOSE"):
        hint = 'leave it out, and open the query with emit="changes"'
        reader.refuse("EMIT ON something else than WINDOW CLOSE", span=reader.span_from(start), hint=hint)


def read_output(reader: TokenReader) -> OutputClause | None:
    """OUTPUT ..., if it comes next."""
    start = reader.position
    if not at_output(reader):
        return None
    reader.take_words("OUTPUT")
    if reader.take_words("ON"):
        word = reader.next_word
        if word not in ("EVENT", "EXPIRY", "CLOSE"):
            reader.refuse_next("EVENT, EXPIRY or CLOSE", hint=OUTPUT_HINT)
        reader.take_words(word)
        return OutputClause(cast(Literal["event", "expiry", "close"], word.lower()), None, reader.span_from(start))
    reader.take_words("EVERY")
    if reader.word_after(TokenType.NUMBER) in ("EVENT", "EVENTS", "ROW", "ROWS"):
        count, _ = _read_count(reader)
        reader.take_words("EVENT")
        return OutputClause("count", count, reader.span_from(start))
    duration, _ = _read_duration(reader)
    return OutputClause("time", duration, reader.span_from(start))


def read_change_stream(reader: TokenReader, before: TokenType | None) -> ChangeStream | None:
    """ISTREAM and the like, if it comes next and is not the name of a column.

    `before`: what must follow; None: anything that can start an output.
    """
    start, word = reader.position, reader.next_word
    if word not in STREAM_WORDS:
        return None
    following = reader.kind_after()
    if (following != before) if before is not None else (following is None or following in NOT_OPERANDS):
        return None
    reader.take_words(word)
    return ChangeStream(cast(Literal["istream", "dstream", "rstream"], word.lower()), reader.span_from(start))
