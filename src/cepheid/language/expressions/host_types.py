"""The types of SQL, as the host sees them; what was asked once is remembered.

A host takes milliseconds to answer, and many queries ask the same: `a1 > 5` is of the type that `a2 > 7` is.
So answers are remembered by the *shape* of an expression: types of columns instead of their names, and, where only
comparisons, arithmetic and logic are at work, the width of a number instead of its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot.errors import ParseError

from cepheid.errors import InvalidQuery
from cepheid.language.relations.sql_values import write_sql
from cepheid.scalars.value import Column, Literal, Operation, Part, Scalar, columns_of, walk
from cepheid.settings import DialectName

Describe = Callable[[str, Mapping[str, pa.Schema]], pa.Schema]
"""The schema of a SQL text over tables, as the host's engine sees it."""
UTC_NAMES = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


@dataclass(frozen=True, slots=True)
class SparkRules:
    """What a session of Spark means by SQL; fold: the value of text without columns, as the session computes it."""

    fold: Callable[[str], pa.Scalar]
    zone: str
    ansi: bool

    @property
    def is_utc(self) -> bool:
        return self.zone in UTC_NAMES


# whose type follows from the types of what they are about, whatever the numbers are
_BY_TYPE = frozenset((
    "and", "or", "not", "eq", "neq", "lt", "lte", "gt", "gte", "add", "sub", "mul", "div", "mod", "neg", "is", "null",
    "boolean", "between", "coalesce", "case", "if",
))  # fmt: skip


# functions and operators that look at one row, in every host; of others the host is asked whether they are aggregates
ROW_WISE = frozenset((
    "and", "or", "not", "eq", "neq", "lt", "lte", "gt", "gte", "add", "sub", "mul", "div", "mod", "neg", "is", "null",
    "boolean", "between", "coalesce", "case", "if", "cast", "datatype", "in", "interval", "var",
))  # fmt: skip
AGGREGATE_HERE = "an aggregate cannot stand here: each row is looked at by itself"


@dataclass(frozen=True, slots=True)
class HostTypes:
    """As in the catalog: describe asks the host, in the dialect of the query; remembered: by shape."""

    describe: Describe
    remembered: dict[Hashable, pa.DataType] = field(default_factory=dict)
    keeps_type: Callable[[pa.DataType], bool] | None = None
    rules: SparkRules | None = None

    @property
    def dialect(self) -> DialectName:
        return "trino" if self.rules is None else "spark"

    def __call__(self, sql: str, tables: Mapping[str, pa.Schema]) -> pa.Schema:
        """The schema of a whole query."""
        try:
            return self.describe(sql, tables)
        except ParseError as problem:  # our dialect reads a little more than can be written for the host
            message = str(problem).split(". ", 1)[0]
            message = "a part is missing" if message.startswith("Required") else message
            raise InvalidQuery(
                f"the host's SQL engine cannot be told this: {message}",
                hint=f"write this part as {self.dialect.capitalize()} would read it",
            ) from problem

    def of_columns(self, columns: Sequence[tuple[str, Scalar]], schema: pa.Schema) -> pa.Schema:
        """The schema of SELECT columns FROM a table of this schema; each must look at one row at a time."""
        shapes = [_shape_of(value, schema) for _, value in columns]
        if self.keeps_type is not None:
            plain = [shape for shape in shapes if isinstance(shape, pa.DataType) and shape not in self.remembered]
            self.remembered.update((kept, kept) for kept in plain if self.keeps_type(kept))
        new = {shape: value for shape, (_, value) in zip(shapes, columns, strict=True) if shape not in self.remembered}
        if new:
            asked = ", ".join(f"{self.write(value)} AS c{number}" for number, value in enumerate(new.values()))
            found = self(f"SELECT {asked} FROM _input", {"_input": schema})
            if len(found) != len(new):
                raise InvalidQuery("* stands for several columns here", hint="name one column instead of *")
            self._check_row_wise(asked, new.values(), schema)
            self.remembered.update(zip(new, found.types, strict=True))
        return pa.schema([(name, self.remembered[shape]) for (name, _), shape in zip(columns, shapes, strict=True)])

    def _check_row_wise(self, asked: str, values: Iterable[Scalar], schema: pa.Schema) -> None:
        """What we do not know may be an aggregate of the host, with one row for all: beside a column it is refused."""
        unknown = any(
            isinstance(part, Operation) and part.kind not in ROW_WISE for value in values for part in walk(value)
        )
        if not unknown or not len(schema):
            return
        try:
            self(f"SELECT {asked}, {self.write(Column(schema.names[0]))} FROM _input", {"_input": schema})
        except InvalidQuery:
            hint = "aggregate with OVER, in a window or in MEASURES, by one of the aggregates that these know"
            raise InvalidQuery(AGGREGATE_HERE, hint=hint) from None

    def of_value(self, value: Scalar, schema: pa.Schema) -> pa.DataType:
        return self.of_columns((("x", value),), schema).field(0).type

    def write(self, value: Scalar) -> str:
        """The value in the dialect of the query."""
        return write_sql(value, self.dialect, self.dialect)

    def select_sql(self, columns: Sequence[tuple[str, Scalar]]) -> str:
        """The outputs of a SELECT as text."""
        return ", ".join(f"{self.write(value)} AS {self.write(Column(name))}" for name, value in columns)


def _shape_of(value: Scalar, schema: pa.Schema) -> Hashable:
    missing = [name for name in columns_of(value) if name not in schema.names]
    if missing:
        return (value, *schema)  # the host says what is wrong with it
    by_type = all(part.kind in _BY_TYPE for part in walk(value) if isinstance(part, Operation))
    return _shape_part(value, schema, by_type)


def _shape_part(part: Part, schema: pa.Schema, by_type: bool) -> Hashable:
    match part:
        case Column(name=name):
            return schema.field(name).type
        case Literal(text=text, is_text=False) if by_type:
            return _width_of(text)
        case Operation(kind=kind, parts=parts):
            return (kind, *((name, _shape_part(inner, schema, by_type)) for name, inner in parts))
        case tuple():
            return tuple(_shape_part(inner, schema, by_type) for inner in part)
    return part


def _width_of(text: str) -> Hashable:
    """What the type of a number depends on: the bytes of a whole one, the digits of a decimal, else nothing."""
    if text.isdigit():
        return ("whole", (int(text).bit_length() + 8) // 8)
    if "e" in text.lower():
        return ("double",)
    whole, _, behind = text.partition(".")
    return ("decimal", len(whole.lstrip("0")), len(behind))
