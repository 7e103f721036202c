"""How a relational query is kept up to date: steps from its inputs to its rows, each of them changes in, changes out.

    SELECT category, avg(final) FROM (SELECT max(b.price) AS final, a.category FROM a JOIN b ON a.id = b.auction
                                      GROUP BY a.id, a.category) GROUP BY category

    0 input a    1 input b    2 join by id = auction    3 group by a.id, a.category: max    4 group by category: avg

A step names those that feed it by number.  SQL in it is DuckDB's, over tables called _0, _1, ...; what flows between
steps are rows and how many of each came (more than 0) or went.  `plan_view.py` makes plans, `execution/views` runs
them.
"""

from __future__ import annotations

from dataclasses import dataclass

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputStep:
    """The rows of an input; columns: what they are called from here on."""

    number: int
    columns: Columns

    def show(self) -> str:
        return f"input {self.number}"


@dataclass(frozen=True, slots=True)
class MapStep:
    """Rows looked at one by one; outputs: (name, SQL over the columns of the source)."""

    source: int
    outputs: tuple[tuple[str, str], ...]
    where: str | None = None

    def show(self) -> str:
        return "rows one by one" if self.where is None else f"rows where {self.where}"


@dataclass(frozen=True, slots=True)
class UnionStep:
    """The rows of all sources, column by column; names: what the columns are called."""

    sources: tuple[int, ...]
    names: Columns

    def show(self) -> str:
        return "union"


@dataclass(frozen=True, slots=True)
class JoinStep:
    """Pairs of rows; keys: columns that are equal in both (of the left, of the right); condition: the whole of it."""

    left: int
    right: int
    keys: tuple[tuple[str, str], ...]
    condition: str

    def show(self) -> str:
        by = ", ".join(f"{left} = {right}" for left, right in self.keys)
        return f"join by {by}" if by else "join of every row with every row"


@dataclass(frozen=True, slots=True)
class GroupAggregate:
    """function: count_rows, count, sum, avg, min or max; argument, filter: columns."""

    name: str
    function: str
    argument: str | None = None
    filter: str | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class GroupStep:
    """A row for each value of the keys; without keys, one row always."""

    source: int
    keys: Columns
    aggregates: tuple[GroupAggregate, ...]

    def show(self) -> str:
        return f"group by {', '.join(self.keys)}" if self.keys else "one group"


@dataclass(frozen=True, slots=True)
class KeyedStep:
    """Whatever SQL says of the rows of one key, computed anew for each key whose rows change.

    keys: for each source, the columns that part its rows; empty: all rows belong together.  row_keys: the columns of
    what comes out that tell the same.  keep: SQL for the rows of the only source that can ever matter again, where
    others need not be kept.
    """

    sources: tuple[int, ...]
    keys: tuple[Columns, ...]
    sql: str
    keep: str | None = None
    row_keys: Columns = ()

    def show(self) -> str:
        by = ", ".join(self.keys[0])
        return f"{'computed anew' if not by else f'computed anew for each {by}'}: {self.sql}"


Step = InputStep | MapStep | UnionStep | JoinStep | GroupStep | KeyedStep


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """steps: each after those that feed it, the last one gives the rows; identity: columns of it, behind those of the
    query, that say who a row is, however its values change; none: a row is its values.  appending: of each step, do
    its rows never go?"""

    steps: tuple[Step, ...]
    columns: Columns
    identity: Columns
    appending: tuple[bool, ...]

    @property
    def appends(self) -> bool:
        return self.appending[-1]

    def show(self) -> list[str]:
        return [f"{number} {step.show()}" for number, step in enumerate(self.steps)]
