"""Fields of structs: what the parser takes for a table and its column may be a column and its field.

    b.reading.value      to the parser: table reading of a database b      (b.reading).value
    device.id            to the parser: a column of a table device         (device).id
    b.reading            a column of b, and no field

What stands in front decides: a variable of the pattern or an item of FROM comes first, then columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, UnknownColumn
from cepheid.language.expressions.scope import EventInput
from cepheid.language.parsing.places import span_of

Qualified = Callable[[str], pa.Schema | None]
"""The columns of what bears a name, in whatever case: a variable, an item of FROM; None if nothing does."""


def find_fields(tree: exp.Expr, qualified: Qualified, plain: Iterable[pa.Schema]) -> exp.Expr:
    """A copy of the tree in which fields are exp.Dot over the columns that have them; plain: the inputs whose columns
    may be written without anything in front."""
    schemas = list(plain)
    return tree.transform(lambda node: _read_path(node, qualified, schemas) if isinstance(node, exp.Column) else node)


def put_fields(tree: exp.Expr, qualified: Qualified, plain: Iterable[pa.Schema]) -> None:
    """The same in the tree itself, but for its subqueries, which have names of their own."""
    schemas = list(plain)
    nearest = tree if isinstance(tree, exp.Query) else tree.find_ancestor(exp.Query)
    for column in list(tree.find_all(exp.Column)):
        if column is not tree and column.find_ancestor(exp.Query) is nearest:
            column.replace(_read_path(column, qualified, schemas))


def _read_path(column: exp.Column, qualified: Qualified, plain: list[pa.Schema]) -> exp.Expr:
    parts = column.parts
    if len(parts) < 2 or not all(isinstance(part, exp.Identifier) for part in parts):
        return column
    schema = qualified(parts[0].name)
    if schema is not None and _find_name(parts[1].name, schema) is not None:
        if len(parts) == 2:
            return column
        return _take_fields(exp.Column(this=parts[1].copy(), table=parts[0].copy()), schema, parts[1:])
    owners = [schema for schema in plain if _has_parts(parts[0].name, schema)]
    if len(owners) != 1:
        return column  # whoever reads it says what is wrong
    return _take_fields(exp.Column(this=parts[0].copy()), owners[0], parts)


def _take_fields(column: exp.Expr, schema: pa.Schema, path: list[exp.Expr]) -> exp.Expr:
    """path: the name of the column, then those of fields."""
    found, arrow_type, label = column, _type_of(path[0].name, schema), path[0].name
    for part in path[1:]:
        name = part.name
        if arrow_type is not None and pa.types.is_struct(arrow_type):
            fields = pa.schema(list(arrow_type))
            known = _find_name(name, fields)
            if known is None:
                raise UnknownColumn(name, label, fields.names, span=span_of(part))
            name, arrow_type, label = known, fields.field(known).type, f"{label}.{known}"
        elif arrow_type is not None and not pa.types.is_nested(arrow_type):
            hint = f"write {label} alone: only structs have fields"
            raise InvalidQuery(f'"{label}" of type {arrow_type} has no field "{name}"', span=span_of(part), hint=hint)
        else:
            arrow_type = None  # a field of each element, a value of a map: the host knows
        identifier = exp.to_identifier(name, quoted=True)
        identifier.meta.update(part.meta)
        found = exp.Dot(this=found, expression=identifier)
    return found


def _find_name(written: str, schema: pa.Schema) -> str | None:
    if written in schema.names:
        return written
    return next((name for name in schema.names if name.lower() == written.lower()), None)


def _type_of(written: str, schema: pa.Schema) -> pa.DataType | None:
    name = _find_name(written, schema)
    return None if name is None else schema.field(name).type


def _has_parts(written: str, schema: pa.Schema) -> bool:
    found = _type_of(written, schema)
    return found is not None and bool(pa.types.is_nested(found))


def is_field(node: exp.Expr) -> bool:
    """Is it a field of a column, or a field of such a field?"""
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        node = node.this.unnest()
    return isinstance(node, exp.Column)


# --- fields as columns of a pattern's input --------------------------------------------------------------
def name_fields(tree: exp.Expr, source_of: Callable[[exp.Column], EventInput]) -> exp.Expr:
    """A copy in which each field of a column of an event is a column itself, which the host computes before events
    reach the pattern: so it may be a key, and is compared like any other."""

    def name(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Dot):
            return node
        path: list[exp.Expr] = []
        inner: exp.Expr = node
        while isinstance(inner, exp.Dot) and isinstance(inner.expression, exp.Identifier):
            path.insert(0, inner.expression)
            inner = inner.this.unnest()
        if not isinstance(inner, exp.Column) or not path:
            return node
        field = exp.to_identifier(source_of(inner).add_field(inner, [part.name for part in path]), quoted=True)
        places = [part.meta for part in (inner.this, *path) if part.meta.get("end") is not None]
        if places:
            field.meta.update(start=places[0]["start"], end=places[-1]["end"])
        return exp.Column(this=field, table=inner.args.get("table"))

    return tree.transform(name)
