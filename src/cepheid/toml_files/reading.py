"""From a path to a table, and from a mistake back to its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from cepheid.errors import InvalidInput, Span
from cepheid.toml_files.places import find_place
from cepheid.toml_files.table import Table


def read_text(path: Path, what: str, hint: str) -> str:
    """hint: where such a file comes from."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(f'the {what} "{path}" does not exist', hint=hint) from None
    except (OSError, UnicodeDecodeError) as problem:
        told = f'the {what} "{path}" cannot be read: {problem}'
        raise InvalidInput(told, hint="give a file of text in UTF-8 that you may read") from None


def parse_table(text: str, title: str, known: Collection[str], kind: type[InvalidInput] = InvalidInput) -> Table:
    """The whole of a file."""
    try:
        return Table(tomllib.loads(text), title, known, kind=kind)
    except RecursionError:
        told, hint = "this is no TOML: brackets stand too deep in one another", "write inner tables below [headings]"
        raise kind(told, span=Span(0, 1), hint=hint) from None
    except ValueError as problem:  # of tomllib, or of a number with thousands of digits
        reason = re.sub(r" \(at [^()]*\)$", "", str(problem))
        hint = 'write [table], then lines like name = "text" or rate = 2.5; lists are in brackets'
        raise kind(f"this is no TOML: {reason}", span=_find_syntax_error(text, str(problem)), hint=hint) from None


def _find_syntax_error(text: str, message: str) -> Span:
    told = re.search(r"at line (\d+), column (\d+)\)$", message)
    if told is not None:
        start = sum(len(line) + 1 for line in text.split("\n")[: int(told[1]) - 1]) + int(told[2]) - 1
    else:
        start = len(text.rstrip()) if "end of document" in message else 0
    return Span(start, start + 1)


@contextmanager
def places_in(text: str, path: Path) -> Iterator[None]:
    """Mistakes that are told inside are shown in this text."""
    try:
        yield
    except InvalidInput as problem:
        if problem.span is None and problem.text is None:
            problem.span = find_place(text, problem.where)
        raise problem.with_text(text, str(path)) from None
