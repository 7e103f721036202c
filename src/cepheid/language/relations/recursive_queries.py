"""WITH RECURSIVE around queries that are not recursive: the word is left out, as it says nothing.

It is left to hosts with the columns of each query named, which * does not: where a query does read itself, they have
to be written.
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.places import span_near


def settle_recursion(tree: exp.Expr) -> None:
    """Change the WITH clauses of the tree."""
    for clause in tree.find_all(exp.With):
        if not clause.args.get("recursive"):
            continue
        if not any(map(_reads_itself, clause.expressions)):
            clause.set("recursive", False)
            continue
        for query in clause.expressions:
            has_names = query.args["alias"].args.get("columns")
            if isinstance(query.this, exp.Query) and "*" in query.this.named_selects and not has_names:
                raise NotSupportedYet(
                    "* in WITH RECURSIVE",
                    span=span_near(query),
                    hint=f"name the columns: WITH RECURSIVE {query.alias} (a, b) AS (...)",
                )


def _reads_itself(query: exp.CTE) -> bool:
    return any(table.name.lower() == query.alias.lower() for table in query.this.find_all(exp.Table))
