"""What a node is, as bytes: the same in every process, on every machine, in every version of Python.

Left out is what says nothing: names of classes' defaults, labels (fields that do not take part in comparison), the
order of conjuncts, which side of an equality stands left, and what the variables of a pattern are called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from cepheid.graph.function_identity import identify_function
from cepheid.kernel.expression import Call, HostCall, RowValue
from cepheid.kernel.pattern import RowPatternProgram, SequenceProgram
from cepheid.scalars.value import Column, Operation

Resolve = Callable[[str], Any]  # what a column of the input means
_COLUMNS = frozenset(("column", "by", "opens", "closes"))  # fields that name a column of the input
_VARIABLES = frozenset(("variable", "variables"))  # fields that name variables of a pattern
_MIRRORED = {"gt": "lt", "gte": "lte", "ge": "le"}  # a > b is b < a
_EVEN = frozenset(("eq", "neq", "ne"))


def digest_of(value: Any) -> str:
    """32 hexadecimal digits that are equal for equal content."""
    return hashlib.sha256(encode(value)).hexdigest()[:32]


def encode(value: Any, resolve: Resolve | None = None, renamed: Mapping[str, str] | None = None) -> bytes:
    """resolve: columns are told by what they mean, not by what they are called; renamed: new names of variables."""
    return _Encoder(resolve, renamed or {}).encode(value)


class _Encoder:
    def __init__(self, resolve: Resolve | None, renamed: Mapping[str, str]) -> None:
        self._resolve = resolve
        self._renamed = renamed

    def encode(self, value: Any) -> bytes:
        write = _WRITERS.get(value.__class__)
        if write is not None:
            return write(self, value)
        if is_dataclass(value):
            return self.write_record(value)
        if isinstance(value, pa.DataType):
            return _mark(b"a", str(value).encode())
        if isinstance(value, Mapping):
            return self.write_unordered(value.items())
        assert callable(value), f"the content of a {type(value).__name__} is not known"
        return _mark(b"p", identify_function(value).encode())

    def write_tuple(self, value: Iterable[Any]) -> bytes:
        return _mark(b"t", b"".join(map(self.encode, value)))

    def write_row_program(self, program: RowPatternProgram) -> bytes:
        return self.write_record(program, conditions=self._write_conditions(program))

    def write_sequence_program(self, program: SequenceProgram) -> bytes:
        return self.write_record(program, joint=self.write_unordered(program.joint))

    def write_host_call(self, call: HostCall) -> bytes:
        cells = [(self._column(column), position) for column, position in call.arguments]
        return self.write_record(call, arguments=self.encode(cells))

    def write_row_value(self, value: RowValue) -> bytes:
        """Its columns by what they mean, beside the names that the value knows."""
        columns = [(column, self._column(column)) for column in value.columns]
        return self.write_record(value, columns=self.encode(columns))

    def write_unordered(self, values: Iterable[Any]) -> bytes:
        return _mark(b"u", b"".join(sorted(map(self.encode, values))))

    def write_record(self, record: Any, **known: bytes) -> bytes:
        """A dataclass by its name and the fields that differ from their defaults."""
        told = [
            _mark(b"k", field.name.encode()) + (known.get(field.name) or self._write_field(field.name, value))
            for field in _said_fields(record.__class__)
            if not _is_default(field, value := getattr(record, field.name))
        ]
        return _mark(b"r", type(record).__name__.encode() + b":" + b"".join(told))

    def _write_field(self, name: str, value: Any) -> bytes:
        if name in _COLUMNS and isinstance(value, str):
            return self.encode(self._column(value))
        if name in _VARIABLES and self._renamed and value is not None:
            names = (value,) if isinstance(value, str) else value
            return self.encode(tuple(self._renamed.get(each, each) for each in names))
        if name == "reads":  # of a predicate in Python: the name it knows, and the column
            return self.encode([(own, self._column(column)) for own, column in value])
        return self.encode(value)

    def _column(self, name: str) -> Any:
        return name if self._resolve is None else self._resolve(name)

    def write_operation(self, value: Operation) -> bytes:
        if value.kind in ("and", "or"):
            return _mark(b"o", value.kind.encode() + self.write_unordered(value.part("operands")))  # type: ignore[arg-type]
        if value.kind in _EVEN:
            return _mark(
                b"o", value.kind.encode() + self.write_unordered((value.part("this"), value.part("expression")))
            )
        if value.kind in _MIRRORED:
            parts = (("expression", value.part("this")), ("this", value.part("expression")))
            return _mark(b"o", self.encode(_MIRRORED[value.kind]) + self.encode(parts))
        return _mark(b"o", self.encode(value.kind) + self.encode(value.parts))

    def write_call(self, call: Call) -> bytes:
        function, arguments = call.function, call.arguments
        if function in ("and", "or", *_EVEN):
            return _mark(b"c", self.encode(function) + self.write_unordered(arguments))
        if function in ("gt", "ge"):
            function, arguments = {"gt": "lt", "ge": "le"}[function], arguments[::-1]
        return _mark(b"c", self.encode((function, call.kind)) + self.encode(arguments))

    def _write_conditions(self, program: RowPatternProgram) -> bytes:
        renamed = [(self._renamed.get(name, name), condition) for name, condition in program.conditions]
        return self.write_unordered(renamed)


_WRITERS: dict[type, Callable[[_Encoder, Any], bytes]] = {
    str: lambda _, value: _mark(b"s", value.encode()),
    Column: lambda _, value: _mark(b"v", value.name.encode()),
    type(None): lambda _, value: b"n;",  # noqa: ARG005
    bool: lambda _, value: b"b1;" if value else b"b0;",
    int: lambda _, value: b"i%d;" % value,
    float: lambda _, value: _mark(b"f", repr(value).encode()),
    bytes: lambda _, value: _mark(b"y", value),
    tuple: _Encoder.write_tuple,
    list: _Encoder.write_tuple,
    set: _Encoder.write_unordered,
    frozenset: _Encoder.write_unordered,
    Operation: _Encoder.write_operation,
    Call: _Encoder.write_call,
    RowPatternProgram: _Encoder.write_row_program,
    SequenceProgram: _Encoder.write_sequence_program,
    HostCall: _Encoder.write_host_call,
    RowValue: _Encoder.write_row_value,
}


def _mark(kind: bytes, content: bytes) -> bytes:
    return b"%b%d:%b;" % (kind, len(content), content)


@cache
def _said_fields(record: type) -> tuple[Field[Any], ...]:
    """Those that take part in comparison: others are labels."""
    return tuple(sorted((field for field in fields(record) if field.compare), key=lambda field: field.name))


def _is_default(field: Field[Any], value: Any) -> bool:
    if field.default is not MISSING:
        return type(value) is type(field.default) and bool(value == field.default)
    return False
