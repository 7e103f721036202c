"""May what a query does above its windows and patterns be done batch by batch?

In a session Spark SQL sees the rows of one batch at a time.  A column, a condition, a join with a table give the same
rows as on a stream.  A GROUP BY, a DISTINCT, a join of streams would not: they remember, and what they would give for
one batch is something else.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from cepheid.errors import NotSupportedYet
from cepheid.execution.spark.query_start import STATEFUL, STATELESS

HINT = "use a window of Cepheid's, as [RANGE 1 HOUR]; or run it by itself: cep.sql(...).writeStream"


def refuse_stateful(frame: DataFrame) -> None:
    """frame: the query as a stream of its own."""
    remembers = find_remembering(frame._jdf.queryExecution().analyzed())  # noqa: SLF001 (plans have no public form)
    if remembers is not None:
        raise NotSupportedYet(f"{remembers.upper()} over the rows of a stream, in a session on Spark,", hint=HINT)


def find_remembering(plan: Any) -> str | None:
    """The first node that remembers rows of earlier batches and is not ours."""
    if not plan.isStreaming():
        return None
    children = [plan.children().apply(place) for place in range(plan.children().size())]
    name = str(plan.nodeName())
    is_lookup = name == "Join" and sum(bool(child.isStreaming()) for child in children) == 1
    if name not in STATELESS and name not in STATEFUL and not is_lookup:
        return name
    return next((found for found in map(find_remembering, children) if found is not None), None)
