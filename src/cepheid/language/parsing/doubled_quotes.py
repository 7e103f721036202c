"""'it''s' in Spark's dialect: one quote in a text for some sessions, two texts in a row ('it' 's') for others.

Spark 4.0 reads it the second way, newer ones the first, unless a legacy setting says otherwise.  We read it the first
way: so where there is one, the session is asked, and refused if it means the other.
"""

from __future__ import annotations

from collections.abc import Callable

from cepheid.errors import NotSupportedYet, Span
from cepheid.language.parsing.parser import CLOSED_OR_OPEN_IN_SPARK


def check_doubled_quotes(text: str, keeps_quote: Callable[[], bool]) -> None:
    """Refuse a doubled quote where the session does not take it for one; keeps_quote: asks the session."""
    found = find_doubled_quote(text)
    if found is not None and not keeps_quote():
        raise NotSupportedYet(
            "a doubled quote in a text, which this session of Spark reads as two texts in a row,",
            span=found,
            hint="write \\' for a quote within a text, which means the same in every session",
        ).with_text(text)


def find_doubled_quote(text: str) -> Span | None:
    """Where the first text with a doubled quote in it stands."""
    begin, end, mark = 0, -1, ""
    for found in CLOSED_OR_OPEN_IN_SPARK.finditer(text):
        if found.start() == end and mark == found[0][0] and mark in "'\"":
            return Span(begin, found.end())
        begin, end, mark = found.start(), found.end(), found[0][0]
    return None
