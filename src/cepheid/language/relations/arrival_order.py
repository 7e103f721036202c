"""OVER and GROUP BY over whole tables: rows that nothing else puts in order are in that of the table, as on a stream.

    SELECT lag(v) OVER (ORDER BY ts) FROM s     =>  SELECT lag(v) OVER (ORDER BY ts, _cep_arrival) FROM "s$arrival" AS s
    SELECT last(v) FROM s GROUP BY k           =>  SELECT last(v ORDER BY _cep_arrival) FROM "s$arrival" AS s GROUP BY k

A SQL engine may put equal rows in any order, and reads the pieces of a table in any.  Functions for which equal rows
are one (`rank`, frames of RANGE) stay as they are; `first_value` and its like read such a frame in that order.  Rows of
joins and groups have no order to keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sqlglot import exp

from cepheid.language.relations.simple_select import is_plain_item, only_item
from cepheid.language.relations.sql_values import read_value, write_tree
from cepheid.scalars.value import Scalar

ARRIVAL = "_cep_arrival"
SUFFIX = "$arrival"
_BY_ROW = (exp.RowNumber, exp.Lag, exp.Lead, exp.Ntile)
_OF_FRAME = (exp.FirstValue, exp.LastValue, exp.NthValue)
_RANKS = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)  # whatever their frame is
_OF_GROUP = (exp.First, exp.Last, exp.ArrayAgg, exp.GroupConcat)
_GROUPED = {"group", "having"}
_PARTS = {
    "expressions",
    "from_",
    "where",
    "with_",
    "windows",
    "distinct",
    "order",
    "limit",
    "offset",
    "qualify",
    "kind",
}


@lru_cache(maxsize=256)
def keep_arrival(query: Scalar, tables: tuple[str, ...]) -> tuple[Scalar, tuple[str, ...]]:
    """The query, and those of its tables that it reads with their order: as `s$arrival`, with one more column."""
    tree = write_tree(query)
    if tree.find(exp.Window, *_OF_GROUP) is None:
        return query, ()
    reader = _Reader(tables)
    for select in list(tree.find_all(exp.Select)):
        reader.read(select)
    return (read_value(tree), tuple(sorted(reader.read_tables))) if reader.read_tables else (query, ())


class _Reader:
    def __init__(self, tables: tuple[str, ...]) -> None:
        self._tables = {name.lower(): name for name in tables}
        self.read_tables: set[str] = set()

    def read(self, select: exp.Select) -> None:
        named = {window.name.lower(): window for window in select.args.get("windows") or ()}
        calls = [
            call
            for call in select.find_all(exp.Window)
            if call.find_ancestor(exp.Select) is select and call.arg_key != "windows" and _needs_order(call, named)
        ]
        gathered = [each for each in select.find_all(*_OF_GROUP) if each.find_ancestor(exp.Select) is select]
        gathered = [each for each in gathered if _takes_order(each)]
        item = select.args["from_"].this if select.args.get("from_") is not None else None
        parts = {part for part, value in select.args.items() if value} - _PARTS
        if item is None or not parts <= (_GROUPED if gathered else set()) or not (calls or gathered):
            return
        if not is_plain_item(item) or not self._expose(_in_place(item)):
            return
        for call in () if parts or gathered else calls:  # over groups there is no such column
            _add_arrival(call, named)
        for each in gathered:
            each.set("this", exp.Order(this=each.this.copy(), expressions=[_arrival()]))
        for star in [each for each in select.expressions if each.is_star]:
            _leave_out(star)

    def _expose(self, item: exp.Expr) -> bool:
        """Let what stands in FROM have the column; False: it has no order."""
        if isinstance(item, exp.Subquery):
            inner = only_item(item.this)
            several = item.this.find(exp.AggFunc, exp.Window, exp.Unnest) is not None
            if inner is None or several or not self._expose(_in_place(inner)):
                return False
            if not any(output.is_star for output in item.this.expressions):
                item.this.append("expressions", exp.column(ARRIVAL, quoted=True))
            return True
        name = self._tables.get(item.name.lower())
        if name is None or _find_cte(item) is not None:
            return False
        self.read_tables.add(name)
        item.set("alias", exp.TableAlias(this=exp.to_identifier(item.alias_or_name, quoted=True)))
        item.set("this", exp.to_identifier(f"{name}{SUFFIX}", quoted=True))
        return True


def _in_place(item: exp.Expr) -> exp.Expr:
    """A CTE of the query is put where it is read: what others read of it stays as it is."""
    cte = _find_cte(item) if isinstance(item, exp.Table) else None
    if cte is None or cte.args["alias"].args.get("columns") or only_item(cte.this) is None:
        return item
    assert cte.parent is not None, "a CTE stands in WITH"
    if cte.parent.args.get("recursive") or any(cte is node for node in _list_around(item)):
        return item
    name = exp.to_identifier(item.alias_or_name, quoted=True)
    return item.replace(exp.Subquery(this=cte.this.copy(), alias=exp.TableAlias(this=name)))


def _find_cte(table: exp.Expr) -> exp.CTE | None:
    """The CTE of the query that is meant, if one is."""
    for node in _list_around(table):
        with_clause = node.args.get("with_")
        for cte in with_clause.expressions if with_clause is not None else ():
            if cte.alias.lower() == table.name.lower():
                return cte
    return None


def _list_around(node: exp.Expr) -> Iterator[exp.Expr]:
    above: exp.Expr | None = node
    while above is not None:
        yield above
        above = above.parent


def _definition(call: exp.Window, named: dict[str, exp.Window]) -> exp.Window | None:
    """What says how its rows are ordered; None: it is built on another one, with parts of its own."""
    if not call.alias:
        return call
    own = any(call.args.get(part) for part in ("partition_by", "order", "spec"))
    window = named.get(call.alias.lower())
    return None if own or window is None or window.alias else window


def _needs_order(call: exp.Window, named: dict[str, exp.Window]) -> bool:
    window = _definition(call, named)
    if window is None or window.args.get("order") is None:
        return False
    function = _function(call)
    return isinstance(function, (*_BY_ROW, *_OF_FRAME)) or (_counts_rows(window) and not isinstance(function, _RANKS))


def _function(call: exp.Window) -> exp.Expr:
    inner = call.this
    while isinstance(inner, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        inner = inner.this
    return inner


def _counts_rows(window: exp.Window) -> bool:
    spec = window.args.get("spec")
    return spec is not None and str(spec.args.get("kind")).upper() == "ROWS"


def _add_arrival(call: exp.Window, named: dict[str, exp.Window]) -> None:
    window = _definition(call, named)
    assert window is not None, "asked before"
    for part in ("partition_by", "order", "spec"):
        value = window.args.get(part)
        if window is not call and value:
            call.set(part, [each.copy() for each in value] if isinstance(value, list) else value.copy())
    call.set("alias", None)
    arrival = _arrival()
    function = _function(call)
    if isinstance(function, _BY_ROW):
        call.set("spec", None)  # they see the whole partition; RANGE would allow one expression in ORDER BY only
    if isinstance(function, _BY_ROW) or _counts_rows(window):
        call.args["order"].append("expressions", arrival)
    else:
        terms = [each.copy() for each in call.args["order"].expressions]
        last = "offset" if isinstance(function, exp.NthValue) else "this"  # ORDER BY stands behind all arguments
        function.set(last, exp.Order(this=function.args[last].copy(), expressions=[*terms, arrival]))


def _arrival() -> exp.Ordered:
    return exp.Ordered(this=exp.column(ARRIVAL, quoted=True), nulls_first=False)


def _takes_order(call: exp.Expr) -> bool:
    """Is it an aggregate of a group, in whatever order?"""
    around = call.parent
    while isinstance(around, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        around = around.parent
    return not isinstance(around, exp.Window | exp.WithinGroup) and not isinstance(call.this, exp.Order | exp.Distinct)


def _leave_out(output: exp.Expr) -> None:
    star = output.this if isinstance(output, exp.Column) else output
    star.set("except_", [*(star.args.get("except_") or ()), exp.column(ARRIVAL, quoted=True)])
