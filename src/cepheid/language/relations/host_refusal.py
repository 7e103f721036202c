"""Where in the query stands what the host's SQL engine refuses?

Hosts name the culprit, each with quotes of its own, and know nothing of the user's text: we look for that name
among the columns, qualifiers and functions of the tree, which know their places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import CepheidError, InvalidQuery, Span, UnknownColumn, suggest_name
from cepheid.language.parsing.places import span_near, span_of

OURS = re.compile(r"(_(cep|over|part)_\d+)?$")  # names that stand for what has none
NAMED = re.compile(r"\"([^\"]+)\"|`([^`]+)`|with name (\w+)")


KNOWN: tuple[tuple[str, tuple[type[exp.Expr], ...], str], ...] = (
    ("WHERE clause cannot contain aggregates", (exp.Where,), "use HAVING, or aggregate in a subquery first"),
    ("Set operations can only apply", (exp.SetOperation,), "select as many columns on both sides, of the same types"),
)  # what hosts say without a name, where it stands, and the next step


def place_refusal(problem: InvalidQuery, tree: exp.Expr, schemas: Mapping[str, pa.Schema]) -> CepheidError:
    """The host's problem with a query over tables with these schemas, told with its place if that is found."""
    named = {next(filter(None, found)).lower() for found in NAMED.findall(problem.message)}
    known = [name for schema in schemas.values() for name in schema.names]
    for column in tree.find_all(exp.Column):
        owner = column.table or " or ".join(schemas)
        if column.name.lower() in named and not any(column.name.lower() == name.lower() for name in known):
            return UnknownColumn(column.name, owner, known, span=span_near(column.this))
    for told, kinds, next_step in KNOWN:
        found = tree.find(*kinds) if told in problem.message else None
        if found is not None:
            inner = found.find(exp.AggFunc) if isinstance(found, exp.Where) else found.args.get("expression")
            return InvalidQuery(problem.message, span=span_near(inner or found), hint=next_step)
    span = next((span for node in tree.walk() if (span := _place_of(node, named))), None)
    hint = problem.hint
    if 'Referenced table "' in problem.message:
        owners = [table.alias_or_name for table in tree.find_all(exp.Table) if not OURS.match(table.alias_or_name)]
        hint = suggest_name(next(iter(named), ""), dict.fromkeys(owners))
    return InvalidQuery(problem.message, span=span or span_near(tree), hint=hint)


def _place_of(node: exp.Expr, named: set[str]) -> Span | None:
    if isinstance(node, exp.Column):
        parts = [part for part in (node.args.get("table"), node.this) if part is not None]
        return next((span_of(part) for part in parts if part.name.lower() in named), None)
    if isinstance(node, exp.Identifier) and node.arg_key == "using":
        return span_of(node) if node.name.lower() in named else None
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        return span_of(node) if name.lower() in named else None
    return None
