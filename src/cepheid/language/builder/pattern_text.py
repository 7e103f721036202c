"""Pieces of SQL inside a pattern written in Python: is each whole in itself, and how are names and times written?

    .where("a.x > 1) OR (b.y > 2")      refused: the piece must not reach beyond its place

A piece is parsed in a query around it, with the same parser as query text, so that it may be all that may stand there.
"""

from __future__ import annotations

import re
from datetime import timedelta

from sqlglot import exp
from sqlglot.dialects.trino import Trino

from cepheid.errors import CepheidError, InvalidQuery, Span
from cepheid.language.parsing.interval_parser import UNITS
from cepheid.language.parsing.parser import CLOSED_OR_OPEN, parse_query
from cepheid.language.parsing.syntax import ParsedQuery, SequenceClause

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SQL_WORDS = {word for keyword in Trino.Tokenizer.KEYWORDS for word in keyword.split()} | {
    "EVERY", "NEXT", "FOLLOWED", "ONCE", "UNTIL", "GREEDY", "CONSECUTIVE", "COMBINATIONS",
}  # fmt: skip
_ELEMENT = re.compile(r"([A-Za-z_]\w*)\s*\[")


def check_condition(condition: str, call: str) -> None:
    """One condition, as it may stand in WHERE."""
    clause = _only_clause(_parse_around(f"SELECT 1 {_from(condition)} WHERE (", condition, ")", call))
    if clause is None or not isinstance(clause.where, exp.Paren) or isinstance(clause.where.this, exp.Alias):
        raise InvalidQuery(f'{call}(...): "{condition}" is not one condition', hint='write "a.price > 10"')


def check_order(column: str) -> None:
    clause = _only_clause(_parse_around(f"SELECT 1 {_from(column)} ORDER BY ", column, "", "order_by"))
    if clause is None or len(clause.order_by) != 1 or clause.where is not None:
        raise InvalidQuery(f'order_by(...): "{column}" is not one column', hint='write .order_by("ts")')


def check_output(column: str, alone: bool = False) -> None:
    """Columns as they may stand in SELECT; `alone`: one expression that has no name of its own yet."""
    parsed = _parse_around("SELECT ", column, f" {_from(column)}", "select")
    relation = parsed.relation
    if _only_clause(parsed) is None or (alone and len(relation.expressions) != 1):
        raise InvalidQuery(f'select(...): "{column}" is not a column', hint='write .select("a.id", last="b.ts")')
    if alone and isinstance(relation.expressions[0], exp.Alias):
        raise InvalidQuery(f'select(...): "{column}" has two names', hint='write .select(last="b.ts")')


def show_name(name: str) -> str:
    """The name as SQL, quoted where it must be."""
    is_plain = _WORD.match(name) and name.upper() not in _SQL_WORDS
    return name if is_plain else "`" + name.replace("`", "``") + "`"  # which is a name in either dialect


def show_duration(duration: timedelta) -> str:
    """INTERVAL '10' SECOND: in the largest unit that needs no fraction."""
    for length, names in reversed(UNITS.items()):
        if duration and not duration % length and length != timedelta(weeks=1):
            return f"INTERVAL '{duration // length}' {names.split()[-2].upper()}"
    return f"INTERVAL '{duration // timedelta(microseconds=1)}' MICROSECOND"


def _from(piece: str) -> str:
    """A pattern for the piece to stand in: b[1].x is only understood where b is repeated."""
    repeated = "".join(f", s+ {name}[]" for name in dict.fromkeys(_ELEMENT.findall(piece)))
    return f"FROM PATTERN SEQ(s _a{repeated})"


def _parse_around(before: str, piece: str, after: str, call: str) -> ParsedQuery:
    """The query made of a piece and what stands around it; mistakes are placed in the piece."""
    # a comment could swallow what comes behind it
    if any(found[0].startswith(("--", "/*", "{#")) for found in CLOSED_OR_OPEN.finditer(piece)):
        raise InvalidQuery(f'{call}(...): "{piece}" has a comment in it', hint="put comments into the Python code")
    try:
        return _parse_in_either(f"{before}{piece}{after}")
    except CepheidError as problem:
        if problem.span is not None:
            begin, end = (
                min(max(place - len(before), 0), len(piece)) for place in (problem.span.start, problem.span.end)
            )
            problem.span = Span(begin, end)
        problem.text, problem.origin = piece, f".{call}"
        raise


def _parse_in_either(text: str) -> ParsedQuery:
    """Which dialect it is, is known when the pattern is run: then it is read again."""
    try:
        return parse_query(text)
    except CepheidError:
        try:
            return parse_query(text, "spark")
        except CepheidError:
            pass
        raise


def _only_clause(parsed: ParsedQuery) -> SequenceClause | None:
    """The clause around the piece; None if the piece brought along more than may stand in its place."""
    *_, clause = parsed.clauses
    if not isinstance(clause, SequenceClause):
        return None
    if any((clause.within, clause.strategy_span, clause.consume, clause.limit, clause.timeouts)):
        return None
    parts = {part for part, value in parsed.relation.args.items() if value}
    return clause if parts <= {"expressions", "from_"} else None
