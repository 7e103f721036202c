"""A condition written in Python: a function on Arrow columns, computed for each batch before the matcher sees it.

    def is_suspicious(bids: pa.Table) -> pa.Array: ...       one bool for each event

It looks at single events; the pattern reads its answers as one more column.  It is not compiled, and what it does
is not known: no rule moves it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cepheid.graph.function_identity import identify_function


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
        return identify_function(self.function)


def answer_columns(predicates: tuple[Predicate, ...]) -> set[str]:
    """The columns that are made of answers."""
    return {predicate.column for predicate in predicates}


def read_by_predicates(predicates: tuple[Predicate, ...]) -> list[str]:
    """The columns of the layout that the functions are shown."""
    return [layout for predicate in predicates for _, layout in predicate.reads]
