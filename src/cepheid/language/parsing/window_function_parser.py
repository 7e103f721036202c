"""Read a window as a table function, where a table may stand.

FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND [, offset]))                         Flink
FROM TABLE(HOP(DATA => TABLE bid, TIMECOL => DESCRIPTOR(ts), SLIDE => ..., SIZE => ...))               Flink, by name
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))               Flink
FROM TUMBLE(bid, ts, INTERVAL '10 seconds')                                                            RisingWave

The call becomes a table without name that carries it (WINDOW_CALL); window_spellings.py says what it means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, cast

from sqlglot import TokenType, exp

from cepheid.errors import Span
from cepheid.language.parsing.interval_parser import read_duration
from cepheid.language.parsing.syntax import Name
from cepheid.language.parsing.token_reader import TokenReader

WINDOW_CALL = "cepheid_window_call"  # key in the meta of a table
WindowCallKind = Literal["tumble", "hop", "cumulate", "session"]
# the durations behind the stream and its time column, in their order; the last may be left out
DURATIONS: dict[str, tuple[str, ...]] = {
    "TUMBLE": ("SIZE", "OFFSET"),
    "HOP": ("SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("STEP", "SIZE", "OFFSET"),
    "SESSION": ("GAP",),
}
OPTIONAL = "OFFSET"
CALL_HINT = "write TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND)), or TUMBLE(s, ts, INTERVAL '10' SECOND)"


@dataclass(frozen=True, slots=True)
class WindowCall:
    """kind: what is called; source: the stream, a table or a subquery; time: its time column; size: of the windows, or
    the gap of a session; step: from one start to the next (hop), or from one end to the next (cumulate)."""

    kind: WindowCallKind
    source: exp.Expression
    time: exp.Column
    size: timedelta
    span: Span
    step: timedelta | None = None
    offset: timedelta = timedelta(0)
    partition_by: tuple[exp.Expression, ...] = ()
    places: dict[str, Span] = field(default_factory=dict, compare=False)  # of the durations, by name


def at_window_function(reader: TokenReader) -> bool:
    """Does a window as a table function come next?"""
    if reader.at_mark(TokenType.TABLE) and reader.kind_after() == TokenType.L_PAREN:
        words = [token.text.upper() for _, (token, _) in zip(range(4), reader.look_ahead(0), strict=False)]
        return len(words) == 4 and words[2] in DURATIONS and words[3] == "("
    return reader.next_word in DURATIONS and reader.kind_after() == TokenType.L_PAREN


def read_window_function(reader: TokenReader) -> WindowCall:
    """The call that starts at the next token."""
    start = reader.position
    wrapped = reader.take_mark(TokenType.TABLE)
    if wrapped:
        reader.expect_mark(TokenType.L_PAREN, "(", hint=CALL_HINT)
    kind = reader.next_word
    reader.take_words(kind)
    reader.expect_mark(TokenType.L_PAREN, "(", hint=CALL_HINT)
    given = _Arguments(reader, kind)
    given.read()
    for _ in range(1 + wrapped):
        reader.expect_mark(TokenType.R_PAREN, ")", hint=CALL_HINT)
    return given.make_call(reader.span_from(start))


class _Arguments:
    """What stands between the parentheses, in order or by name."""

    def __init__(self, reader: TokenReader, kind: str) -> None:
        self.reader, self.kind = reader, kind
        self.source: exp.Expression | None = None
        self.partition_by: tuple[exp.Expression, ...] = ()
        self.time: exp.Column | None = None
        self.durations: dict[str, timedelta] = {}
        self.places: dict[str, Span] = {}

    def read(self) -> None:
        names = ["DATA", "TIMECOL", *DURATIONS[self.kind]]
        place = 0
        while True:
            by_name = self.reader.kind_after() == TokenType.FARROW
            word = next(token.text.upper() for token, _ in self.reader.look_ahead(0)) if by_name else ""
            if by_name and word not in names:
                self.reader.refuse_next(f"one of {', '.join(names)}", hint=CALL_HINT)
            if not by_name and place >= len(names):
                self.reader.refuse(f"{self.kind} has too many arguments", hint=f"it takes {', '.join(names)}")
            if by_name:
                self.reader.read_name("a name", hint=CALL_HINT)
                self.reader.take_mark(TokenType.FARROW)
            self.read_one(word if by_name else names[place])
            place += 1
            if not self.reader.take_mark(TokenType.COMMA):
                return

    def read_one(self, name: str) -> None:
        start = self.reader.position
        if name == "DATA":
            self.source = self.reader.read_table_argument(CALL_HINT)
            if self.reader.take_mark(TokenType.PARTITION_BY):
                self.partition_by = self.read_keys()
        elif name == "TIMECOL":
            self.time = self.read_time()
        else:
            self.durations[name] = read_duration(self.reader)
            if self.reader.take_mark(TokenType.DCOLON):  # '10 minutes'::interval
                self.reader.expect_mark(TokenType.INTERVAL, "INTERVAL", hint=CALL_HINT)
        self.places[name] = self.reader.span_from(start)

    def read_keys(self) -> tuple[exp.Expression, ...]:
        """PARTITION BY a, b: a comma may also go on to the next argument, which is DESCRIPTOR(...) or by name."""
        keys = [self.reader.read_expression("a column", hint=CALL_HINT)]
        while self.reader.at_mark(TokenType.COMMA) and not self.ends_keys():
            self.reader.take_mark(TokenType.COMMA)
            keys.append(self.reader.read_expression("a column", hint=CALL_HINT))
        return tuple(keys)

    def ends_keys(self) -> bool:
        ahead = [token for token, _ in self.reader.look_ahead(1)][:2]
        if len(ahead) < 2:
            return True
        return ahead[0].text.upper() == "DESCRIPTOR" or ahead[1].token_type == TokenType.FARROW

    def read_time(self) -> exp.Column:
        described = self.reader.take_words("DESCRIPTOR")
        if described:
            self.reader.expect_mark(TokenType.L_PAREN, "(", hint=CALL_HINT)
        name = self.reader.read_name("the time column", hint=CALL_HINT)
        if described:
            self.reader.expect_mark(TokenType.R_PAREN, ")", hint="name one column, the event time")
        return write_column(name)

    def make_call(self, span: Span) -> WindowCall:
        needed = [name for name in DURATIONS[self.kind] if name != OPTIONAL]
        missing = [name for name in needed if name not in self.durations]
        if self.source is None or self.time is None or missing:
            absent = "DATA" if self.source is None else "TIMECOL" if self.time is None else missing[0]
            self.reader.refuse(f"{self.kind} has no {absent}", hint=CALL_HINT, span=span)
        return WindowCall(
            kind=cast(WindowCallKind, self.kind.lower()),
            source=self.source,
            time=self.time,
            size=self.durations["GAP" if self.kind == "SESSION" else "SIZE"],
            span=span,
            step=self.durations.get("SLIDE", self.durations.get("STEP")),
            offset=self.durations.get(OPTIONAL, timedelta(0)),
            partition_by=self.partition_by,
            places=self.places,
        )


def write_column(name: Name) -> exp.Column:
    column = exp.column(name.text, quoted=True)
    if name.span is not None:
        column.this.meta.update(start=name.span.start, end=name.span.end - 1)
    return column
