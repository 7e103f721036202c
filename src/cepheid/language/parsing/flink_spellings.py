"""Habits of Flink's queries that are no functions: names that come twice, and ends that are not null.

SELECT B.dateTime, A.dateTime                    the second is called dateTime0, as Flink calls it
LAST_VALUE(x) OVER (...)                         LAST_VALUE(x) IGNORE NULLS OVER (...)
LAST_VALUE(x) ... GROUP BY                       the last element of array_agg(x) that is not null
"""

from __future__ import annotations

from itertools import count

from sqlglot import exp


def spell_flink(tree: exp.Expression) -> None:
    for end in list(tree.find_all(exp.FirstValue, exp.LastValue)):
        _pass_over_nulls(end)
    _number_names(tree)


def _pass_over_nulls(end: exp.AggFunc) -> None:
    """FIRST_VALUE and LAST_VALUE, of a frame and of a group: of the rows where it is not null."""
    called, value = end.parent, end.this
    if isinstance(called, exp.IgnoreNulls | exp.RespectNulls):
        return
    if isinstance(called, exp.Window) and end.arg_key == "this":
        end.replace(exp.IgnoreNulls(this=end.copy()))
        return
    if isinstance(value, exp.Distinct) and len(value.expressions) == 1:
        value = value.expressions[0]
    whole: exp.Expr = end
    if isinstance(called, exp.Filter):
        condition = called.expression.this
        whole, value = called, exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
        if isinstance(called.parent, exp.Window):
            whole.replace(exp.Filter(this=exp.IgnoreNulls(this=end.copy()), expression=called.expression.copy()))
            return
    gathered = exp.ArrayAgg(this=value.copy())
    gathered.meta.update(end.meta)
    each = exp.to_identifier("_each")
    is_there = exp.Not(this=exp.Is(this=each.copy(), expression=exp.Null()))
    kept = exp.ArrayFilter(this=gathered, expression=exp.Lambda(this=is_there, expressions=[each]))
    place = exp.Literal.number(1) if isinstance(end, exp.FirstValue) else exp.Neg(this=exp.Literal.number(1))
    whole.replace(exp.Anonymous(this="ELEMENT_AT", expressions=[kept, place]))


def _number_names(tree: exp.Expression) -> None:
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
