"""Read MATCH_RECOGNIZE ( ... ), clause by clause in the order of the standard.

    FROM buses AS b MATCH_RECOGNIZE (
      PARTITION BY .. ORDER BY .. MEASURES .. [ONE ROW | ALL ROWS] PER MATCH AFTER MATCH SKIP ..
      PATTERN ( .. ) [WITHIN .. [TIMEOUT ROWS]] SUBSET .. [WITHIN .. [TIMEOUT ROWS]] DEFINE ..
    ) AS m

The input (`buses AS b`) was read before; the alias behind (`AS m`) stays with the relational part.
The span of the clause reaches from MATCH_RECOGNIZE to its closing parenthesis; `pattern_span` is that of the
row pattern with its parentheses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from sqlglot import TokenType, exp

from cepheid.errors import Span, suggest_name
from cepheid.kernel.pattern import RowPattern
from cepheid.language.parsing.interval_parser import read_timeouts, read_within
from cepheid.language.parsing.row_pattern_parser import parse_row_pattern
from cepheid.language.parsing.syntax import AfterMatch, Definition, MatchRecognizeClause, Measure, Name, Subset
from cepheid.language.parsing.token_reader import TokenReader

EmptyMatches = Literal["show", "omit", "with_unmatched"]

CLAUSES = (
    "PARTITION BY",
    "ORDER BY",
    "MEASURES",
    "ONE",
    "ALL",
    "AFTER",
    "PATTERN",
    "SUBSET",
    "WITHIN",
    "TIMEOUT",
    "DEFINE",
)
ORDER_HINT = (
    "the order is PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH SKIP, "
    "PATTERN, SUBSET, WITHIN, TIMEOUT ROWS, DEFINE"
)


@dataclass(frozen=True, slots=True)
class ClauseKind:
    """What a clause with a row pattern is called, the words its parts begin with, and their order."""

    name: str
    words: tuple[str, ...]
    order_hint: str


MATCH_RECOGNIZE = ClauseKind("MATCH_RECOGNIZE", CLAUSES, ORDER_HINT)
BEHIND_PATTERN = ("SUBSET", "WITHIN", "TIMEOUT", "DEFINE")
START_HINT = "write FROM stream MATCH_RECOGNIZE (ORDER BY ts MEASURES ... PATTERN (...) DEFINE ...)"
OF_WINDOW = ("INITIAL", "SEEK")
MEASURE_HINT = "each measure has a name: LAST(a.x) AS last_x"
ROWS_HINT = "write ONE ROW PER MATCH or ALL ROWS PER MATCH"
DEFINE_HINT = "write DEFINE a AS a.x > 0"
SKIP_HINT = "write PAST LAST ROW, TO NEXT ROW, TO FIRST v, TO LAST v or TO v"
EMPTY_MATCHES: dict[tuple[str, ...], EmptyMatches] = {
    ("SHOW", "EMPTY", "MATCHES"): "show",
    ("OMIT", "EMPTY", "MATCHES"): "omit",
    ("WITH", "UNMATCHED", "ROWS"): "with_unmatched",
}


def read_match_recognize(reader: TokenReader, source: exp.Expression) -> MatchRecognizeClause:
    """The clause that starts at the next token; its placeholder is given later."""
    start = reader.position
    reader.expect_mark(TokenType.MATCH_RECOGNIZE, "MATCH_RECOGNIZE", hint=START_HINT)
    reader.expect_mark(TokenType.L_PAREN, "(", hint=START_HINT)
    partition_by = read_partition_by(reader)
    order_by = reader.read_order_by()
    measures = read_measures(reader)
    rows_per_match, empty_matches = read_rows_per_match(reader)
    after_match = read_after_match(reader)
    pattern, pattern_span = read_pattern(reader)
    within, timeouts = read_within(reader), read_timeouts(reader)
    subsets = read_subsets(reader)
    within, timeouts = within or read_within(reader), timeouts or read_timeouts(reader)
    definitions = read_definitions(reader)
    close_clause(reader)
    return MatchRecognizeClause(
        placeholder="",
        source=source,
        partition_by=partition_by,
        order_by=order_by,
        measures=measures,
        rows_per_match=rows_per_match,
        empty_matches=empty_matches,
        after_match=after_match,
        pattern=pattern,
        subsets=subsets,
        within=within,
        definitions=definitions,
        span=reader.span_from(start),
        pattern_span=pattern_span,
        timeouts=timeouts,
    )


def close_clause(reader: TokenReader, kind: ClauseKind = MATCH_RECOGNIZE) -> None:
    if not reader.take_mark(TokenType.R_PAREN):
        refuse_clause(reader, '")"', kind)


def refuse_clause(reader: TokenReader, expected: str, kind: ClauseKind = MATCH_RECOGNIZE) -> NoReturn:
    """Say why the next word does not go on with the clause: wrong order, misspelt, or nothing of ours."""
    word = reader.next_word
    if word in OF_WINDOW and kind is MATCH_RECOGNIZE:
        reader.refuse(f'"{word}" belongs to a row pattern in WINDOW', hint="leave it out: all matches are sought")
    if word in kind.words:
        reader.refuse(f'"{word}" stands at the wrong place in {kind.name}', hint=kind.order_hint)
    reader.refuse_next(expected, hint=suggest_name(word, kind.words) if word.isidentifier() else kind.order_hint)


def read_partition_by(reader: TokenReader) -> tuple[exp.Expression, ...]:
    if not reader.take_mark(TokenType.PARTITION_BY):
        return ()
    return reader.read_list(
        lambda: reader.read_expression("a column to partition by", hint="write PARTITION BY bus, line")
    )


def read_measures(reader: TokenReader) -> tuple[Measure, ...]:
    if not reader.take_words("MEASURES"):
        return ()
    return reader.read_list(lambda: read_measure(reader))


def read_measure(reader: TokenReader) -> Measure:
    with reader.allow_semantics():
        expression = reader.read_expression("a measure", hint=MEASURE_HINT)
    reader.expect_words("AS", hint=MEASURE_HINT)
    name = reader.read_name("the name of the measure", hint=MEASURE_HINT)
    match expression:
        case exp.Anonymous(this="RUNNING" | "FINAL" as word, expressions=[exp.Expression() as inner]):
            inner.pop()
            return Measure(inner, name, "running" if word == "RUNNING" else "final")
    return Measure(expression, name)


def read_rows_per_match(reader: TokenReader) -> tuple[Literal["one", "all"], EmptyMatches | None]:
    if reader.take_words("ONE"):
        reader.expect_words("ROW", "PER", "MATCH", hint=ROWS_HINT)
        return "one", None
    if not reader.take_words("ALL"):
        return "one", None
    reader.expect_words("ROWS", "PER", "MATCH", hint=ROWS_HINT)
    return "all", next((kind for words, kind in EMPTY_MATCHES.items() if reader.take_words(*words)), None)


def read_after_match(reader: TokenReader) -> AfterMatch:
    start = reader.position
    if not reader.take_words("AFTER"):
        return AfterMatch()
    reader.expect_words("MATCH", "SKIP", hint=SKIP_HINT)
    kind, variable = read_skip(reader)
    return AfterMatch(kind, variable, reader.span_from(start))


def read_skip(
    reader: TokenReader,
) -> tuple[Literal["past_last", "to_next", "to_first", "to_last"], Name | None]:
    if reader.take_words("PAST", "LAST", "ROW"):
        return "past_last", None
    if reader.take_words("TO", "NEXT", "ROW"):
        return "to_next", None
    reader.expect_words("TO", hint=SKIP_HINT)
    kind: Literal["to_first", "to_last"] = "to_first" if reader.at_words("FIRST") else "to_last"
    # a variable may be called first or last itself
    if not (reader.at_words("FIRST", "PATTERN", "(") or reader.at_words("LAST", "PATTERN", "(")):
        reader.take_words("FIRST") or reader.take_words("LAST")
    return kind, reader.read_name("a pattern variable", hint=SKIP_HINT)


def read_pattern(reader: TokenReader, kind: ClauseKind = MATCH_RECOGNIZE) -> tuple[RowPattern, Span]:
    if reader.next_word in BEHIND_PATTERN:
        reader.refuse_next("PATTERN", hint=kind.order_hint)
    if not reader.take_words("PATTERN"):
        refuse_clause(reader, "PATTERN", kind)
    opening = reader.position
    reader.expect_mark(TokenType.L_PAREN, "(", hint="write PATTERN (a b+ c)")
    pattern, end = parse_row_pattern(reader.sql, opening)
    reader.jump_to(end)
    return pattern, Span(opening, end)


def read_subsets(reader: TokenReader) -> tuple[Subset, ...]:
    return reader.read_list(lambda: read_subset(reader)) if reader.take_words("SUBSET") else ()


def read_subset(reader: TokenReader) -> Subset:
    hint = "write SUBSET u = (a, b)"
    name = reader.read_name("the name of a subset", hint=hint)
    reader.expect_mark(TokenType.EQ, "=", hint=hint)
    reader.expect_mark(TokenType.L_PAREN, "(", hint=hint)
    members = reader.read_list(lambda: reader.read_name("a pattern variable", hint=hint))
    reader.expect_mark(TokenType.R_PAREN, ")", hint=hint)
    return Subset(name, members)


def read_definitions(reader: TokenReader) -> tuple[Definition, ...]:
    return reader.read_list(lambda: read_definition(reader)) if reader.take_words("DEFINE") else ()


def read_definition(reader: TokenReader) -> Definition:
    variable = reader.read_name("a pattern variable", hint=DEFINE_HINT)
    reader.expect_words("AS", hint=DEFINE_HINT)
    with reader.allow_semantics():
        return Definition(variable, reader.read_expression("a condition", hint=DEFINE_HINT))
