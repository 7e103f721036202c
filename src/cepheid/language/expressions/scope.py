"""What names mean inside an event clause: columns of its input, variables of its pattern.

The *event layout* gives every column one place: the first ORDER BY column is `_time`, PARTITION BY columns are
`_key0`, ..., further ORDER BY columns `_order1`, ..., all others keep their names (with the stream in front
where there are several).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import NotSupportedYet, UnknownColumn, UnknownVariable
from cepheid.graph.operators.project import quote_name
from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import Kind
from cepheid.language.parsing.parser import span_of

Describe = Callable[[str, Mapping[str, pa.Schema]], pa.Schema]
"""The schema of a SQL text over tables, as the host's engine sees it."""


@dataclass(frozen=True, slots=True)
class InputColumn:
    """name: as the input calls it; layout: as the pattern calls it."""

    name: str
    layout: str
    type: pa.DataType

    @property
    def kind(self) -> Kind | None:
        return kind_of(self.type)


@dataclass
class EventInput:
    """One input of a pattern, and the projection that puts it into the event layout."""

    label: str
    schema: pa.Schema
    describe: Describe
    prefix: str = ""
    layouts: dict[str, str] = field(default_factory=dict)  # input column -> layout, where not the default
    computed: dict[str, tuple[str, pa.DataType]] = field(default_factory=dict)  # SQL -> (layout, type)

    def column(self, written: exp.Column) -> InputColumn:
        """The column that a user wrote, its case ignored."""
        if written.db:
            raise NotSupportedYet(
                f'a field of a struct ("{written.sql()}")', span=span_of(written), hint="take it out in a subquery"
            )
        name = self.find_name(written.name)
        if name is None:
            identifier = written.this if isinstance(written.this, exp.Identifier) else written
            raise UnknownColumn(written.name, self.label, self.schema.names, span=span_of(identifier))
        return self.named(name)

    def find_name(self, written: str) -> str | None:
        if written in self.schema.names:
            return written
        return next((name for name in self.schema.names if name.lower() == written.lower()), None)

    def named(self, name: str) -> InputColumn:
        return InputColumn(name, self.layout_of(name), self.schema.field(name).type)

    def layout_of(self, name: str) -> str:
        plain = f"{self.prefix}{name}"
        return self.layouts.get(name) or (f"_.{plain}" if plain.startswith("_") else plain)

    def compute(self, sql: str) -> InputColumn:
        """A column that the host computes before events reach the pattern; equal ones are shared."""
        if sql not in self.computed:
            described = self.describe(f"SELECT {sql} AS x FROM _input", {"_input": self.schema})
            self.computed[sql] = (f"_{self.prefix}e{len(self.computed)}", described.field(0).type)
        layout, arrow_type = self.computed[sql]
        return InputColumn(sql, layout, arrow_type)

    def layout_types(self) -> dict[str, pa.DataType]:
        plain = {self.layout_of(column.name): column.type for column in self.schema}
        return plain | dict(self.computed.values())

    def projection(self) -> tuple[tuple[str, str], ...]:
        """(layout, SQL over the input's columns) for everything there is; rules drop what is not read."""
        plain = [(self.layout_of(name), quote_name(name)) for name in self.schema.names]
        return (*plain, *((layout, sql) for sql, (layout, _) in self.computed.items()))


@dataclass(frozen=True, slots=True)
class Variables:
    """Pattern variables, and union variables with their members; names ignore case."""

    members: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(names: list[str]) -> Variables:
        return Variables({name.lower(): (name,) for name in dict.fromkeys(names)})

    def with_union(self, name: str, members: tuple[str, ...]) -> Variables:
        return Variables({**self.members, name.lower(): members})

    def names(self) -> list[str]:
        return [members[0] if len(members) == 1 else name for name, members in self.members.items()]

    def resolve(self, written: exp.Expr) -> tuple[str, ...]:
        found = self.members.get(written.name.lower())
        if found is None:
            raise UnknownVariable(written.name, self.names(), span=span_of(written))
        return found
