"""Top-N: of a stream that only grows, a row that is not among the first N of its partition never will be.

    SELECT ... FROM (SELECT *, row_number() OVER (PARTITION BY a ORDER BY price DESC) AS n FROM bid) WHERE n <= 10

So only those N are kept.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from cepheid.language.views.steps import Rows, Steps, flatten, split_and, sql_of
from cepheid.language.views.view_plan import KeyedStep, MapStep

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)


def limit_ranks(steps: Steps, rows: Rows, item: exp.Subquery) -> Rows:
    """The rows of the subquery; if the SELECT around it wants the first few of each partition only, no others."""
    number, select = rows.step, item.this
    last = steps.steps[number]
    if isinstance(last, MapStep) and last.where is None:  # it only leaves out the key
        number = last.source
    step = steps.steps[number]
    if not isinstance(step, KeyedStep) or not isinstance(select, exp.Select) or not steps.appends[step.sources[0]]:
        return rows
    ranks = {
        output.alias: output.this
        for output in select.expressions
        if isinstance(output, exp.Alias) and isinstance(output.this, exp.Window)
    }
    if len(list(select.find_all(exp.Window))) != 1 or len(ranks) != 1 or select.args.get("group"):
        return rows
    ((name, window),) = ranks.items()
    most = _find_most(item, name)
    if most is None or not isinstance(window.this, _RANKS) or select.args.get("qualify"):
        return rows
    test = f"QUALIFY {sql_of(flatten(window))} <= {most}"
    steps.steps[number] = replace(step, sql=f"{step.sql} {test}", keep=f"SELECT * FROM _0 {test}")
    return rows


def _find_most(item: exp.Subquery, name: str) -> int | None:
    """The greatest rank that the SELECT around lets through."""
    around = item.find_ancestor(exp.Select)
    if around is None or not around.args.get("where"):
        return None
    found: list[int] = []
    for part in split_and(around.args["where"].this):
        column, bound = part.this, part.args.get("expression")
        if not isinstance(column, exp.Column) or (column.table, column.name) != (item.alias, name):
            continue
        if not isinstance(bound, exp.Literal) or bound.is_string or not bound.this.isdecimal():
            continue
        if isinstance(part, exp.LTE | exp.EQ):
            found.append(int(bound.this))
        elif isinstance(part, exp.LT):
            found.append(int(bound.this) - 1)
    return min(found, default=None)
