"""The items of a pattern written in Python, and how they are written as SQL.

PatternTerm("b", "asks", count=(2, 3), greedy=True)       asks{2,3} b[] GREEDY
PatternTerm("c", "cancels", negated=True, lasting=...)    ~cancels c FOR INTERVAL '2' SECOND
PatternGroup("in_turn", (...), count=(1, None))           (bids a, asks b)+
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from cepheid.kernel.pattern import show_quantifier
from cepheid.language.builder.pattern_text import show_duration, show_name

Function = Callable[[Any], Any]
NameStream = Callable[[str | None], str]
Count = tuple[int, int | None]
Link = Literal["", "NEXT", "FOLLOWED BY", "FOLLOWED BY ANY", "NOT NEXT", "NOT FOLLOWED BY"]
MARKS = {"one_of": " | ", "all_of": " & "}


@dataclass(frozen=True, slots=True)
class PatternTerm:
    """One variable of a pattern; `stream` None: the only one that the query is given; `link`: how it follows the item
    before, a comma if that is empty."""

    variable: str
    stream: str | None = None
    count: Count = (1, 1)
    negated: bool = False
    functions: tuple[Function, ...] = ()
    link: Link = ""
    inner: Literal["", "CONSECUTIVE", "COMBINATIONS"] = ""
    greedy: bool = False
    until: PatternTerm | None = None
    lasting: timedelta | None = None
    every: bool = False

    @property
    def repeated(self) -> bool:
        return self.count not in ((1, 1), (0, 1))

    def show(self, name_stream: NameStream) -> str:
        absent = "~" if self.negated and not self.link else ""
        count = "" if self.count == (1, 1) else show_quantifier(*self.count)
        parts = [
            "EVERY" if self.every else "",
            f"{absent}{name_stream(self.stream)}{count} {show_name(self.variable)}{'[]' if self.repeated else ''}",
            *(f"/* {_name_function(function)} */" for function in self.functions),
            *_show_options(self, name_stream),
            f"FOR {show_duration(self.lasting)}" if self.lasting is not None else "",
        ]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Items of which one is needed, or all in any order, or one after the other."""

    kind: Literal["one_of", "all_of", "in_turn"]
    items: tuple[PatternTerm | PatternGroup, ...]
    count: Count = (1, 1)
    link: Link = ""
    inner: Literal["", "CONSECUTIVE", "COMBINATIONS"] = ""
    greedy: bool = False
    until: PatternTerm | None = None
    every: bool = False

    def show(self, name_stream: NameStream) -> str:
        if self.kind == "in_turn":
            inside = show_items(self.items, name_stream)
        else:
            inside = MARKS[self.kind].join(item.show(name_stream) for item in self.items)
        count = "" if self.count == (1, 1) else show_quantifier(*self.count)
        parts = ["EVERY" if self.every else "", f"({inside}){count}", *_show_options(self, name_stream)]
        return " ".join(part for part in parts if part)


PatternItem = PatternTerm | PatternGroup


def show_items(items: tuple[PatternItem, ...], name_stream: NameStream) -> str:
    """One after the other, with what stands between them."""
    written = ""
    for item in items:
        between = f" {item.link} " if item.link else ", "
        written += (between if written else "") + item.show(name_stream)
    return written


def walk_terms(items: tuple[PatternItem, ...]) -> Iterator[PatternTerm]:
    """All terms, in the order in which they are written."""
    for item in items:
        if isinstance(item, PatternGroup):
            yield from walk_terms(item.items)
        else:
            yield item
        if item.until is not None:
            yield item.until


def list_single(items: tuple[PatternItem, ...]) -> Iterator[PatternTerm]:
    """The terms that are bound once at most."""
    for item in items:
        if isinstance(item, PatternGroup):
            yield from list_single(item.items) if item.count in ((1, 1), (0, 1)) else ()
        elif not item.negated and not item.repeated:
            yield item


def _show_options(item: PatternItem, name_stream: NameStream) -> list[str]:
    until = "" if item.until is None else f"UNTIL {item.until.show(name_stream).removeprefix('~')}"
    return [item.inner, "GREEDY" if item.greedy else "", until]


def _name_function(function: Function) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"Python: {name}".replace("*/", "* /")
