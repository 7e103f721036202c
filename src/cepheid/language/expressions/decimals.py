"""Decimals, exactly: as whole numbers of their last digits, which the kernel adds, multiplies and compares.

    price DECIMAL(10, 2)          CAST(price * 100 AS BIGINT), computed by the host before events reach the kernel
    b.price > PREV(b.price)       110 > 122
    b.price * 1.1 = a.price       122 * 11 = 1342 * 10: both with three digits behind the point
    sum(price)                    a sum of whole numbers, of which the host makes a decimal again

Eighteen digits surely fit 64 bits.  What might leave them is not for this file: `None`, and who asked does something
else that is exact, or refuses.  No decimal ever becomes a double here.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from cepheid.language.relations.sql_values import read_value, write_tree
from cepheid.scalars.value import Scalar

MOST_DIGITS = 18  # surely fit 64 bits
DIGITS_OF_WHOLE = {1: 3, 2: 5, 4: 10, 8: 19}  # by bytes


# --- columns ---------------------------------------------------------------------------------------------
def fits_whole(arrow_type: pa.DataType) -> bool:
    """Is it a decimal all of whose values, as whole numbers of last digits, fit 64 bits?"""
    return bool(pa.types.is_decimal(arrow_type)) and arrow_type.precision <= MOST_DIGITS and arrow_type.scale >= 0


def write_whole(value: exp.Expr, arrow_type: pa.DataType) -> exp.Expr:
    """SQL that gives the whole number of last digits of a decimal for which `fits_whole` holds."""
    factor = exp.Literal.number(str(10**arrow_type.scale))
    return exp.cast(exp.Mul(this=exp.paren(value.copy()), expression=factor), "BIGINT")


def whole_value(value: Scalar, arrow_type: pa.DataType) -> Scalar:
    return read_value(write_whole(write_tree(value), arrow_type))


def exact_key(value: Scalar, arrow_type: pa.DataType) -> Scalar:
    """What is equal exactly where two decimals of this type are; kernels have no decimals."""
    if fits_whole(arrow_type):
        return whole_value(value, arrow_type)
    return read_value(exp.cast(write_tree(value), "VARCHAR"))  # of one scale, each number is written in one way


def key_type(arrow_type: pa.DataType) -> pa.DataType:
    return pa.int64() if fits_whole(arrow_type) else pa.string()


def read_key(key: exp.Expr, decimal: pa.DataType) -> exp.Expr:
    """The decimal that `exact_key` stands for."""
    if fits_whole(decimal):
        return put_scale_back(key, decimal)
    return exp.cast(key, f"DECIMAL({decimal.precision}, {decimal.scale})")


def put_scale_back(answer: exp.Expr, decimal: pa.DataType) -> exp.Expr:
    """The decimal that was computed as a whole number."""
    target = f"DECIMAL({decimal.precision}, {decimal.scale})"
    if not decimal.scale:
        return exp.cast(answer, target)
    last_digit = exp.Literal.number(f"0.{'0' * (decimal.scale - 1)}1")
    unit = exp.cast(last_digit, f"DECIMAL({decimal.scale + 1}, {decimal.scale})")
    return exp.cast(exp.Mul(this=exp.cast(answer, "DECIMAL(19, 0)"), expression=unit), target)
