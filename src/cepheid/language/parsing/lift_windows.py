"""Take row patterns out of WINDOW: the SELECT then reads their results from a table in FROM.

    SELECT id, m OVER w, count(*) OVER w       SELECT id, "_over_1" AS m, "_over_2" AS _col2
    FROM t WHERE x > 0                     =>  FROM <carrier> AS t
    WINDOW w AS ( ... PATTERN ... )

The carrier is a table with the clause, whose source is `(SELECT * FROM t WHERE x > 0) AS t`: from there on a window
with a row pattern is an item of FROM like MATCH_RECOGNIZE.  Several windows are chained: each adds its columns.
Windows without a pattern stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, suggest_name
from cepheid.language.parsing.dialect import CLAUSE, carry_clause
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import OrderTerm, PatternWindowClause, WindowFunction

BESIDE = {
    "joins": "several tables",
    "laterals": "several tables",
    "group": "GROUP BY",
    "having": "HAVING",
    "distinct": "DISTINCT",
    "qualify": "QUALIFY",
}
NUMBERING = frozenset((
    "ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD",
))  # fmt: skip
SUBQUERY_HINT = "put the windows into a subquery: SELECT ... FROM (SELECT ..., m OVER w FROM t WINDOW w AS (...))"


def lift_windows(tree: exp.Expression, outputs: Iterator[str]) -> None:
    """Change every SELECT in the tree that uses a row pattern in WINDOW; `outputs` are names free to use."""
    for select in list(tree.find_all(exp.Select)):
        _lift_from(select, outputs)


def _lift_from(select: exp.Select, outputs: Iterator[str]) -> None:
    defined = {
        window.this.name.lower(): window.meta[CLAUSE]
        for window in select.args.get("windows") or []
        if CLAUSE in window.meta
    }
    named = {window.this.name.lower(): window for window in select.args.get("windows") or []}
    defined = {name: _on_base(clause, named) for name, clause in defined.items()}
    uses = [(window, _clause_of(window, defined, named)) for window in _windows_used(select)]
    for window, clause in uses:
        if clause is not None and _ignores_frame(window.this):
            _leave_plain(window, clause)
    uses = [(window, None if _ignores_frame(window.this) else clause) for window, clause in uses]
    lifted = [(window, clause) for window, clause in uses if clause is not None]
    for window, _ in uses:
        _check_measure(window, defined, any(window is other for other, _ in lifted))
    plain = [window for window in select.args.get("windows") or [] if CLAUSE not in window.meta]
    if not lifted:
        select.set("windows", plain or None)
        return
    select.set("windows", _still_used(plain, uses) or None)
    _check_select(select, [window for window, _ in lifted])
    functions: dict[int, list[WindowFunction]] = {}
    clauses = {id(clause): clause for _, clause in lifted}
    for window, clause in lifted:
        functions.setdefault(id(clause), []).append(_replace_by_column(window, select, next(outputs)))
    for identity, clause in clauses.items():
        _feed_from(select, replace(clause, functions=tuple(functions[identity])))


def _still_used(plain: list[exp.Window], uses: list[tuple[exp.Window, PatternWindowClause | None]]) -> list[exp.Window]:
    """The windows that something else than row patterns is over, or is built on."""
    wanted = {window.alias.lower() for window, clause in uses if clause is None}
    for window in reversed(plain):
        if window.this.name.lower() in wanted and window.alias:
            wanted.add(window.alias.lower())
    return [window for window in plain if window.this.name.lower() in wanted]


def _windows_used(select: exp.Select) -> list[exp.Window]:
    """What stands with OVER in the SELECT itself, not in the subqueries inside it."""
    return [
        window
        for window in select.find_all(exp.Window, bfs=False)
        if window.arg_key != "windows" and window.find_ancestor(exp.Select) is select
    ]


def _ignores_frame(function: exp.Expr) -> bool:
    """Functions that number rows of the partition: for them a window with a row pattern is like any other."""
    name = function.name if isinstance(function, exp.Anonymous) else function.sql_names()[0] if isinstance(
        function, exp.Func
    ) else ""  # fmt: skip
    return name.upper() in NUMBERING


def _leave_plain(window: exp.Window, clause: PatternWindowClause) -> None:
    """Of the window, only how it parts and orders the rows."""
    window.meta.pop(CLAUSE, None)
    window.set("alias", None)
    window.set("over", "OVER")
    window.set("partition_by", [key.copy() for key in clause.partition_by])
    terms = [
        exp.Ordered(this=term.expression.copy(), desc=term.descending, nulls_first=bool(term.nulls_first))
        for term in clause.order_by
    ]
    window.set("order", exp.Order(expressions=terms) if terms else None)


def _on_base(clause: PatternWindowClause, named: dict[str, exp.Window]) -> PatternWindowClause:
    """The clause with what it takes from the window that it is built on."""
    if clause.base is None:
        return clause
    base = named.get(clause.base.text.lower())
    if base is None:
        hint = suggest_name(clause.base.text, named)
        raise InvalidQuery(f'there is no window "{clause.base.text}"', span=clause.base.span, hint=hint)
    if CLAUSE in base.meta or base.args.get("spec"):
        raise InvalidQuery(
            f'"{clause.base.text}" has a frame of its own: a row pattern cannot be built on it',
            span=clause.base.span,
            hint="build it on a window that has PARTITION BY and ORDER BY only",
        )
    keys, order = _parts_of(base, named)
    if clause.partition_by or (clause.order_by and order):
        raise InvalidQuery(
            f'the window "{clause.base.text}" says it already: PARTITION BY and ORDER BY are written once',
            span=clause.base.span,
            hint="leave them out behind the name of the window",
        )
    return replace(clause, partition_by=keys, order_by=clause.order_by or order, base=None)


def _parts_of(
    window: exp.Window, named: dict[str, exp.Window]
) -> tuple[tuple[exp.Expression, ...], tuple[OrderTerm, ...]]:
    """PARTITION BY and ORDER BY of a window, be they its own or of the window that it is built on."""
    keys = tuple(window.args.get("partition_by") or ())
    ordered = window.args.get("order")
    terms = tuple(
        OrderTerm(term.this, bool(term.args.get("desc")), span_of(term))
        for term in (ordered.expressions if ordered else ())
    )
    inner = named.get(window.alias.lower()) if window.alias else None
    if inner is None or inner is window:
        return keys, terms
    inner_keys, inner_terms = _parts_of(inner, named)
    return keys or inner_keys, terms or inner_terms


def _clause_of(
    window: exp.Window, defined: dict[str, PatternWindowClause], named: dict[str, exp.Window]
) -> PatternWindowClause | None:
    if CLAUSE in window.meta:
        clause: PatternWindowClause = window.meta[CLAUSE]
        return _on_base(clause, named)
    clause_by_name = defined.get(window.alias.lower())
    if clause_by_name is not None and any(window.args.get(part) for part in ("partition_by", "order", "spec")):
        raise NotSupportedYet(
            f'a window that is made of "{window.alias}", which has a row pattern',
            span=span_of(window),
            hint=f"write OVER {window.alias} alone, or define another window beside it",
        )
    return clause_by_name


def _check_measure(window: exp.Window, defined: dict[str, PatternWindowClause], is_lifted: bool) -> None:
    """`m OVER w` reads a measure: only a window with a row pattern has them."""
    if is_lifted or not isinstance(window.this, exp.Column):
        return
    raise InvalidQuery(
        f'"{window.this.name} OVER {window.alias or "(...)"}" reads a measure, and the window has no row pattern',
        span=span_of(window),
        hint=suggest_name(window.alias, defined) if defined else "add MEASURES and PATTERN to the window",
    )


def _check_select(select: exp.Select, windows: list[exp.Window]) -> None:
    """What can stand beside a row pattern in WINDOW."""
    source = select.args.get("from_")
    if source is None:
        raise InvalidQuery("a row pattern in WINDOW needs FROM", span=span_of(windows[0]), hint="add FROM and a stream")
    for part, told in BESIDE.items():
        found = select.args.get(part) or (part == "joins" and source.this.args.get("joins"))
        if found:
            place = found[0] if isinstance(found, list) else found
            raise NotSupportedYet(
                f"a row pattern in WINDOW beside {told}",
                span=(span_of(place) if isinstance(place, exp.Expr) else None) or span_of(windows[0]),
                hint="join in a subquery" if told == BESIDE["joins"] else SUBQUERY_HINT,
            )
    for window in windows:
        if window.find_ancestor(exp.Where) is not None:
            raise InvalidQuery("WHERE is asked before the windows are known", span=span_of(window), hint=SUBQUERY_HINT)
    for item in select.expressions:
        for aggregate in item.find_all(exp.AggFunc):
            if aggregate.find_ancestor(exp.Window, exp.Select) is select:
                raise NotSupportedYet(
                    f"{aggregate.sql()} beside a row pattern in WINDOW", span=span_of(aggregate), hint=SUBQUERY_HINT
                )


def _replace_by_column(window: exp.Window, select: exp.Select, output: str) -> WindowFunction:
    written = window.this
    column = exp.column(output, quoted=True)
    place = span_of(window)
    if place is not None:
        column.this.meta.update(start=place.start, end=place.end - 1)
    if window.parent is select and window.arg_key == "expressions":
        number = next(number for number, item in enumerate(select.expressions) if item is window)
        name = written.name if isinstance(written, exp.Column) else f"_col{number}"
        window.replace(exp.alias_(column, name, quoted=True))
    else:
        window.replace(column)
    written.pop()
    return WindowFunction(output, written)


def _feed_from(select: exp.Select, clause: PatternWindowClause) -> None:
    """Let the SELECT read from the clause, and the clause from what the SELECT read from; WHERE goes along."""
    item = select.args["from_"].this
    name = item.alias_or_name if CLAUSE not in item.meta or item.alias else ""
    alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True)) if name else None
    where = select.args.get("where")
    item.pop()
    source = item
    if where is not None:
        inner = exp.Select(expressions=[exp.Star()], from_=exp.From(this=item), where=where.pop())
        source = exp.Subquery(this=inner, alias=alias.copy() if alias else None)
    carrier = carry_clause(replace(clause, source=source))
    carrier.set("alias", alias)
    select.set("from_", exp.From(this=carrier))
