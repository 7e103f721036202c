"""Steps that look at single rows: a row that goes passes where it passed when it came."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from cepheid.execution.views.delta import WEIGHT, Delta, stack
from cepheid.execution.views.run_sql import describe_steps_sql, run_steps_sql
from cepheid.language.views.steps import column
from cepheid.language.views.view_plan import MapStep, UnionStep


class MapRows:
    def __init__(self, step: MapStep, source: pa.Schema) -> None:
        by_text = {column(name): name for name in source.names}
        self._picks: list[str] | None = None
        chosen = ", ".join(f"{sql} AS {column(name)}" for name, sql in step.outputs)
        where = f" WHERE {step.where}" if step.where is not None else ""
        self._sql = f"SELECT {chosen}, {column(WEIGHT)} FROM _0{where}"
        if step.where is None and all(sql in by_text for _, sql in step.outputs):
            self._picks = [by_text[sql] for _, sql in step.outputs]
            fields = [
                source.field(pick).with_name(name) for pick, (name, _) in zip(self._picks, step.outputs, strict=True)
            ]
            self.schema = pa.schema(fields)
        else:
            made = describe_steps_sql(self._sql, [source.append(pa.field(WEIGHT, pa.int64()))])
            self.schema = made.remove(made.get_field_index(WEIGHT))

    def push(self, deltas: Sequence[Delta]) -> Delta:
        (delta,) = deltas
        if self._picks is not None:
            rows = [delta.rows.column(name) for name in self._picks]
            return Delta(pa.Table.from_arrays(rows, schema=self.schema), delta.weights)
        if not len(delta):
            return Delta.nothing(self.schema)
        return Delta.read(run_steps_sql(self._sql, [delta.weighted()]))

    def keep(self) -> list[pa.Table]:
        return []

    def restore(self, kept: list[pa.Table]) -> None:
        assert not kept, "it remembers nothing"


class UniteRows:
    def __init__(self, step: UnionStep, sources: Sequence[pa.Schema]) -> None:
        parts = [
            f"SELECT {', '.join(map(column, source.names))} FROM _{number}" for number, source in enumerate(sources)
        ]
        types = describe_steps_sql(" UNION ALL ".join(parts), sources).types
        self.schema = pa.schema(list(zip(step.names, types, strict=True)))

    def push(self, deltas: Sequence[Delta]) -> Delta:
        fitted = [
            Delta(delta.rows.rename_columns(self.schema.names).cast(self.schema), delta.weights) for delta in deltas
        ]
        return stack(fitted)

    def keep(self) -> list[pa.Table]:
        return []

    def restore(self, kept: list[pa.Table]) -> None:
        assert not kept, "it remembers nothing"
