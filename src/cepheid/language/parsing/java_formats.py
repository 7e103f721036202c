"""Formats of times as Java writes them (`yyyy-MM-dd HH:mm`), as strftime writes them (`%Y-%m-%d %H:%M`)."""

from __future__ import annotations

import re

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.places import span_of

_LETTERS = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "d": "%-d", "HH": "%H", "hh": "%I", "mm": "%M",
    "ss": "%S", "a": "%p", "EEE": "%a", "EEEE": "%A", "MMM": "%b", "MMMM": "%B", "DDD": "%j", "SSS": "%g",
    "SSSSSS": "%f",
}  # fmt: skip
_PIECES = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z']+)")


def read_java_format(written: exp.Expr) -> exp.Literal:
    """The literal for strftime; what has no exact counterpart is refused."""
    if not isinstance(written, exp.Literal) or not written.is_string:
        raise NotSupportedYet("a format that is no literal", span=span_of(written), hint="write 'yyyy-MM-dd HH:mm:ss'")
    pieces: list[str] = []
    for found in _PIECES.finditer(written.name):
        if found["quoted"] is not None:
            pieces.append((found["quoted"].replace("''", "'") or "'").replace("%", "%%"))
        elif found["other"] is not None:
            pieces.append(found["other"].replace("%", "%%"))
        elif found["letters"] in _LETTERS:
            pieces.append(_LETTERS[found["letters"]])
        else:
            raise NotSupportedYet(
                f'"{found["letters"]}" in a format', span=span_of(written), hint=f"there are {', '.join(_LETTERS)}"
            )
    return exp.Literal.string("".join(pieces))
