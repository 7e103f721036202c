"""PROCTIME() in a query: streams are read with their stamps instead (cepheid/processing_time.py).

    FROM bids [ORDER BY PROCTIME() RANGE 10 SECONDS]      FROM "bids$proctime" AS bids [ORDER BY _proctime RANGE ...]
    SELECT *, PROCTIME() AS p FROM bids              =>   SELECT item, ts, _proctime AS p FROM "bids$proctime" AS bids

It may be used where the events of a stream are at hand: in a SELECT from a stream, or from subqueries that only choose,
compute and filter; and as ORDER BY of what stands over these.

    FROM (SELECT *, PROCTIME() AS p FROM bids) AS b JOIN side FOR SYSTEM_TIME AS OF b.p    =>    ... AS OF PROCTIME()
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import NotSupportedYet, Span
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import (
    EventClause,
    MatchRecognizeClause,
    OrderTerm,
    ParsedQuery,
    PatternWindowClause,
    SequenceClause,
    SequenceTerm,
    change_terms,
)
from cepheid.processing_time import STAMP, stamped_name

HINT = "put it where the events of a stream are read: (SELECT *, PROCTIME() AS p FROM s)"
SIMPLE = {"expressions", "from_", "where", "with_"}


def read_stamps(parsed: ParsedQuery, schemas: Mapping[str, pa.Schema], unstamped: Collection[str]) -> ParsedQuery:
    """The same query over stamped streams; unstamped: tables and streams that have no stamps."""
    if STAMP.strip("_") not in parsed.text.lower():
        return parsed
    return _Rewriter(parsed, schemas, unstamped).rewrite()


class _Rewriter:
    def __init__(self, parsed: ParsedQuery, schemas: Mapping[str, pa.Schema], unstamped: Collection[str]) -> None:
        self._parsed = parsed
        self._relation = parsed.relation.copy()
        self._schemas = {name.lower(): (name, schema) for name, schema in schemas.items()}
        self._unstamped = unstamped
        self._sources = {
            clause.placeholder: clause.source.copy()
            for clause in parsed.clauses
            if not isinstance(clause, SequenceClause)
        }
        self._ctes = {
            cte.alias.lower(): cte
            for tree in (self._relation, *self._sources.values())
            for cte in tree.find_all(exp.CTE)
        }
        self._followed: frozenset[str] = frozenset()  # parts of WITH whose names mean other tables where we are

    def _name_present(self, item: exp.Table) -> None:
        """FOR SYSTEM_TIME AS OF a column that is PROCTIME() means now, whatever the column is called."""
        time, select = item.args["version"].expression, item.find_ancestor(exp.Select)
        if not isinstance(time, exp.Column) or select is None:
            return
        beside = [each for each in _list_beside(select) if time.table.lower() in ("", each.alias_or_name.lower())]
        made = [self._find_output(each, time.name) for each in beside]
        if any(output is not None and _is_call(output) for output in made):
            time.replace(exp.Anonymous(this="PROCTIME"))

    def _find_output(self, item: exp.Expr, name: str) -> exp.Expr | None:
        """What a column of a subquery is made of, through those that only pass it on."""
        cte = self._find_cte(item)
        query = item.this if cte is None else cte.this
        if not isinstance(query, exp.Select):
            return None
        named = (each.unalias() for each in query.expressions if each.alias_or_name.lower() == name.lower())
        output = next(named, None)
        inner = query.args["from_"].this if query.args.get("from_") is not None else None
        if inner is not None and (output is None or isinstance(output, exp.Column)):
            with self._follow(cte):
                return self._find_output(inner, name if output is None else output.name)
        return output

    def _find_cte(self, item: exp.Expr) -> exp.CTE | None:
        """The part of WITH that is meant; in such a part its own name is another table."""
        name = item.name.lower() if isinstance(item, exp.Table) else ""
        if name not in self._ctes or name in self._followed:
            return None
        above = item.find_ancestor(exp.CTE)
        while above is not None:
            if above.alias.lower() == name:
                return None
            above = above.find_ancestor(exp.CTE)
        return self._ctes[name]

    @contextmanager
    def _follow(self, cte: exp.CTE | None) -> Iterator[None]:
        before = self._followed
        self._followed = before if cte is None else before | {cte.alias.lower()}
        try:
            yield
        finally:
            self._followed = before

    def rewrite(self) -> ParsedQuery:
        holder = exp.Tuple(expressions=[self._relation, *(each for each in self._sources.values())])
        for table in list(holder.find_all(exp.Table)):
            if table.args.get("version") is not None:
                self._name_present(table)
        for call in list(_find_calls(holder)):
            self._read_call(call)
        relation, *sources = holder.expressions
        for tree in (relation, *sources):
            tree.pop()
        given = dict(zip(self._sources, sources, strict=True))
        clauses = tuple(self._rewrite_clause(clause, given) for clause in self._parsed.clauses)
        return replace(self._parsed, relation=relation, clauses=clauses)

    # --- clauses -----------------------------------------------------------------------------------------
    def _rewrite_clause(self, clause: EventClause, sources: Mapping[str, Any]) -> EventClause:
        is_stamped = any(_is_call(term.expression) for term in clause.order_by)
        if isinstance(clause, SequenceClause):
            return self._rewrite_sequence(clause) if is_stamped else clause
        source = sources[clause.placeholder]
        if not is_stamped:
            return replace(clause, source=source)
        shows_all = isinstance(clause, MatchRecognizeClause) and clause.rows_per_match == "all"
        if shows_all or isinstance(clause, PatternWindowClause):
            raise _refuse("ORDER BY PROCTIME() where all columns of the events come out", clause.order_by[0].span)
        holder = exp.From(this=source)
        holder.set("this", self._expose(source, clause.order_by[0].span))
        exposed: Any = holder.this
        exposed.pop()
        return replace(clause, source=exposed, order_by=tuple(map(_read_term, clause.order_by)))

    def _rewrite_sequence(self, clause: SequenceClause) -> SequenceClause:
        def stamp(term: SequenceTerm) -> SequenceTerm:
            if term.stream.text.lower() in self._ctes:
                raise _refuse_stream(term.stream.text, term.stream.span)
            return replace(term, stream=replace(term.stream, text=self._stamp_name(term.stream.text, term.stream.span)))

        items = change_terms(clause.items, stamp)
        return replace(clause, items=items, order_by=tuple(map(_read_term, clause.order_by)))

    # --- calls -------------------------------------------------------------------------------------------
    def _read_call(self, call: exp.Expr) -> None:
        select = call.find_ancestor(exp.Select)
        if select is None or select.args.get("from_") is None or select.args.get("joins"):
            raise _refuse("PROCTIME() here", span_of(call))
        item = select.args["from_"].this
        if not _is_stamped(item):
            names = self._list_columns(item, span_of(call))
            select.args["from_"].set("this", self._expose(item, span_of(call)))
            _spell_out_stars(select, names)
        call.replace(_stamp_column())

    def _expose(self, item: exp.Expr, span: Span | None) -> exp.Expr:
        """What stands in FROM, with the stamps."""
        if isinstance(item, exp.Table):
            cte = self._find_cte(item)
            if cte is not None:
                with self._follow(cte):
                    body = self._expose_query(cte.this.copy(), span)
                return exp.Subquery(this=body, alias=exp.TableAlias(this=exp.to_identifier(item.alias_or_name)))
            table = exp.Table(this=exp.to_identifier(self._stamp_name(item.name, span), quoted=True))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(item.alias_or_name, quoted=True)))
            return table
        if isinstance(item, exp.Subquery):
            item.set("this", self._expose_query(item.this, span))
            return item
        raise _refuse("PROCTIME() over this", span)

    def _expose_query(self, query: exp.Expr, span: Span | None) -> exp.Expr:
        if isinstance(query, exp.Union):
            for side in ("this", "expression"):
                query.set(side, self._expose_query(query.args[side].unnest(), span))
            return query
        if not isinstance(query, exp.Select) or any(v for part, v in query.args.items() if part not in SIMPLE):
            raise _refuse("PROCTIME() over a query that groups, joins or sorts", span)
        if any(output.alias_or_name == STAMP for output in query.expressions):
            return query
        item = query.args["from_"].this
        if not _is_stamped(item):
            names = self._list_columns(item, span)
            query.args["from_"].set("this", self._expose(item, span))
            _spell_out_stars(query, names)
        query.append("expressions", exp.alias_(_stamp_column(), STAMP, quoted=True))
        return query

    def _stamp_name(self, written: str, span: Span | None) -> str:
        name, schema = self._schemas.get(written.lower(), (None, None))
        if name is None or schema is None or name in self._unstamped:
            raise _refuse_stream(written, span)
        if STAMP in schema.names:
            raise _refuse(f'PROCTIME() of "{written}", which has a column "{STAMP}" of its own', span)
        return stamped_name(name)

    def _list_columns(self, item: exp.Expr, span: Span | None) -> list[str]:
        """What * means over an item."""
        cte = self._find_cte(item)
        if isinstance(item, exp.Table) and cte is None:
            known = self._schemas.get(item.name.lower())
            return [] if known is None else known[1].names
        query = item.this if cte is None else cte.this
        while isinstance(query, exp.Union):
            query = query.left.unnest()
        if not isinstance(query, exp.Select) or query.args.get("from_") is None:
            raise _refuse("PROCTIME() over this", span)
        inner = query.args["from_"].this
        with self._follow(cte):
            return [
                name
                for output in query.expressions
                for name in (self._list_columns(inner, span) if output.is_star else [output.alias_or_name])
                if name != STAMP
            ]


def _list_beside(select: exp.Select) -> list[exp.Expr]:
    """What stands in FROM."""
    return [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]


def _find_calls(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Those that ask for the stamp of an event; FOR SYSTEM_TIME AS OF PROCTIME() asks for a table as it is now."""
    return (node for node in tree.find_all(exp.Anonymous) if _is_call(node) and not node.find_ancestor(exp.Version))


