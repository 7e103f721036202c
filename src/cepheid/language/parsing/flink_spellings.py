"""Habits of Flink's queries that are no functions: names that come twice.

SELECT B.dateTime, A.dateTime                    the second is called dateTime0, as Flink calls it
"""

from __future__ import annotations

from itertools import count

from sqlglot import exp


def spell_flink(tree: exp.Expression) -> None:
    """Of the columns of the answer those that share a name get numbers."""
    top = tree
    while isinstance(top, exp.SetOperation | exp.Subquery):
        top = top.this
    if not isinstance(top, exp.Select):
        return
    taken: set[str] = set()
    for output in list(top.expressions):
        name = output.alias_or_name if isinstance(output, exp.Column | exp.Alias) else ""
        if not name or output.is_star:
            continue
        free = next(each for each in (name, *(f"{name}{number}" for number in _few())) if each.lower() not in taken)
        taken.add(free.lower())
        if free != name:
            inner = output.unalias()
            output.replace(exp.alias_(inner.copy(), free, quoted=True))


def _few() -> list[int]:
    return [number for number, _ in zip(count(), range(1000), strict=False)]
