"""Names for outputs that have none."""

from __future__ import annotations

from sqlglot import exp

from cepheid.language.bind_match_recognize import refuse_double_names
from cepheid.language.places import span_of


def name_outputs(query: exp.Expr) -> None:
    """Give every output of the query a name of our choice: hosts would choose different ones."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    seen: set[str] = set()
    for number, item in enumerate(list(query.expressions)):
        if item.is_star:
            continue
        is_named = isinstance(item, exp.Alias | exp.Aliases | exp.Column | exp.Dot)
        name = item.alias_or_name if is_named else f"_col{number}"
        refuse_double_names([*seen, name], span_of(item))
        seen.add(name)
        if not is_named:
            item.replace(exp.alias_(item.copy(), name, quoted=True))
