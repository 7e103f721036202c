"""A relational query kept up to date: changes of its inputs in, changes of its rows out.

plan (language/views) ─▶ a runner for each step ─▶ push(changes of each input) ─▶ changes of the last step
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.execution.views.delta import Delta, settle
from cepheid.execution.views.group_rows import group_rows
from cepheid.execution.views.join_rows import JoinRows
from cepheid.execution.views.keyed_rows import KeyedRows
from cepheid.execution.views.map_rows import MapRows, UniteRows
from cepheid.execution.views.run_sql import list_aggregates
from cepheid.language.views.plan_view import plan_view
from cepheid.language.views.view_plan import (
    GroupStep,
    InputStep,
    JoinStep,
    KeyedStep,
    MapStep,
    Step,
    UnionStep,
    ViewPlan,
)


class Runner(Protocol):
    """What runs one step."""

    schema: pa.Schema

    def push(self, deltas: Sequence[Delta]) -> Delta: ...

    def keep(self) -> list[pa.Table]:
        """What it knows, as tables."""
        ...

    def restore(self, kept: list[pa.Table]) -> None: ...


class View:
    """inputs: the schema of each table that the plan reads; schema: of its rows, as a whole query gives them."""

    def __init__(self, plan: ViewPlan, inputs: Sequence[pa.Schema], schema: pa.Schema) -> None:
        self.plan = plan
        self.schema = schema
        self._inputs = inputs
        self._runners: list[Runner | None] = []
        self._schemas: list[pa.Schema] = []
        for step in plan.steps:
            runner = None if isinstance(step, InputStep) else self._open(step, plan.appending)
            self._runners.append(runner)
            if isinstance(step, InputStep):
                self._schemas.append(_rename(inputs[step.number], step.columns))
            else:
                assert runner is not None, "all but inputs are run"
                self._schemas.append(runner.schema)

    def push(self, changes: Sequence[Delta]) -> tuple[Delta, pa.Table]:
        """What came and went, of the rows of the query; beside each row, the columns that say who it is."""
        made: list[Delta] = []
        for step, runner, schema in zip(self.plan.steps, self._runners, self._schemas, strict=True):
            if isinstance(step, InputStep):
                given = changes[step.number]
                made.append(Delta(given.rows.rename_columns(schema.names), given.weights))
            else:
                assert runner is not None, "all but inputs are run"
                made.append(runner.push([made[source] for source in _sources(step)]))
        last = settle(made[-1])
        rows = last.rows.select(self.plan.columns).rename_columns(self.schema.names).cast(self.schema)
        return Delta(rows, last.weights), last.rows.select(self.plan.identity)

    def explain_kept_rows(self) -> list[str]:
        """What is kept for ever, one sentence for each step that forgets nothing."""
        told: list[str] = []
        for step, runner in zip(self.plan.steps, self._runners, strict=True):
            if isinstance(step, JoinStep):
                told.append(f"a {step.show()} keeps all rows of both sides")
            elif isinstance(runner, KeyedRows) and not (isinstance(step, KeyedStep) and step.keep is not None):
                told.append(f"all rows are kept to be {step.show()}")
        return told

    def keep(self) -> list[list[pa.Table]]:
        return [[] if runner is None else runner.keep() for runner in self._runners]

    def restore(self, kept: list[list[pa.Table]]) -> None:
        for runner, tables in zip(self._runners, kept, strict=True):
            if runner is not None:
                runner.restore(tables)

    def _open(self, step: Step, appends: Sequence[bool]) -> Runner:
        sources = [self._schemas[source] for source in _sources(step)]
        match step:
            case MapStep():
                return MapRows(step, sources[0])
            case UnionStep():
                return UniteRows(step, sources)
            case JoinStep():
                return JoinRows(step, *sources)
            case GroupStep(source=source):
                return group_rows(step, sources[0], appends[source])
            case KeyedStep():
                return KeyedRows(step, sources)
        raise AssertionError(f"{type(step).__name__} has no runner")


def open_view(sql: str, inputs: dict[str, pa.Schema], appending: Sequence[bool], schema: pa.Schema) -> View:
    if not inputs:
        raise NotSupportedYet("a continuous query that reads no stream", hint="cep.sql gives its rows at once")
    columns = {name: given.names for name, given in inputs.items()}
    return View(plan_view(sql, columns, appending, list_aggregates(), schema.names), list(inputs.values()), schema)


def _sources(step: Step) -> tuple[int, ...]:
    match step:
        case MapStep(source=source) | GroupStep(source=source):
            return (source,)
        case JoinStep(left=left, right=right):
            return left, right
        case UnionStep(sources=sources) | KeyedStep(sources=sources):
            return sources
    return ()


def _rename(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
