"""Values that Spark has to compute are taken out of a view: they become columns of the tables that it reads.

    SELECT date_format(ts, 'HH') AS h, count(*) FROM s GROUP BY date_format(ts, 'HH')

    SELECT _value_0 AS h, count(*) FROM (SELECT *, date_format(ts, 'HH') AS _value_0 FROM s) GROUP BY _value_0

The inner SELECT looks at each row by itself, so that it stands below the view, and Spark computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from cepheid.language.views.portable_view import is_portable

AddBelow = Callable[[exp.Select], str]
_SEVERAL = (exp.AggFunc, exp.Window, exp.Select, exp.SetOperation)


def lift_values(query: exp.Expr, tables: Collection[str], add_below: AddBelow) -> None:
    """Change the query in place.  tables: the names of what it reads, in lower case; add_below: gives the name of a
    table that holds all columns of the one in FROM, and those of the SELECT."""
    for select in list(query.find_all(exp.Select)):
        item = _only_table(select, tables)
        if item is None or any(output.is_star for output in select.expressions):
            continue
        found: dict[str, exp.Expr] = {}
        for part in _list_values(select):
            name = f"_value_{len(found)}"
            known = next((known for known, value in found.items() if value == part), None)
            if known is None:
                found[name] = part.copy()
            part.replace(exp.column(known or name, quoted=True))
        if found:
            below = exp.select(*(exp.alias_(value, name, quoted=True) for name, value in found.items()))
            alias = item.alias_or_name
            inner = item.copy()
            standing = exp.to_identifier(add_below(below.from_(inner, copy=False)), quoted=True)
            item.replace(exp.Table(this=standing, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))))


def _only_table(select: exp.Select, tables: Collection[str]) -> exp.Table | None:
    from_ = select.args.get("from_")
    item = from_.this if from_ is not None and not select.args.get("joins") else None
    if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
        return None
    return item if item.name.lower() in tables else None


def _list_values(select: exp.Select) -> list[exp.Expr]:
    """The largest values of single rows that are not portable."""
    found: list[exp.Expr] = []
    waiting = [each for part, each in _list_parts(select) if part not in ("from_", "with_")]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Select | exp.SetOperation):
            continue
        if _is_of_a_row(node) and not all(map(is_portable, node.walk())):
            found.append(node)
        else:
            waiting += [each for _, each in _list_parts(node)]
    return found


def _is_of_a_row(node: exp.Expr) -> bool:
    is_value = isinstance(node, exp.Condition) and not isinstance(node, exp.Column)
    return is_value and node.find(*_SEVERAL) is None and node.find(exp.Column) is not None


def _list_parts(node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    parts = [(name, value if isinstance(value, list) else [value]) for name, value in node.args.items()]
    return [(name, each) for name, values in parts for each in values if isinstance(each, exp.Expr)]
