"""Where in the text of a query a part of its tree stands, and which identifiers are the same."""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import Span


def span_near(expression: exp.Expr) -> Span | None:
    """The place of the expression, or of the nearest one around it whose place is known."""
    node: exp.Expr | None = expression
    while node is not None:
        span = span_of(node)
        if span is not None:
            return span
        node = node.parent
    return None


def span_of(expression: exp.Expr) -> Span | None:
    """The smallest span that covers the known places in the expression, or None if none is known.

    sqlglot notes places for names, literals, stars and names of functions: the closing parenthesis of a call
    is not covered.
    """
    metas = [node.meta for node in expression.walk() if node.meta.get("end") is not None]
    if not metas:
        return None
    return Span(min(meta["start"] for meta in metas), max(meta["end"] for meta in metas) + 1)


def fold_identifier(written: exp.Expr) -> str:
    """An identifier, or a column that is no more than that: in capitals, unless it is quoted."""
    identifier = written.this if isinstance(written, exp.Column) else written
    return written.name if identifier.args.get("quoted") else written.name.upper()
