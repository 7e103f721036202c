"""Decimals, exactly: as whole numbers of their last digits, which the kernel adds, multiplies and compares.

    price DECIMAL(10, 2)          CAST(price * 100 AS BIGINT), computed by the host before events reach the kernel
    b.price > PREV(b.price)       110 > 122
    b.price * 1.1 = a.price       122 * 11 = 1342 * 10: both with three digits behind the point
    sum(price)                    a sum of whole numbers, of which the host makes a decimal again

Eighteen digits surely fit 64 bits.  What might leave them is not for this file: `None`, and who asked does something
else that is exact, or refuses.  No decimal ever becomes a double here.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import sqlglot
from sqlglot import exp

from cepheid.kernel.aggregates.definition import WIDEST_DECIMAL
from cepheid.kernel.expression import Call, Constant, Expression
from cepheid.language.relations.sql_values import read_value, write_tree
from cepheid.scalars.value import Scalar

MOST_DIGITS = 18  # surely fit 64 bits
DIGITS_OF_WHOLE = {1: 3, 2: 5, 4: 10, 8: 20}  # by bytes, as Spark SQL counts them


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


# --- means on Spark --------------------------------------------------------------------------------------
MEAN = """CAST(CAST((total - total % rows) / rows AS DECIMAL({before}, 0))
  + CAST(CAST(total % rows AS DECIMAL({wide}, {fine})) / CAST(rows AS DECIMAL(10, 0)) AS DECIMAL({part}, {scale}))
  AS DECIMAL({precision}, {scale}))"""


def has_exact_mean(arrow_type: pa.DataType) -> bool:
    """Is it a decimal whose mean `write_mean` gives?"""
    return bool(pa.types.is_decimal(arrow_type)) and arrow_type.precision <= 27 and 0 <= arrow_type.scale <= 14


def write_mean(total: exp.Expr, count: exp.Expr, given: pa.DataType) -> exp.Expr:
    """avg of DECIMAL(p, s) as Spark SQL has it: DECIMAL(p + 4, s + 4), a half goes away from zero.

    total: their sum, null of none.  Spark would round the quotient of such decimals twice; so whole multiples of the
    count are divided first, without rest, and what is left, less than one, with digits enough to be rounded once.
    """
    precision, scale = given.precision, given.scale
    text = MEAN.format(
        before=max(precision - scale, 1), wide=scale + 20, fine=scale + 10, part=scale + 5, scale=scale + 4,
        precision=precision + 4,
    )  # fmt: skip
    rows = exp.cast(exp.Nullif(this=count, expression=exp.Literal.number(0)), "DECIMAL(20, 0)")
    meanings = {"total": exp.paren(total), "rows": rows}
    tree = sqlglot.parse_one(text, dialect="spark")
    return tree.transform(lambda node: meanings[node.name].copy() if isinstance(node, exp.Column) else node)


# --- values of several events ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Exact:
    """A number as a whole number of its last digits, of which at most `precision` are there; is_sum: how many there are
    is for the kernel to see, which stops where 64 bits do not suffice."""

    expression: Expression
    precision: int
    scale: int
    is_sum: bool = False

    @property
    def type(self) -> pa.DataType:
        return pa.decimal128(self.precision, self.scale)


def exact_constant(value: Decimal, arrow_type: pa.DataType) -> Exact | None:
    if not fits_whole(arrow_type):
        return None
    whole = int(value.scaleb(arrow_type.scale))
    return Exact(Constant(whole, "int"), arrow_type.precision, arrow_type.scale)


def exact_literal(text: str) -> Exact | None:
    """A number as it is written; None: with an exponent it is a double."""
    whole, _, behind = text.partition(".")
    if not (whole + behind).isdigit():
        return None
    digits = max(len(whole.lstrip("0") + behind), len(behind), 1)
    return Exact(Constant(int(whole + behind), "int"), digits, len(behind)) if digits <= MOST_DIGITS else None


def rescale(side: Exact, scale: int) -> Expression:
    factor = 10 ** (scale - side.scale)
    if factor == 1:
        return side.expression
    if isinstance(side.expression, Constant) and isinstance(side.expression.value, int):
        return Constant(side.expression.value * factor, "int")
    return Call("mul", (side.expression, Constant(factor, "int")), "int")


def meet_exactly(sides: list[Exact]) -> tuple[list[Expression], pa.DataType] | None:
    """All with as many digits behind the point, and the type that has room for them; None: 64 bits might not do."""
    scale = max(side.scale for side in sides)
    digits = max(side.precision - side.scale for side in sides) + scale
    if digits > MOST_DIGITS and not any(side.is_sum for side in sides):
        return None
    if digits > WIDEST_DECIMAL or any(scale - side.scale > MOST_DIGITS for side in sides):
        return None
    return [rescale(side, scale) for side in sides], pa.decimal128(max(digits, 1), scale)


def combine_exactly(function: str, left: Exact, right: Exact) -> Exact | None:
    """+ - * % as SQL has them for decimals; None: 64 bits might not do, or the answer would have to be rounded."""
    if function == "mul":
        precision, scale = left.precision + right.precision + 1, left.scale + right.scale
        if precision > MOST_DIGITS:
            return None
        return Exact(Call("mul", (left.expression, right.expression), "int"), precision, scale)
    met = meet_exactly([left, right])
    if met is None or function not in ("add", "sub", "mod"):
        return None
    (first, second), wide = met
    is_sum = left.is_sum or right.is_sum
    before = wide.precision - wide.scale + 1
    if function == "mod":
        before = min(left.precision - left.scale, right.precision - right.scale)
    precision = before + wide.scale
    if precision > MOST_DIGITS and not is_sum:
        return None
    call = Call(function, (first, second), "int")
    return Exact(call, max(min(precision, WIDEST_DECIMAL), 1), wide.scale, is_sum)
