"""The first N rows of each window: ROW_NUMBER, RANK and DENSE_RANK over the rows of one window.

    SELECT * FROM (
      SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY total DESC) AS n
      FROM (SELECT window_start, window_end, k, id, sum(v) AS total FROM <window function> GROUP BY ...)
    ) WHERE n <= 3

    =>  ... FROM (SELECT ..., ROW_NUMBER() OVER (ORDER BY total DESC) AS n FROM s [PARTITION BY k ...] GROUP BY ...)

A window of ours ranks its rows when it closes, so the rows are final.  Straight over a window function the rows are the
events of the window.  Anything else (other frames, expressions in ORDER BY) stays as it is written.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from cepheid.language.parsing.dialect import carry_clause
from cepheid.language.parsing.window_clauses import check_sizes, make_window, slide_of
from cepheid.language.parsing.window_expressions import BEFORE_END, END, START, TIME, shift
from cepheid.language.parsing.window_function_parser import WINDOW_CALL, WindowCall

RANKED = "cepheid_ranked"  # key in the meta of a rank over the rows of one window
RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
KINDS = ("tumble", "hop")
BESIDE = ("joins", "laterals", "group", "having", "distinct", "windows", "qualify")


def rank_windows(select: exp.Select) -> None:
    """Change a SELECT whose only OVER ranks the rows of each window; others stay."""
    ranks = [node for node in select.find_all(exp.Window) if node.find_ancestor(exp.Select) is select]
    source = select.args.get("from_")
    if len(ranks) != 1 or source is None or source.this.args.get("joins"):
        return
    if any(
        select.args.get(part) for part in ("joins", "laterals", "group", "having", "distinct", "windows", "qualify")
    ):
        return
    (rank,), item = ranks, source.this
    owner = rank.parent
    in_output = isinstance(owner, exp.Alias) and owner.parent is select and owner.arg_key == "expressions"
    if not in_output or not _is_rank(rank):
        return
    if WINDOW_CALL in item.meta:
        _rank_events(select, rank, item)
    elif isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and not select.args.get("where"):
        _rank_groups(rank, item.this)


def _is_rank(rank: exp.Window) -> bool:
    order = rank.args.get("order")
    terms = order.expressions if order is not None else []
    plain = all(isinstance(term.this if isinstance(term, exp.Ordered) else term, exp.Column) for term in terms)
    keys = rank.args.get("partition_by") or []
    are_columns = all(isinstance(key, exp.Column) for key in keys)
    return isinstance(rank.this, RANKS) and bool(terms) and plain and are_columns and not rank.args.get("spec")


def _rank_events(select: exp.Select, rank: exp.Window, item: exp.Expr) -> None:
    call: WindowCall = item.meta[WINDOW_CALL]
    keys = _keys_beside(rank, {START: START, END: END})
    if keys is None or call.kind not in KINDS or call.offset % slide_of(call) or call.partition_by:
        return
    check_sizes(call)
    name = item.alias or call.source.alias_or_name
    outputs: list[exp.Expr] = []
    for output in select.expressions:
        star = output.this if isinstance(output, exp.Column) else output
        outputs.append(output)
        if isinstance(star, exp.Star):
            outputs += [exp.column(START), exp.column(END), exp.alias_(shift(exp.column(END), -BEFORE_END), TIME)]
    select.set("expressions", outputs)
    _only_order(rank)
    table = carry_clause(replace(make_window(call), partition_by=tuple(_unqualified(key) for key in keys)))
    table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)) if name else None)
    for column in select.find_all(exp.Column):
        if column.name.lower() in (START, END) and column.table.lower() == name.lower():
            column.set("table", None)
    item.replace(table)


def _rank_groups(rank: exp.Window, inner: exp.Select) -> None:
    source = inner.args.get("from_")
    call: WindowCall | None = source.this.meta.get(WINDOW_CALL) if source is not None else None
    group = inner.args.get("group")
    if source is None or call is None or group is None or call.kind not in KINDS or call.offset % slide_of(call):
        return
    if any(inner.args.get(part) for part in ("order", "limit", "offset", "having", "distinct")):
        return
    made = {item.alias_or_name.lower(): item.unalias() for item in inner.expressions if item.alias_or_name}
    bounds = {
        tree.name.lower(): name
        for name, tree in made.items()
        if isinstance(tree, exp.Column) and tree.name.lower() in (START, END)
    }
    keys = _keys_beside(rank, bounds)
    if keys is None or not all(isinstance(made.get(key.name.lower()), exp.Column) for key in keys):
        return
    owner = rank.parent
    assert isinstance(owner, exp.Alias), "the rank is an output with a name"
    named = exp.alias_(rank.copy(), owner.alias, quoted=True)
    _only_order(named.this)
    named.this.meta[RANKED] = True
    inner.append("expressions", named)
    grouped = tuple(_unqualified(made[key.name.lower()]) for key in keys)
    source.this.meta[WINDOW_CALL] = replace(call, partition_by=(*call.partition_by, *grouped))
    select = owner.parent
    assert isinstance(select, exp.Select), "the rank is an output of a SELECT"
    has_star = any(isinstance(output, exp.Star) for output in select.expressions)
    if has_star:
        owner.pop()  # it is among the columns of the subquery
    else:
        owner.replace(exp.column(owner.alias, quoted=True))


def _keys_beside(rank: exp.Window, bounds: dict[str, str]) -> list[exp.Column] | None:
    """The columns of PARTITION BY beside the bounds of the window, both of which must be there."""
    keys = rank.args.get("partition_by") or []
    names = {key.name.lower() for key in keys}
    if set(bounds) != {START, END} or not {bounds[START], bounds[END]} <= names:
        return None
    return [key for key in keys if key.name.lower() not in bounds.values()]


def _only_order(rank: exp.Expr) -> None:
    rank.set("partition_by", None)
    for column in rank.find_all(exp.Column):
        column.set("table", None)


def _unqualified(column: exp.Expr) -> exp.Expression:
    copied = column.copy()
    copied.set("table", None)
    assert isinstance(copied, exp.Expression), "a column is an expression"
    return copied
