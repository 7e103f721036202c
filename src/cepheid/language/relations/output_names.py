"""Names of outputs: one for each that has none, and none twice."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from cepheid.errors import InvalidQuery, Span
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.conditions import suffix_name


def name_outputs(query: exp.Expr) -> None:
    """Give every output of the query a name of our choice: hosts would choose different ones."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    seen: set[str] = set()
    written = {item.alias.lower() for item in query.expressions if isinstance(item, exp.Alias)}
    for number, item in enumerate(list(query.expressions)):
        if item.is_star:
            continue
        is_named = isinstance(item, exp.Alias | exp.Aliases | exp.Column | exp.Dot)
        name = item.alias_or_name if is_named else f"_col{number}"
        if isinstance(item, exp.Column) and item.table and name.lower() in seen:
            taken = seen | written  # a.x, b.x are x and x_1, as in SELECT *
            name, is_named = next(free for free in suffix_name(name) if free.lower() not in taken), False
        refuse_double_names([*seen, name], span_of(item))
        seen.add(name.lower())
        if not is_named:
            item.replace(exp.alias_(item.copy(), name, quoted=True))


def refuse_double_names(names: Iterable[str], span: Span | None) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidQuery(
                f'the result has two columns called "{name}"', span=span, hint="rename one of them with AS"
            )
        seen.add(name.lower())