def _is_call(node: exp.Expr) -> bool:
    inner = node.unnest()
    return isinstance(inner, exp.Anonymous) and inner.name.upper() == "PROCTIME" and not inner.expressions


def _is_stamped(item: exp.Expr) -> bool:
    if isinstance(item, exp.Table):
        return item.name.endswith(stamped_name(""))
    return isinstance(item, exp.Subquery) and STAMP in item.this.named_selects


def _stamp_column() -> exp.Column:
    return exp.column(STAMP, quoted=True)


def _read_term(term: OrderTerm) -> OrderTerm:
    return replace(term, expression=_stamp_column()) if _is_call(term.expression) else term


def _spell_out_stars(select: exp.Select, names: list[str]) -> None:
    outputs: list[exp.Expr] = []
    for output in select.expressions:
        star = output.this if isinstance(output, exp.Column) else output
        if not isinstance(star, exp.Star):
            outputs.append(output)
            continue
        if any(star.args.values()):
            raise _refuse("* with exceptions beside PROCTIME()", span_of(output))
        outputs += [exp.column(name, quoted=True) for name in names]
    select.set("expressions", outputs)


def _refuse(what: str, span: Span | None) -> NotSupportedYet:
    return NotSupportedYet(what, span=span, hint=HINT)


def _refuse_stream(written: str, span: Span | None) -> NotSupportedYet:
    return _refuse(f'PROCTIME() of "{written}", which is no stream of events', span)
