"""Calls of functions of the user: everywhere in a query they get the name that hosts call them by.

The kernel of sequences does not call them for several events.  With STRATEGY skip_till_any, where each condition only
chooses among all combinations of events, such a condition is put into the WHERE of the SELECT around, for the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import sqlglot
from sqlglot import exp

from cepheid.errors import InvalidInput, InvalidQuery
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import EventClause, ParsedQuery, SequenceClause, SequenceTerm
from cepheid.user_functions import Function, is_own


def name_functions(parsed: ParsedQuery, functions: Mapping[str, Function]) -> ParsedQuery:
    """The query, whose trees are changed in place: nobody else has them."""
    if not functions:
        return parsed
    for name in functions:
        _check_name(name, parsed.dialect)
    for tree in _find_trees((parsed.relation, parsed.clauses)):
        for call in tree.find_all(exp.Anonymous):
            function = functions.get(call.name.lower()) if isinstance(call.this, str) else None
            if function is not None:
                if len(call.expressions) != len(function.takes):
                    raise InvalidQuery(
                        f'"{call.name}" is called with {len(call.expressions)} arguments, not {len(function.takes)}',
                        span=span_of(call),
                        hint=f"it takes {', '.join(map(str, function.takes)) or 'none'}",
                    )
                call.set("this", function.identify(call.name))
    return replace(parsed, clauses=tuple(_take_out(clause, parsed) for clause in parsed.clauses))


def _take_out(clause: EventClause, parsed: ParsedQuery) -> EventClause:
    """A sequence without the conditions on several events that call functions of the user, which go around it."""
    if not isinstance(clause, SequenceClause) or clause.where is None or not _only_chooses(clause):
        return clause
    plain = {
        item.variable.text.lower()
        for item in clause.items
        if isinstance(item, SequenceTerm) and not item.repeated and not item.negated
    }
    parts = list(clause.where.flatten()) if isinstance(clause.where, exp.And) else [clause.where]
    taken = [part for part in parts if _is_taken(part, plain)]
    trees = [tree for tree in _find_trees((parsed.relation, parsed.clauses)) if tree is not clause.where]
    carriers = [table for tree in trees for table in tree.find_all(exp.Table) if table.name == clause.placeholder]
    select = carriers[0].find_ancestor(exp.Select) if carriers else None
    if not taken or select is None:
        return clause
    rest = [part for part in parts if part not in taken]
    for part in taken:
        select.where(part.copy(), copy=False)
    return replace(clause, where=_join(rest))


def _join(parts: list[exp.Expr]) -> Any:
    return exp.and_(*(part.copy() for part in parts)) if parts else None


def _only_chooses(clause: SequenceClause) -> bool:
    """Do conditions only choose among all combinations?"""
    is_any = clause.strategy == "skip_till_any"
    return is_any and not clause.consume and clause.limit is None and clause.timeouts is None and not clause.has_ways


def _is_taken(part: exp.Expr, plain: set[str]) -> bool:
    variables = {column.table.lower() for column in part.find_all(exp.Column)}
    calls = any(isinstance(call.this, str) and is_own(call.name) for call in part.find_all(exp.Anonymous))
    return calls and len(variables) > 1 and variables <= plain


def _check_name(name: str, dialect: str) -> None:
    """Would a call be read as a function of SQL?  Then it would be that one."""
    read = sqlglot.parse_one(f"SELECT {name}(x)", dialect=dialect).expressions[0]
    if not isinstance(read, exp.Anonymous):
        raise InvalidInput(f'"{name}" is a function of SQL', hint="give yours another name")


def _find_trees(value: object) -> Iterator[exp.Expr]:
    """All syntax trees in records and lists of records."""
    if isinstance(value, exp.Expr):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _find_trees(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _find_trees(getattr(value, each.name))
