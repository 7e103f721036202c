"""The items of a SEQ as they are written, for people who ask what runs."""

from __future__ import annotations

from datetime import timedelta

from cepheid.kernel.pattern import show_quantifier
from cepheid.language.parsing.syntax import Repeats, SequenceItems, SequenceTerm, TermGroup

LINKS = {None: ", ", "next": " NEXT ", "followed": " FOLLOWED BY ", "any": " FOLLOWED BY ANY "}
MARKS = {"one_of": " | ", "all_of": " & "}
INNER = {None: "", "followed": "", "next": " CONSECUTIVE", "any": " COMBINATIONS"}


def show_items(items: SequenceItems) -> str:
    written = ""
    for item in items:
        at_once = isinstance(item, SequenceTerm) and item.at_once
        between = " NOT NEXT " if at_once else LINKS[item.link]
        written += (between if written else "") + _show_item(item)
    return written


def _show_item(item: SequenceTerm | TermGroup) -> str:
    every = "EVERY " if item.every else ""
    if isinstance(item, TermGroup):
        joined = MARKS[item.kind].join(map(_show_item, item.terms)) if item.kind in MARKS else show_items(item.terms)
        return f"{every}({joined}){_show_count(item.repeats)}{_show_options(item.repeats)}"
    absent = "~" if item.negated and not item.at_once else ""
    count = _show_count(item.repeats)
    many = "[]" if item.repeated else ""
    lasting = "" if item.lasting is None else f" FOR {_show_span(item.lasting.duration)}"
    return f"{every}{absent}{item.stream.text}{count} {item.variable.text}{many}{_show_options(item.repeats)}{lasting}"


def _show_count(repeats: Repeats) -> str:
    once = (repeats.least, repeats.most) == (1, 1)
    return "" if once else show_quantifier(repeats.least, repeats.most)


def _show_options(repeats: Repeats) -> str:
    until = "" if repeats.until is None else f" UNTIL {repeats.until.stream.text} {repeats.until.variable.text}"
    return f"{INNER[repeats.inner]}{' GREEDY' if repeats.greedy else ''}{until}"


def _show_span(duration: timedelta | int) -> str:
    return str(duration) if isinstance(duration, int) else f"{duration.total_seconds():g} s"
