"""A condition written in Python: a function on Arrow columns, computed for each batch before the matcher sees it.

    def is_suspicious(bids: pa.Table) -> pa.Array: ...       one bool for each event

It looks at single events; the pattern reads its answers as one more column.  It is not compiled, and what it does
is not known: no rule moves it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any


@dataclass(frozen=True, slots=True)
class Predicate:
    """`column`: the name of the answers among the pattern's columns; `reads`: (name the function knows, column of the
    layout); `stream`: the input it is asked about (SEQ)."""

    column: str
    function: Callable[[Any], Any]
    reads: tuple[tuple[str, str], ...]
    stream: int = 0

    def show(self) -> str:
        return f"{self.column}: {self.name} (Python, not compiled)"

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    @property
    def identity(self) -> str:
        """Equal for the same function in another process: its name and its code."""
        code = getattr(self.function, "__code__", None)
        told = f"{getattr(self.function, '__module__', '')}.{self.name}"
        return told if code is None else told + hashlib.sha256(_tell_code(code).encode()).hexdigest()[:16]


def _tell_code(code: CodeType) -> str:
    """Code as text that is the same in every process."""
    return f"{code.co_code.hex()} {code.co_names} {[_tell_constant(constant) for constant in code.co_consts]}"


def _tell_constant(constant: object) -> str:
    match constant:
        case CodeType():  # its own text would tell where it lies in memory
            return _tell_code(constant)
        case frozenset():  # strings have other hashes, and so another order, in another process
            return str(sorted(map(repr, constant)))
    return repr(constant)


def answer_columns(predicates: tuple[Predicate, ...]) -> set[str]:
    """The columns that are made of answers."""
    return {predicate.column for predicate in predicates}


def read_by_predicates(predicates: tuple[Predicate, ...]) -> list[str]:
    """The columns of the layout that the functions are shown."""
    return [layout for predicate in predicates for _, layout in predicate.reads]
