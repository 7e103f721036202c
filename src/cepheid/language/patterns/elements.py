"""Elements of a repeated term of SEQ: `b[i-1].x` is a column whose qualifier is `b[i-1]`.

    b[i].x  b[i-1].x     the element under test, and those before it
    b[1].x  b[last].x    the first, the last so far; b[last-1].x the one before the last
    b[].x   b[..i-1].x   all so far, all before the one under test: inside an aggregate

`element_tokens.py` made these qualifiers out of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from cepheid.errors import InvalidQuery
from cepheid.language.parsing.parser import span_of

INDEX = re.compile(
    r"(?P<name>.*)\[(?:(?P<test>i)|i-(?P<back>\d+)|(?P<nth>\d+)|last-(?P<from_last>\d+)|(?P<last>last)"
    r"|(?P<earlier>\.\.i-1)|(?P<all>))\]\Z"
)
MOST_ELEMENTS = 1_000_000_000
FORMS = "elements are b[i], b[i-1], b[1], b[last], b[last-1], and inside an aggregate b[] or b[..i-1]"


@dataclass(frozen=True, slots=True)
class Element:
    """Which element of a variable is meant; `offset` counts from the end that the kind names, from 0.

    plain: b.x; test: b[i]; back: b[i-k]; first: b[n]; last: b[last-k]; all: b[]; earlier: b[..i-1].
    """

    variable: str
    kind: Literal["plain", "test", "back", "first", "last", "all", "earlier"] = "plain"
    offset: int = 0


def variable_of(qualifier: str) -> str:
    """The variable of a qualifier as the parser made it, in lower case."""
    return qualifier.split("[", 1)[0].lower()


def read_element(written: exp.Expr) -> Element:
    """What a qualifier (or `b[]` alone) means."""
    text = written.name
    if not text.endswith("]"):
        return Element(text)
    found = INDEX.match(text)
    if found is None:
        raise InvalidQuery(f'"{text}" is no element of a repeated term', span=span_of(written), hint=FORMS)
    for number in filter(None, found.group("back", "nth", "from_last")):
        if int(number) > MOST_ELEMENTS:
            told = f'"{text}": no more than {MOST_ELEMENTS:,} elements are counted'
            raise InvalidQuery(told, span=span_of(written), hint=FORMS)
    match found.lastgroup, found[found.lastgroup or 0]:
        case "back", number if int(number) > 0:
            return Element(found["name"], "back", int(number))
        case "back", _:
            return Element(found["name"], "test")
        case "from_last", number:
            return Element(found["name"], "last", int(number))
        case "nth", number if int(number) > 0:
            return Element(found["name"], "first", int(number) - 1)
        case "nth", _:
            raise InvalidQuery(f'"{text}": elements are counted from 1', span=span_of(written), hint=FORMS)
        case ("test" | "last" | "earlier" | "all") as kind, _:
            return Element(found["name"], kind)
    raise AssertionError(f"the form of {text!r} is known")
