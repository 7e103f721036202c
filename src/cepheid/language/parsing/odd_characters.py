"""Characters that look like SQL and are none: quotes and marks of text processors, and what cannot be seen at all.

    WHERE name = <U+2018>bus<U+2019>     a typographic quote: write the plain one
    SELECT id,<U+200B>ts     an invisible character: remove it

They come along when text is copied from pages and chats.  Inside quotes and comments they may stand.
"""

from __future__ import annotations

import re
import unicodedata

from cepheid.errors import Span, SyntaxProblem

MEANT = {
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "´": "'", "−": "-", "–": "-",  # noqa: RUF001
    "—": "-", "，": ",", "；": ";", "（": "(", "）": ")", "＝": "=", "＜": "<", "＞": ">", "＊": "*",  # noqa: RUF001
    "≤": "<=", "≥": ">=",
    "≠": "<>", "×": "*", "÷": "/", "…": "...",  # noqa: RUF001
}  # fmt: skip
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")
SPACES = "\t\n\r\f\v"


def check_characters(text: str, pieces: re.Pattern[str]) -> None:
    """pieces: what is quoted or a comment."""
    place = text.find("\0")
    if place >= 0:
        raise _invisible("\0", place)  # also in quotes: hosts take it for the end of the text
    if text.isascii() and text.isprintable():
        return
    end = 0
    for found in pieces.finditer(text):
        _check_plain(text, end, found.start())
        end = found.end()
    _check_plain(text, end, len(text))


def _check_plain(text: str, start: int, end: int) -> None:
    for place in range(start, end):
        character = text[place]
        if character in MEANT:
            raise SyntaxProblem(
                f'"{character}" is typographic, and means nothing in SQL',
                span=Span(place, place + 1),
                hint=f"write {MEANT[character]} instead",
            )
        if unicodedata.category(character) in UNSEEN and character not in SPACES:
            raise _invisible(character, place)


def _invisible(character: str, place: int) -> SyntaxProblem:
    return SyntaxProblem(
        f"there is an invisible character here, U+{ord(character):04X}",
        span=Span(place, place + 1),
        hint="remove it, or write the line again",
    )
