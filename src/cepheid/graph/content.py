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
from cepheid.kernel.expression import Call, HostCall
from cepheid.kernel.pattern import RowPatternProgram, SequenceProgram
from cepheid.scalars.value import Operation

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
        match value:
            case str():
                return _mark(b"s", value.encode())
            case None:
                return b"n;"
            case bool() | int():
                return _mark(b"b" if isinstance(value, bool) else b"i", str(int(value)).encode())
            case float():
                return _mark(b"f", repr(value).encode())
            case bytes():
                return _mark(b"y", value)
            case tuple() | list():
                return _mark(b"t", b"".join(map(self.encode, value)))
            case set() | frozenset():
                return self._unordered(value)
            case Mapping():
                return self._unordered(value.items())
            case Operation():
                return self._encode_operation(value)
            case Call():
                return self._encode_call(value)
            case RowPatternProgram():
                return self._encode_record(value, conditions=self._encode_conditions(value))
            case SequenceProgram():
                return self._encode_record(value, joint=self._unordered(value.joint))
            case HostCall():
                cells = [(self._column(column), position) for column, position in value.arguments]
                return self._encode_record(value, arguments=self.encode(cells))
            case pa.DataType():
                return _mark(b"a", str(value).encode())
        if is_dataclass(value):
            return self._encode_record(value)
        assert callable(value), f"the content of a {type(value).__name__} is not known"
        return _mark(b"p", identify_function(value).encode())

    def _unordered(self, values: Iterable[Any]) -> bytes:
        return _mark(b"u", b"".join(sorted(map(self.encode, values))))

    def _encode_record(self, record: Any, **known: bytes) -> bytes:
        """A dataclass by its name and the fields that differ from their defaults."""
        told = [
            _mark(b"k", field.name.encode()) + (known.get(field.name) or self._encode_field(field.name, value))
            for field in _said_fields(record.__class__)
            if not _is_default(field, value := getattr(record, field.name))
        ]
        return _mark(b"r", type(record).__name__.encode() + b":" + b"".join(told))

    def _encode_field(self, name: str, value: Any) -> bytes:
        if name in _COLUMNS and isinstance(value, str):
            return self.encode(self._column(value))
        if name in _VARIABLES and self._renamed:
            names = (value,) if isinstance(value, str) else value
            return self.encode(tuple(self._renamed.get(each, each) for each in names))
        if name == "reads":  # of a predicate in Python: the name it knows, and the column
            return self.encode([(own, self._column(column)) for own, column in value])
        return self.encode(value)

    def _column(self, name: str) -> Any:
        return name if self._resolve is None else self._resolve(name)

    def _encode_operation(self, value: Operation) -> bytes:
        if value.kind in ("and", "or"):
            return _mark(b"o", value.kind.encode() + self._unordered(value.part("operands")))  # type: ignore[arg-type]
        if value.kind in _EVEN:
            return _mark(b"o", value.kind.encode() + self._unordered((value.part("this"), value.part("expression"))))
        if value.kind in _MIRRORED:
            parts = (("expression", value.part("this")), ("this", value.part("expression")))
            return _mark(b"o", self.encode(_MIRRORED[value.kind]) + self.encode(parts))
        return _mark(b"o", self.encode(value.kind) + self.encode(value.parts))

    def _encode_call(self, call: Call) -> bytes:
        function, arguments = call.function, call.arguments
        if function in ("and", "or", *_EVEN):
            return _mark(b"c", self.encode(function) + self._unordered(arguments))
        if function in ("gt", "ge"):
            function, arguments = {"gt": "lt", "ge": "le"}[function], arguments[::-1]
        return _mark(b"c", self.encode((function, call.kind)) + self.encode(arguments))

    def _encode_conditions(self, program: RowPatternProgram) -> bytes:
        renamed = [(self._renamed.get(name, name), condition) for name, condition in program.conditions]
        return self._unordered(renamed)


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
