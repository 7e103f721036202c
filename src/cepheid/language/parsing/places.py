"""Where in the text of a query a part of its tree stands."""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import Span


def span_of(expression: exp.Expr) -> Span | None:
    """The smallest span that covers the known places in the expression, or None if none is known.

    sqlglot notes places for names, literals, stars and names of functions: the closing parenthesis of a call
    is not covered.
    """
    metas = [node.meta for node in expression.walk() if node.meta.get("end") is not None]
    if not metas:
        return None
    return Span(min(meta["start"] for meta in metas), max(meta["end"] for meta in metas) + 1)
