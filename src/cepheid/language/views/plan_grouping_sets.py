"""GROUPING SETS, ROLLUP and CUBE: a grouping for each set, put together.

What a set leaves out is null there; GROUPING(k) tells such a null from one in the data.
"""

from __future__ import annotations

from itertools import combinations, product

from sqlglot import exp

from cepheid.language.views.steps import Unplanned, flatten, sql_of

Set = tuple[str, ...]
_SEVERAL = (exp.GroupingSets, exp.Rollup, exp.Cube)


def has_sets(group: exp.Group | None) -> bool:
    return group is not None and any(isinstance(each, _SEVERAL) for each in group.expressions)


def list_sets(group: exp.Group) -> tuple[dict[str, exp.Expr], list[Set]]:
    """All that is grouped by, by its text, and the sets, as texts; several clauses side by side are combined."""
    keys: dict[str, exp.Expr] = {}
    choices = [_list_choices(each, keys) for each in group.expressions]
    combined = [tuple(dict.fromkeys(key for part in chosen for key in part)) for chosen in product(*choices)]
    return keys, combined


def _list_choices(clause: exp.Expr, keys: dict[str, exp.Expr]) -> list[Set]:
    match clause:
        case exp.Rollup():
            parts = [_read_set(each, keys) for each in clause.expressions]
            return [_flat(parts[:count]) for count in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = [_read_set(each, keys) for each in clause.expressions]
            return [_flat(chosen) for count in range(len(parts), -1, -1) for chosen in combinations(parts, count)]
        case exp.GroupingSets():
            return [choice for each in clause.expressions for choice in _list_choices(each, keys)]
    return [_read_set(clause, keys)]


def _flat(parts: list[Set] | tuple[Set, ...]) -> Set:
    return tuple(key for part in parts for key in part)


def _read_set(written: exp.Expr, keys: dict[str, exp.Expr]) -> Set:
    written = written.unnest()
    members = written.expressions if isinstance(written, exp.Tuple) else [written]
    found = []
    for member in members:
        if isinstance(member, exp.Literal):
            raise Unplanned
        key = flatten(member)
        keys.setdefault(sql_of(key), key)
        found.append(sql_of(key))
    return tuple(found)


def read_grouping(call: exp.Expr, chosen: Set) -> int:
    """The value of GROUPING(a, b): a bit for each of them, 1 if the set leaves it out."""
    bits = ["0" if sql_of(each) in chosen else "1" for each in call.expressions]
    return int("".join(bits), 2)
