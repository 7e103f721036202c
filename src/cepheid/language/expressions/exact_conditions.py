"""Comparisons of decimals of several events in Trino's dialect: by whole numbers, where all of both sides can be.

    a.price < b.price * 1.1      whole numbers of three digits behind the point

Others are asked of DuckDB where a condition may be, and refused elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from cepheid.kernel.expression import Call, Cell, Position
from cepheid.language.expressions.decimals import (
    DIGITS_OF_WHOLE,
    Exact,
    combine_exactly,
    exact_literal,
    fits_whole,
    meet_exactly,
    whole_value,
)
from cepheid.language.expressions.navigation import Path, enter_navigation
from cepheid.language.expressions.scope import EventInput, InputColumn

Resolve = Callable[[exp.Column, Path], tuple[EventInput, InputColumn, Position]]
FUNCTIONS: dict[type[exp.Expr], str] = {exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul"}


def compare_exactly(function: str, left: exp.Expr, right: exp.Expr, path: Path, resolve: Resolve) -> Call | None:
    """The comparison, if decimals are compared in it and it is exact in 64 bits."""
    sides = [side for tree in (left, right) if (side := _read(tree, path, resolve)) is not None]
    if len(sides) < 2 or not any(_reads_decimals(tree, path, resolve) for tree in (left, right)):
        return None
    met = meet_exactly(sides)
    return None if met is None else Call(function, tuple(met[0]), "bool")


def _reads_decimals(node: exp.Expr, path: Path, resolve: Resolve) -> bool:
    inside = enter_navigation(node, path)
    if inside is not None:
        return _reads_decimals(*inside, resolve)
    if isinstance(node, exp.Column):
        return bool(pa.types.is_decimal(resolve(node, path)[1].type))
    return any(_reads_decimals(child, path, resolve) for child in node.iter_expressions())


def _read(node: exp.Expr, path: Path, resolve: Resolve) -> Exact | None:
    inside = enter_navigation(node, path)
    if inside is not None:
        return _read(*inside, resolve)
    match node:
        case exp.Paren():
            return _read(node.this, path, resolve)
        case exp.Column():
            return _read_column(*resolve(node, path))
        case exp.Literal() if not node.is_string:
            return exact_literal(node.this)
        case exp.Neg():
            inner, zero = _read(node.this, path, resolve), exact_literal("0")
            return None if inner is None or zero is None else combine_exactly("sub", zero, inner)
        case exp.Add() | exp.Sub() | exp.Mul():
            left, right = _read(node.left, path, resolve), _read(node.right, path, resolve)
            return None if left is None or right is None else combine_exactly(FUNCTIONS[type(node)], left, right)
    return None


def _read_column(source: EventInput, column: InputColumn, position: Position) -> Exact | None:
    if fits_whole(column.type) and source.computes:
        whole = source.compute(whole_value(column.value, column.type))
        return Exact(Cell(whole.layout, "int", position), column.type.precision, column.type.scale)
    if pa.types.is_signed_integer(column.type):
        return Exact(Cell(column.layout, "int", position), DIGITS_OF_WHOLE[column.type.bit_width // 8], 0)
    return None
