"""Where in the query stands what the host's SQL engine refuses?

Hosts name the culprit, each with quotes of its own, and know nothing of the user's text: we look for that name
among the columns, qualifiers and functions of the tree, which know their places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import CepheidError, InvalidQuery, Span, UnknownColumn
from cepheid.language.parsing.parser import span_of

NAMED = re.compile(r"\"([^\"]+)\"|`([^`]+)`|with name (\w+)")


def place_refusal(problem: InvalidQuery, tree: exp.Expr, schemas: Mapping[str, pa.Schema]) -> CepheidError:
    """The host's problem with a query over tables with these schemas, told with its place if that is found."""
    named = {next(filter(None, found)).lower() for found in NAMED.findall(problem.message)}
    known = [name for schema in schemas.values() for name in schema.names]
    for column in tree.find_all(exp.Column):
        owner = column.table or " or ".join(schemas)
        if column.name.lower() in named and not any(column.name.lower() == name.lower() for name in known):
            return UnknownColumn(column.name, owner, known, span=span_of(column.this))
    span = next((span for node in tree.walk() if (span := _place_of(node, named))), None)
    return InvalidQuery(problem.message, span=span, hint=problem.hint)


def _place_of(node: exp.Expr, named: set[str]) -> Span | None:
    if isinstance(node, exp.Column):
        parts = [part for part in (node.args.get("table"), node.this) if part is not None]
        return next((span_of(part) for part in parts if part.name.lower() in named), None)
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        return span_of(node) if name.lower() in named else None
    return None
