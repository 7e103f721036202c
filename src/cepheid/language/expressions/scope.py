"""What names mean inside an event clause: columns of its input, variables of its pattern.

The *event layout* gives every column one place: the first ORDER BY column is `_time`, PARTITION BY columns are
`_key0`, ..., further ORDER BY columns `_order1`, ..., all others keep their names (with the stream in front
where there are several).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, UnknownColumn, UnknownVariable
from cepheid.graph.operators import Project
from cepheid.graph.operators.project import event_layout
from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import Kind
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.language.expressions.host_types import HostTypes
from cepheid.language.parsing.parser import span_of
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Column, Scalar, operation

ADDED = "_added_"  # columns of an input that the binder adds: users do not see them
CONSTANT = f"{ADDED}constant_"  # of those, what is the same in every row


@dataclass(frozen=True, slots=True)
class InputColumn:
    """name: as the input calls it; layout: as the pattern calls it; value: how it is had from the input."""

    name: str
    layout: str
    type: pa.DataType
    value: Scalar

    @property
    def kind(self) -> Kind | None:
        return kind_of(self.type)


@dataclass
class EventInput:
    """One input of a pattern, and the projection that puts it into the event layout."""

    computes: ClassVar[bool] = True  # can the host compute with its columns?

    label: str
    schema: pa.Schema
    describe: HostTypes
    prefix: str = ""
    added: frozenset[str] = frozenset()  # columns that are ours, of windows inside
    layouts: dict[str, str] = field(default_factory=dict)  # input column -> layout, where not the default
    computed: dict[Scalar, tuple[str, pa.DataType]] = field(default_factory=dict)  # value -> (layout, type)
    fields: dict[str, Scalar] = field(default_factory=dict)  # of structs, by their paths: "reading.value"
    python: Mapping[str, PythonAggregate] = field(default_factory=dict)  # aggregates of the user, in lower case
    whole: bool = False  # is it a table, of which no more will come?
    order: tuple[str, ...] | None = None  # columns that ORDER BY names, where others stand for some of them

    def column(self, written: exp.Column) -> InputColumn:
        """The column that a user wrote, its case ignored."""
        if written.db:
            raise NotSupportedYet(
                f'a field of a struct ("{written.sql()}")', span=span_of(written), hint="take it out in a subquery"
            )
        name = self.find_name(written.name)
        if name is None:
            identifier = written.this if isinstance(written.this, exp.Identifier) else written
            raise UnknownColumn(written.name, self.label, self.shown_names, span=span_of(identifier))
        return self.named(name)

    def list_order(self, ordered: list[InputColumn]) -> list[InputColumn]:
        """The columns of ORDER BY as users know them."""
        return ordered if self.order is None else [self.named(name) for name in self.order]

    @property
    def carried_names(self) -> list[str]:
        """The columns that a window hands on: those that users know, and those that windows before it added."""
        return [name for name in self.schema.names if not name.startswith(ADDED)]

    @property
    def shown_names(self) -> list[str]:
        """The columns that users know."""
        return [name for name in self.schema.names if not name.startswith(ADDED) and name not in self.added]

    def find_name(self, written: str) -> str | None:
        if written in self.schema.names or written in self.fields:
            return written
        return next((name for name in (*self.schema.names, *self.fields) if name.lower() == written.lower()), None)

    def named(self, name: str) -> InputColumn:
        if name in self.fields:
            return replace(self.compute(self.fields[name]), name=name)
        return InputColumn(name, self.layout_of(name), self.schema.field(name).type, Column(name))

    def add_field(self, column: exp.Column, path: Sequence[str]) -> str:
        """From now on the field of a struct is a column, of the name that its path is; gives that name."""
        whole = self.column(column)
        name = ".".join([whole.name, *path])
        if self.find_name(name) is not None and name not in self.fields:
            raise NotSupportedYet(
                f'a field whose path is the name of a column ("{name}")',
                span=span_of(column),
                hint="rename the column in a subquery",
            )
        value = whole.value
        for part in path:
            value = operation("dot", this=value, expression=operation("identifier", this=part, quoted=True))
        try:
            self.describe.of_value(value, self.schema)
        except InvalidQuery as problem:
            raise InvalidQuery(problem.message, span=span_of(column), hint=problem.hint) from None
        self.fields[name] = value
        return name

    def put_at(self, column: InputColumn, layout: str) -> None:
        """Give a column a place of its own in the layout."""
        if column.name in self.fields:
            self.computed[column.value] = (layout, column.type)
        else:
            self.layouts[column.name] = layout

    def layout_of(self, name: str) -> str:
        if name in self.fields:
            return self.named(name).layout
        plain = f"{self.prefix}{name}"
        return self.layouts.get(name) or (f"_.{plain}" if plain.startswith("_") else plain)

    def compute(self, value: Scalar) -> InputColumn:
        """A column that the host computes before events reach the pattern; equal ones are shared."""
        if value not in self.computed:
            arrow_type = self.describe.of_value(value, self.schema)
            self.computed[value] = (f"_{self.prefix}e{len(self.computed)}", arrow_type)
        layout, arrow_type = self.computed[value]
        return InputColumn(show_scalar(value), layout, arrow_type, value)

    def layout_types(self) -> dict[str, pa.DataType]:
        plain = {self.layout_of(column.name): column.type for column in self.schema}
        return plain | dict(self.computed.values())

    def projection(self) -> Project:
        """The event layout with everything there is; rules drop what is not read."""
        plain = [(self.layout_of(name), Column(name)) for name in self.schema.names]
        return event_layout([*plain, *((layout, value) for value, (layout, _) in self.computed.items())])


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
