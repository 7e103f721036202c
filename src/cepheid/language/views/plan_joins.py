"""The FROM of a SELECT: its items joined one after the other, each with what has come before it.

Of an inner join only new pairs are computed.  An outer join is computed anew for the keys whose rows change: whether a
row has a partner may change with any of them.
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.language.views.steps import (
    Rows,
    Steps,
    Unplanned,
    column,
    filter_rows,
    flatten,
    has_query,
    join_and,
    only,
    split_and,
    tables_of,
    with_keys,
)
from cepheid.language.views.view_plan import JoinStep, KeyedStep, MapStep

_OUTER = ("LEFT", "RIGHT", "FULL")


def join_items(steps: Steps, select: exp.Select, items: list[tuple[str, Rows]]) -> tuple[Rows, list[exp.Expr]]:
    """The rows of FROM, with columns "item.column", and those parts of WHERE that are still to be tested."""
    waiting = split_and(select.args["where"].this if select.args.get("where") else None)
    joins = select.args.get("joins") or []
    early = not any(join.side in ("RIGHT", "FULL") for join in joins)  # may WHERE be tested before all are joined?
    (first, rows), *others = items
    known = {first}
    rows = _name_columns(steps, first, rows)
    if early:
        rows, waiting = _filter_own(steps, rows, waiting, first)
    for join, (name, added) in zip(joins, others, strict=True):
        if join.method or join.args.get("using") or join.kind not in ("", "INNER", "CROSS", "OUTER"):
            raise Unplanned
        right = _name_columns(steps, name, added)
        parts = split_and(join.args.get("on"))
        if any(map(has_query, parts)) or any(not tables_of(part) <= known | {name} for part in parts):
            raise Unplanned
        if join.side in _OUTER:
            rows = _join_outer(steps, join.side, rows, right, parts, name)
        else:
            if early:
                here = [part for part in waiting if not has_query(part) and tables_of(part) <= known | {name}]
                waiting = [part for part in waiting if part not in here]
                parts += here
            right, parts = _filter_own(steps, right, parts, name)
            rows = _join_inner(steps, rows, right, parts, name)
        known.add(name)
    return rows, waiting


def _name_columns(steps: Steps, item: str, rows: Rows) -> Rows:
    outputs = tuple((f"{item}.{name}", column(name)) for name in rows.columns)
    return steps.add(MapStep(rows.step, outputs), tuple(name for name, _ in outputs))


def _filter_own(steps: Steps, rows: Rows, parts: list[exp.Expr], item: str) -> tuple[Rows, list[exp.Expr]]:
    """Test what looks at one item only before it is joined."""
    own = [part for part in parts if tables_of(part) == {item} and not has_query(part)]
    return filter_rows(steps, rows, list(map(flatten, own))), [part for part in parts if part not in own]


def _join_inner(steps: Steps, left: Rows, right: Rows, parts: list[exp.Expr], item: str) -> Rows:
    left, right, keys = _find_keys(steps, left, right, parts, item)
    condition = join_and(list(map(flatten, parts))) if parts else "TRUE"
    return steps.add(JoinStep(left.step, right.step, keys, condition), (*left.columns, *right.columns))


def _join_outer(steps: Steps, side: str, left: Rows, right: Rows, parts: list[exp.Expr], item: str) -> Rows:
    left, right, keys = _find_keys(steps, left, right, parts, item)
    condition = join_and(list(map(flatten, parts))) if parts else "TRUE"
    by_left, by_right = tuple(left_key for left_key, _ in keys), tuple(right_key for _, right_key in keys)
    chosen, told = "*", {"LEFT": by_left, "RIGHT": by_right}.get(side)
    columns = (*left.columns, *right.columns)
    if told is None:
        told = tuple(f"_row.{number}" for number in range(len(keys)))
        either = [
            f"coalesce({column(one)}, {column(other)}) AS {column(name)}"
            for (one, other), name in zip(keys, told, strict=True)
        ]
        chosen = ", ".join(["*", *either])
    sql = f"SELECT {chosen} FROM _0 {side} JOIN _1 ON {condition}"
    step = KeyedStep((left.step, right.step), (by_left, by_right), sql, row_keys=told)
    return only(steps, steps.add(step, (*columns, *(told if side == "FULL" else ()))), columns)


def _find_keys(
    steps: Steps, left: Rows, right: Rows, parts: list[exp.Expr], item: str
) -> tuple[Rows, Rows, tuple[tuple[str, str], ...]]:
    """What must be equal for two rows to be joined, as columns of both."""
    of_left, of_right = [], []
    for part in parts:
        pair = find_equality(part, {item})
        if pair is not None:
            of_right.append(flatten(pair[0]))
            of_left.append(flatten(pair[1]))
    left, left_keys = with_keys(steps, left, of_left, f"_left.{item}.")
    right, right_keys = with_keys(steps, right, of_right, f"_right.{item}.")
    return left, right, tuple(zip(left_keys, right_keys, strict=True))


def find_equality(part: exp.Expr, own: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """x = y, where one side reads columns of `own` only and the other of others only: own side first."""
    part = part.unnest()
    if not isinstance(part, exp.EQ) or has_query(part):
        return None
    sides = [(side, tables_of(side)) for side in (part.left, part.right)]
    for (one, its), (other, others) in (sides, sides[::-1]):
        if its and others and its <= own and not others & own:
            return one, other
    return None
