"""Read a row pattern of a WINDOW clause, from its opening parenthesis to the closing one.

    WINDOW w AS (
      [another window] PARTITION BY .. ORDER BY .. MEASURES ..
      ROWS BETWEEN CURRENT ROW AND [UNBOUNDED FOLLOWING | n FOLLOWING | CURRENT ROW]
      AFTER MATCH SKIP .. [INITIAL | SEEK] PATTERN ( .. ) [WITHIN ..] SUBSET .. DEFINE ..
    )

Windows without PATTERN are not ours: `holds_pattern` looks ahead, and sqlglot reads them.
"""

from __future__ import annotations

from sqlglot import TokenType, exp

from cepheid.language.parsing.interval_parser import read_within
from cepheid.language.parsing.match_recognize_parser import (
    ClauseKind,
    close_clause,
    read_after_match,
    read_definitions,
    read_measures,
    read_partition_by,
    read_pattern,
    read_subsets,
    refuse_clause,
)
from cepheid.language.parsing.syntax import Name, PatternWindowClause
from cepheid.language.parsing.token_reader import TokenReader

WORDS = (
    "PARTITION BY", "ORDER BY", "MEASURES", "ROWS", "AFTER", "INITIAL", "SEEK", "PATTERN", "SUBSET", "WITHIN", "DEFINE",
)  # fmt: skip
ORDER_HINT = (
    "the order is PARTITION BY, ORDER BY, MEASURES, ROWS BETWEEN, AFTER MATCH SKIP, INITIAL or SEEK, PATTERN, "
    "SUBSET, WITHIN, DEFINE"
)
WINDOW = ClauseKind("a WINDOW with a row pattern", WORDS, ORDER_HINT)
FRAME_HINT = "write ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING, or ... AND 10 FOLLOWING"
PER_MATCH_HINT = "a row pattern in WINDOW gives one row for each row of its input"
BEHIND_FRAME = ("AFTER", "INITIAL", "SEEK", "PATTERN")
LONGEST_FRAME = 18  # digits that surely fit 64 bits
NOT_BEFORE_PATTERN = frozenset({TokenType.PARTITION_BY, TokenType.ORDER_BY, TokenType.COMMA, TokenType.DOT})


def holds_pattern(reader: TokenReader, opening: int) -> bool:
    """Is there a row pattern in the parentheses that open `opening` tokens from here?"""
    depth = 0
    before = None
    for token, behind in reader.look_ahead(opening):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            return False
        is_word = token.token_type != TokenType.IDENTIFIER and token.text.upper() == "PATTERN"
        if depth == 1 and is_word and behind == TokenType.L_PAREN and before not in NOT_BEFORE_PATTERN:
            return True
        before = token.token_type
    return False


def read_window(reader: TokenReader) -> PatternWindowClause:
    """The clause that starts at the next token, a parenthesis; source, functions and placeholder come later."""
    start = reader.position
    reader.expect_mark(TokenType.L_PAREN, "(", hint=ORDER_HINT)
    base = read_base(reader)
    partition_by = read_partition_by(reader)
    order_by = reader.read_order_by()
    measures = read_measures(reader)
    following, frame_end = read_frame(reader)
    after_match = read_after_match(reader)
    seek = reader.take_words("SEEK") or (reader.take_words("INITIAL") and False)
    pattern, pattern_span = read_pattern(reader, WINDOW)
    within = read_within(reader)
    subsets = read_subsets(reader)
    within = within or read_within(reader)
    if reader.at_words("TIMEOUT"):
        reader.refuse("TIMEOUT ROWS has no meaning in WINDOW", hint=PER_MATCH_HINT)
    definitions = read_definitions(reader)
    close_clause(reader, WINDOW)
    return PatternWindowClause(
        placeholder="",
        source=exp.Table(),
        partition_by=partition_by,
        order_by=order_by,
        measures=measures,
        following=following,
        after_match=after_match,
        seek=seek,
        pattern=pattern,
        subsets=subsets,
        within=within,
        definitions=definitions,
        span=reader.span_from(start),
        pattern_span=pattern_span,
        frame_end=frame_end,
        base=base,
    )


def read_base(reader: TokenReader) -> Name | None:
    """The name of another window, if one stands first."""
    clauses = (TokenType.PARTITION_BY, TokenType.ORDER_BY)
    if any(map(reader.at_mark, clauses)) or reader.next_word in (*WORDS, "RANGE", "GROUPS", "ONE", "ALL"):
        return None
    return reader.read_name("a window", hint=ORDER_HINT) if reader.at_name() else None


def read_frame(reader: TokenReader) -> tuple[int | None, exp.Expression | None]:
    """How many rows after the current one belong to the frame; None: all, or as many as the expression says."""
    if reader.next_word in ("ONE", "ALL"):
        reader.refuse(f'"{reader.next_word}" has no meaning in WINDOW', hint=PER_MATCH_HINT)
    if reader.next_word in ("RANGE", "GROUPS"):
        reader.refuse(f"the frame of a row pattern counts ROWS, not {reader.next_word}", hint=FRAME_HINT)
    if reader.next_word in BEHIND_FRAME:
        reader.refuse_next("ROWS BETWEEN CURRENT ROW AND ...", hint=FRAME_HINT)
    if not reader.take_words("ROWS"):
        refuse_clause(reader, "ROWS", WINDOW)
    start = reader.position
    if not reader.take_words("BETWEEN", "CURRENT", "ROW", "AND"):
        reader.refuse("the frame of a row pattern begins at the current row", hint=FRAME_HINT)
    if reader.take_words("UNBOUNDED", "FOLLOWING"):
        return None, None
    if reader.take_words("CURRENT", "ROW"):
        return 0, None
    told = "the frame of a row pattern ends at UNBOUNDED FOLLOWING, at CURRENT ROW or after a number of rows"
    if reader.at_words("UNBOUNDED"):
        reader.refuse(told, hint=FRAME_HINT, span=reader.span_from(start))
    written = reader.read_expression("a number of rows", hint=FRAME_HINT)
    if not reader.take_words("FOLLOWING"):
        reader.refuse(told, hint=FRAME_HINT, span=reader.span_from(start))
    if not isinstance(written, exp.Literal):
        return None, written
    if written.is_string or not written.this.isdigit() or len(written.this) > LONGEST_FRAME:
        reader.refuse(told, hint=FRAME_HINT, span=reader.span_from(start))
    return int(written.this), None
