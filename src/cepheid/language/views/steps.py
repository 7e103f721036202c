"""What the planner writes down as it goes: steps, and the columns of the rows that each of them gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from cepheid.language.views.view_plan import (
    Columns,
    GroupStep,
    InputStep,
    JoinStep,
    KeyedStep,
    MapStep,
    Step,
    UnionStep,
)


class Unplanned(Exception):
    """The planner does not know this: the SELECT is left whole to SQL."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a step; identity: those of the columns that say who a row is, if it has such."""

    step: int
    columns: Columns
    identity: Columns = ()


@dataclass
class Steps:
    steps: list[Step] = field(default_factory=list)
    appends: list[bool] = field(default_factory=list)  # of each step: do its rows never go?

    def add_input(self, number: int, columns: Columns, appends: bool) -> Rows:
        self.steps.append(InputStep(number, columns))
        self.appends.append(appends)
        return Rows(len(self.steps) - 1, columns)

    def add(self, step: Step, columns: Iterable[str], identity: Columns = ()) -> Rows:
        self.steps.append(step)
        self.appends.append(self._appends(step))
        return Rows(len(self.steps) - 1, tuple(columns), identity)

    def _appends(self, step: Step) -> bool:
        match step:
            case MapStep(source=source):
                return self.appends[source]
            case UnionStep(sources=sources):
                return all(self.appends[source] for source in sources)
            case JoinStep(left=left, right=right):
                return self.appends[left] and self.appends[right]
            case GroupStep(source=source, aggregates=aggregates, keys=keys):
                return self.appends[source] and not aggregates and bool(keys)
            case KeyedStep():
                return False
        return False


def column(name: str) -> str:
    """A column in SQL."""
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def sql_of(tree: exp.Expr) -> str:
    return tree.sql("duckdb", comments=False)


def flatten(tree: exp.Expr) -> exp.Expr:
    """The columns of all items of FROM are those of one table: a.x is called "a.x"."""

    def rename(node: exp.Expr) -> exp.Expr:
        qualifier = node.table if isinstance(node, exp.Column) else ""
        return exp.column(f"{qualifier}.{node.name}", quoted=True) if qualifier else node

    return tree.copy().transform(rename)


def tables_of(tree: exp.Expr) -> set[str]:
    """Whose columns it reads."""
    return {each.table for each in tree.find_all(exp.Column)}


def split_and(condition: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a conjunction."""
    if condition is None:
        return []
    condition = condition.unnest()
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def join_and(parts: list[exp.Expr]) -> str:
    return " AND ".join(f"({sql_of(part)})" for part in parts)


def has_query(tree: exp.Expr) -> bool:
    return tree.find(exp.Select, exp.SetOperation) is not None


def filter_rows(steps: Steps, rows: Rows, parts: list[exp.Expr]) -> Rows:
    """The rows for which all conditions hold; they are in terms of the columns of the rows."""
    if not parts:
        return rows
    outputs = tuple((name, column(name)) for name in rows.columns)
    return steps.add(MapStep(rows.step, outputs, join_and(parts)), rows.columns, rows.identity)


def with_keys(steps: Steps, rows: Rows, keys: list[exp.Expr], prefix: str) -> tuple[Rows, Columns]:
    """The rows with a column for each key; keys that are columns need none."""
    names: list[str] = []
    added: list[tuple[str, str]] = []
    for key in keys:
        if isinstance(key, exp.Column) and key.name in rows.columns:
            names.append(key.name)
        else:
            names.append(f"{prefix}{len(added)}")
            added.append((names[-1], sql_of(key)))
    if not added:
        return rows, tuple(names)
    outputs = (*((name, column(name)) for name in rows.columns), *added)
    made = steps.add(MapStep(rows.step, outputs), tuple(name for name, _ in outputs), rows.identity)
    return made, tuple(names)


def only(steps: Steps, rows: Rows, columns: Columns) -> Rows:
    """The rows with these columns only."""
    if rows.columns == columns:
        return rows
    return steps.add(MapStep(rows.step, tuple((name, column(name)) for name in columns)), columns)
