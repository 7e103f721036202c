"""Names of columns behind a part of WITH are given to the outputs themselves, so that streams can have them.

    WITH v (a, b) AS (SELECT k, v + 1 FROM s)   =>   WITH v AS (SELECT k AS a, v + 1 AS b FROM s)

Only of queries that choose, compute and filter: elsewhere an output may be read by its own name (ORDER BY, HAVING).
"""

from __future__ import annotations

from sqlglot import exp

SIMPLE = {"expressions", "from_", "where", "joins"}


def name_outputs(tree: exp.Expression) -> None:
    for cte in tree.find_all(exp.CTE):
        columns, query = cte.args["alias"].args.get("columns"), cte.this
        if not columns or not isinstance(query, exp.Select) or len(columns) != len(query.expressions):
            continue
        if any(value for part, value in query.args.items() if part not in SIMPLE) or _names_matter(query):
            continue
        named = zip(query.expressions, columns, strict=True)
        query.set("expressions", [exp.alias_(output.unalias(), column.name, quoted=True) for output, column in named])
        cte.args["alias"].set("columns", None)


def _names_matter(query: exp.Select) -> bool:
    """Is there a star, or an output that another one reads by its name?"""
    own = {output.alias.lower() for output in query.expressions if isinstance(output, exp.Alias)}
    read = {column.name.lower() for column in query.find_all(exp.Column) if not column.table}
    return bool(own & read) or any(output.is_star for output in query.expressions)
