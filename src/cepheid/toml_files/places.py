"""Where in a TOML file something stands, so that a mistake can be shown.

`tomllib` gives values without their places.  This goes through the text a second time, only when there is a mistake to
tell, and only what `tomllib` has taken: that the text is TOML is not looked at again.
"""

from __future__ import annotations

import re
import tomllib

from cepheid.errors import Span, Where

BLANK = re.compile(r"(?:\s|#[^\n]*)*")
QUOTED = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
NAME = re.compile(rf"{QUOTED}|[\w-]+")
NAMES = re.compile(rf"(?:{NAME.pattern})(?:[ \t]*\.[ \t]*(?:{NAME.pattern}))*")
LONG_TEXT = r'"""(?:[^\\]|\\[\s\S])*?"""(?!")|\'\'\'[\s\S]*?\'\'\'(?!\')'
SINGLE = re.compile(rf"{LONG_TEXT}|{QUOTED}|[^\s,\]}}#]+(?: \d[^\s,\]}}#]*)?")  # a date and its time may be apart


def find_place(text: str, where: Where) -> Span:
    """Of what the way leads to: a key with its value, an element of a list, the header of a table.  If it is not there,
    of the last on the way that is."""
    places = _Walk(text).places
    for length in range(len(where), 0, -1):
        if where[:length] in places:
            return places[where[:length]]
    return Span(0, min(1, len(text)))


class _Walk:
    """Through the whole text, from its start to its end.  at: how far it is.  lists: of each list that is written with
    headers, [[query]], the number of the element that was begun last."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.places: dict[Where, Span] = {}
        self.lists: dict[Where, int] = {}
        inside: Where = ()
        self.skip()
        while self.at < len(text):
            if text[self.at] == "[":
                inside = self.pass_header()
            else:
                self.pass_pair(inside)
            self.skip()

    def skip(self, mark: str = "") -> None:
        """Blanks and comments, and the mark, if it stands between them."""
        self.at = self.pass_over(BLANK)
        if mark and self.text.startswith(mark, self.at):
            self.at += len(mark)
            self.at = self.pass_over(BLANK)

    def pass_over(self, expected: re.Pattern[str]) -> int:
        found = expected.match(self.text, self.at)
        assert found is not None, f"tomllib took what is not TOML at {self.at}"
        return found.end()

    def pass_names(self) -> list[str]:
        start, self.at = self.at, self.pass_over(NAMES)
        names = NAME.findall(self.text, start, self.at)
        return [tomllib.loads(f"name = {name}")["name"] if name[0] in "\"'" else name for name in names]

    def pass_header(self) -> Where:
        start, is_list = self.at, self.text.startswith("[[", self.at)
        brackets = 2 if is_list else 1
        self.at += brackets
        self.skip()
        names = self.pass_names()
        self.skip()
        self.at += brackets
        span = Span(start, self.at)
        where: Where = ()
        for number, name in enumerate(names, 1):
            where = (*where, name)
            if is_list and number == len(names):
                self.lists[where] = self.lists.get(where, -1) + 1
            self.places.setdefault(where, span)
            if where in self.lists:
                where = (*where, self.lists[where])
        self.places[where] = span
        return where

    def pass_pair(self, inside: Where) -> None:
        start = self.at
        where = (*inside, *self.pass_names())
        self.skip("=")
        self.pass_value(where)
        span = Span(start, self.at)
        for length in range(len(inside) + 1, len(where)):
            self.places.setdefault(where[:length], span)
        self.places[where] = span

    def pass_value(self, where: Where) -> None:
        opening = self.text[self.at]
        if opening not in "[{":
            self.at = self.pass_over(SINGLE)
            return
        self.at += 1
        self.skip()
        number = 0
        while self.text[self.at] not in "]}":
            if opening == "{":
                self.pass_pair(where)
            else:
                start = self.at
                self.pass_value((*where, number))
                self.places[*where, number] = Span(start, self.at)
                number += 1
            self.skip(",")
        self.at += 1
