"""Every value of a TOML file is found where it stands, in whatever way it is written."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cepheid.errors import InvalidInput, Where
from cepheid.toml_files.places import find_place
from cepheid.toml_files.reading import parse_table, places_in

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MANY_WAYS = r'''
name = "top"       # a comment with [brackets] and x = 1
when = 1979-05-27 07:32:00
until=1979-05-27
a.b . "c.d" = 1
a.b.e = 0xff
'single "quoted"' = 'c:\new'
"esc\"aped \u00e9" = true
both = """
[not.a.header]
x = 2 \""" ] , } # no comment
"five quotes end it"""""
raw = """"quoted" at once"""
lines = ~~~
name = "inside"
it's'~~~
empty = [ ]
nested = [ [1, [2, "],["]], { x = 1, y.z = [ { }, {w = 2} ] }, # more
  3 ,
]
none = {}

  [ table . "in ner" ]   # header
name = "inner"
[table]
name = "later"
[[list]]
name = "zero"
[[list.part]]
x = 1
[list.part.deep]
x = 2
[[list.part]]
x = 3
[[list]]
name = "one"
  [list.only]
  x = nan
[[list.part]]
x = { y = -inf }
'''.replace("~~~", "'''")


def values_of(value: Any, where: Where = ()) -> Iterator[tuple[Where, Any]]:
    if where:
        yield where, value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from values_of(inner, (*where, key))


def show(text: str, *where: str | int) -> str:
    span = find_place(text, where)
    return text[span.start : span.end]


@pytest.mark.parametrize(
    "text", [MANY_WAYS, *(path.read_text() for path in sorted(EXAMPLES.glob("*.toml")))], ids=lambda text: text[:20]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_stands_at_the_place_of_a_value_is_the_value(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    for where, value in values_of(tomllib.loads(text)):
        found = show(text, *where)
        if isinstance(value, dict | list) and found[0] in "[{" and found != "[ ]" and not isinstance(where[-1], int):
            assert value, where  # the header of a table, or of a part of it
        elif not isinstance(value, dict):
            again = tomllib.loads(f"value = {found}" if isinstance(where[-1], int) else found)
            assert repr(value) in repr(again), where


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (("name",), 'name = "top"'),
        (("when",), "when = 1979-05-27 07:32:00"),
        (("until",), "until=1979-05-27"),
        (("a", "b", "c.d"), 'a.b . "c.d" = 1'),
        (("a", "b", "absent"), 'a.b . "c.d" = 1'),
        (('esc"aped \u00e9',), '"esc\\"aped \\u00e9" = true'),
        (("nested", 0, 1, 1), '"],["'),
        (("nested", 1, "y", "z", 1, "w"), "w = 2"),
        (("nested", 9), MANY_WAYS[MANY_WAYS.index("nested =") : MANY_WAYS.index("\nnone")]),
        (("table",), "[table]"),
        (("table", "in ner"), '[ table . "in ner" ]'),
        (("table", "in ner", "name"), 'name = "inner"'),
        (("table", "name"), 'name = "later"'),
        (("list",), "[[list]]"),
        (("list", 0, "name"), 'name = "zero"'),
        (("list", 0, "part", 0, "deep", "x"), "x = 2"),
        (("list", 0, "part", 1, "x"), "x = 3"),
        (("list", 0, "part", 1, "absent"), "[[list.part]]"),
        (("list", 1, "name"), 'name = "one"'),
        (("list", 1, "only", "x"), "x = nan"),
        (("list", 1, "part", 0, "x", "y"), "y = -inf"),
        (("absent",), "\n"),
        ((), "\n"),
    ],
    ids=str,
)
def test_each_way_leads_to_its_place(where: Where, found: str) -> None:
    assert show(MANY_WAYS, *where) == found


def test_of_lists_with_headers_the_right_element_is_found() -> None:
    assert find_place(MANY_WAYS, ("list", 1)).start == MANY_WAYS.rindex("[[list]]")
    assert find_place(MANY_WAYS, ("list", 1, "part", 0)).start == MANY_WAYS.rindex("[[list.part]]")


def test_places_are_found_in_every_text_that_is_toml() -> None:
    chance = random.Random(7)
    taken = 0
    for _ in range(400):
        start = chance.randrange(len(MANY_WAYS))
        end = min(len(MANY_WAYS), start + chance.choice((0, 1, 1, 2, 5, 30)))
        piece = chance.choice(("", "0", '"', "'", '"""', "[", "}", "-1", "#", "nan", "\n", ",", "x", " ", "."))
        text = MANY_WAYS[:start] + piece + MANY_WAYS[end:]
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        taken += 1
        for where, value in values_of(document):
            if isinstance(value, str | int) and not isinstance(where[-1], int):
                assert repr(value) in repr(tomllib.loads(show(text, *where))), (text, where)
    assert taken > 50


@pytest.mark.parametrize(
    ("text", "told", "place"),
    [
        ("a = 1\nb = ", "Invalid value", "f.toml:2:"),
        ("a = 1\nb = [1", "Unclosed array", "f.toml:2:7"),
        ('a = "\u2028"\nb = !', "Invalid value", "f.toml:2:5"),
        ("a = 1\n[b\n", "Expected ']'", "f.toml:2:3"),
        ("a = " + "[" * 5000, "too deep", "f.toml:1:1"),
        ("a = " + "1" * 5000, "digits", "f.toml:1:1"),
    ],
)
def test_what_is_no_toml_is_told_with_its_place(text: str, told: str, place: str) -> None:
    with pytest.raises(InvalidInput) as caught, places_in(text, Path("f.toml")):
        parse_table(text, "the file", ("a", "b"))
    assert caught.value.message.startswith("this is no TOML: ")
    assert told in caught.value.message
    assert f"--> {place}" in str(caught.value)
