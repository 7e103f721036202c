"""Values of several events as Spark SQL computes with them: kernel expressions that keep Spark's types and rules.

    b.v - a.v     of INT: 32 bits.  What leaves them stops the query in ANSI mode, and wraps around otherwise.
                  Of BIGINT: what leaves 64 bits stops the query in either mode.
    b.v / a.v     a double; null where the divisor is zero.  (In ANSI mode Spark stops the query: here it is as
                  try_divide, since the kernel computes what AND or CASE guard against.)
    b.d > a.d     decimals are whole numbers of their last digits (decimals.py), of up to 18; they compare as doubles
                  where that is exact as well

What is not surely the same is refused; the hint says how to compute it event by event, which Spark does itself.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import CepheidError, NotSupportedYet, TypeMismatch
from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import Call, Constant, Expression, Kind
from cepheid.language.expressions.decimals import Exact, combine_exactly, exact_constant, meet_exactly
from cepheid.language.parsing.places import span_of

EXACT_DIGITS = 15  # decimals of so many digits are told apart as doubles
DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
LOCAL = pa.timestamp("us")  # TIMESTAMP_NTZ
MOMENT = pa.timestamp("us", tz="UTC")  # TIMESTAMP
SQL_TYPES = {MOMENT: "TIMESTAMP", LOCAL: "TIMESTAMP_NTZ", pa.date32(): "DATE"}
NULLS = pa.null()
Beyond = Literal["stop", "wrap", "null"]
"""What becomes of a whole number that leaves its type."""

# computed, since constants are compared and written to files
NAN = Call("sqrt", (Constant(-1.0, "float"),), "float")
INFINITY = Call("exp", (Constant(1000.0, "float"),), "float")
ORDERINGS = ("lt", "le", "gt", "ge")


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression and its type in Spark.  A decimal is held as the nearest double, and exactly if that is possible;
    is_computed: the double was had from the exact number, and is the nearest one of up to EXACT_DIGITS digits only."""

    expression: Expression
    type: pa.DataType
    exact: Exact | None = None
    is_computed: bool = False

    @property
    def is_null(self) -> bool:
        return isinstance(self.expression, Constant) and self.expression.value is None

    @property
    def is_whole(self) -> bool:
        return bool(pa.types.is_integer(self.type))

    @property
    def is_decimal(self) -> bool:
        return bool(pa.types.is_decimal(self.type))

    @property
    def is_float(self) -> bool:
        return bool(pa.types.is_floating(self.type))

    @property
    def is_number(self) -> bool:
        return self.is_whole or self.is_decimal or self.is_float

    @property
    def is_constant(self) -> bool:
        return isinstance(self.expression, Constant)


def constant(value: bool | int | float | str | None, arrow_type: pa.DataType) -> Typed:
    return Typed(Constant(value, hold_as(arrow_type)), arrow_type)


def typed_decimal(exact: Exact) -> Typed:
    """What was computed of decimals."""
    double = Call("to_float", (exact.expression,), "float")
    nearest = Call("div", (double, Constant(float(10**exact.scale), "float")), "float")
    return Typed(nearest, exact.type, exact, is_computed=True)


def hold_exactly(side: Typed) -> Exact | None:
    """Decimals and whole numbers as whole numbers of last digits."""
    if side.is_whole and not side.is_null:
        return Exact(side.expression, _digits_before(side), 0)
    return side.exact if side.is_decimal else None


def hold_all_exactly(sides: list[Typed]) -> list[Exact] | None:
    """None: they are not all such, or none of them is a decimal."""
    found = [exact for side in sides if (exact := hold_exactly(side)) is not None]
    return found if len(found) == len(sides) and any(side.is_decimal for side in sides) else None


def hold_choices(sides: list[Typed]) -> tuple[list[Expression], pa.DataType] | None:
    """Values of which one is chosen, as whole numbers of as many last digits; null may be one of them."""
    held = hold_all_exactly([side for side in sides if not side.is_null])
    met = None if not held else meet_exactly(held)
    if met is None:
        return None
    known = iter(met[0])
    return [Constant(None, "int") if side.is_null else next(known) for side in sides], met[1]


def choose_exactly(
    function: str, before: tuple[Expression, ...], options: list[Expression], target: pa.DataType
) -> Typed:
    chosen = Call(function, (*before, *options), "int")
    return typed_decimal(Exact(chosen, target.precision, target.scale))


def hold_as(arrow_type: pa.DataType) -> Kind:
    """The kind in which the kernel holds values of a type; null is held as an int."""
    if pa.types.is_decimal(arrow_type):
        return "float"
    return kind_of(arrow_type) or "int"


def read_folded(folded: pa.Scalar) -> Typed | None:
    """A value that Spark computed, as a constant; None if the kernel has no such kind."""
    arrow_type = folded.type
    if pa.types.is_null(arrow_type):
        return constant(None, NULLS)
    if kind_of(arrow_type) is None and not pa.types.is_decimal(arrow_type):
        return None
    if not folded.is_valid:
        return constant(None, arrow_type)
    match hold_as(arrow_type):
        case "time" if pa.types.is_date(arrow_type):
            return constant(folded.cast(pa.int32()).as_py() * 86_400_000_000, arrow_type)
        case "time" | "duration":
            return constant(folded.cast(pa.int64()).as_py(), arrow_type)
        case "float" if pa.types.is_decimal(arrow_type):
            nearest = Constant(float(folded.as_py()), "float")
            return Typed(nearest, arrow_type, exact_constant(folded.as_py(), arrow_type))
        case "float":
            return constant(float(folded.as_py()), arrow_type)
    return constant(folded.as_py(), arrow_type)


def refuse(node: exp.Expr, *sides: Typed, hint: str) -> CepheidError:
    kinds = " and ".join(dict.fromkeys(_name_type(side) for side in sides))
    return TypeMismatch(f'"{node.sql("spark")}" over several events, of {kinds},', span=span_of(node), hint=hint)


def _name_type(side: Typed) -> str:
    return "null" if side.type == NULLS else str(side.type)


# --- one type for several --------------------------------------------------------------------------------
def to_double(side: Typed) -> Expression:
    expression = side.expression
    if isinstance(expression, Constant):
        value = expression.value
        return Constant(None if value is None else float(value), "float")
    return Call("to_float", (expression,), "float") if expression.kind == "int" else expression


def meet(node: exp.Expr, sides: list[Typed]) -> tuple[list[Expression], pa.DataType]:
    """The sides in the type that Spark brings them to, and that type."""
    known = [side for side in sides if side.type != NULLS]
    if not known:
        return [Constant(None, "int") for _ in sides], NULLS
    target = _common_type(node, known)
    kind = hold_as(target)
    found: list[Expression] = []
    for side in sides:
        if side.is_null:
            found.append(Constant(None, kind))
        else:
            found.append(nearest_double(node, side) if kind == "float" else side.expression)
    return found, target


def nearest_double(node: exp.Expr, side: Typed) -> Expression:
    """As a double; of what was computed of decimals, the nearest one is not known beyond EXACT_DIGITS."""
    if side.is_computed and side.type.precision > EXACT_DIGITS:
        raise refuse(node, side, hint="write CAST(... AS DOUBLE) around each decimal")
    return to_double(side)


def _common_type(node: exp.Expr, sides: list[Typed]) -> pa.DataType:
    types = list(dict.fromkeys(side.type for side in sides))
    if len(types) == 1 and not sides[0].is_decimal:
        return types[0]
    cast = "write CAST(... AS DOUBLE) around numbers, and the same type on both sides otherwise"
    if not all(side.is_number for side in sides):
        raise refuse(node, *sides, hint=cast)
    if all(side.is_whole for side in sides):
        return max(types, key=DIGITS.__getitem__)
    if pa.float64() in types and all(side.is_decimal or not _is_narrow(side) for side in sides):
        return pa.float64()
    if pa.float32() in types and all(side.is_decimal or side.type == pa.float32() for side in sides):
        return pa.float64()  # a FLOAT and a decimal meet as doubles
    if pa.float32() in types:
        raise refuse(node, *sides, hint="write CAST(... AS DOUBLE) around the FLOAT")
    if _common_digits(sides) > EXACT_DIGITS:
        raise refuse(node, *sides, hint="write CAST(... AS DOUBLE) around the decimal, or 1.5D for 1.5")
    return pa.float64()  # exact decimals as doubles


def _is_narrow(side: Typed) -> bool:
    return False if side.type == pa.float64() else side.type == pa.float32()


def _common_digits(sides: list[Typed]) -> int:
    whole = max(_digits_before(side) for side in sides)
    return whole + max(side.type.scale if side.is_decimal else 0 for side in sides)


def _digits_before(side: Typed) -> int:
    if side.is_decimal:
        return int(side.type.precision - side.type.scale)
    value = side.expression.value if isinstance(side.expression, Constant) else None
    return DIGITS[side.type] if value is None else len(str(abs(int(value))))


# --- comparisons -----------------------------------------------------------------------------------------
def compare(function: str, node: exp.Expr, left: Typed, right: Typed) -> Typed:
    held = hold_all_exactly([left, right])
    met = None if held is None else meet_exactly(held)
    if met is not None:
        return Typed(Call(function, tuple(met[0]), "bool"), pa.bool_())
    rounded = _compare_whole_with_decimal(function, left, right)
    if rounded is not None:
        return rounded
    (first, second), _ = meet(node, [left, right])
    return Typed(Call(function, (first, second), "bool"), pa.bool_())


def _compare_whole_with_decimal(function: str, left: Typed, right: Typed) -> Typed | None:
    """x > 0.5 of whole numbers is x > 0: doubles would not tell large ones apart."""
    mirrored = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
    if right.is_whole and left.is_decimal:
        left, right, function = right, left, mirrored.get(function, function)
    limit = right.expression.value if isinstance(right.expression, Constant) else None
    if not (left.is_whole and right.is_decimal and isinstance(limit, float)) or function not in ORDERINGS:
        return None
    if right.type.precision > EXACT_DIGITS:
        return None
    nearest = math.floor(limit) if function in ("gt", "le") else math.ceil(limit)
    return Typed(Call(function, (left.expression, Constant(nearest, "int")), "bool"), pa.bool_())


def null_safe_equal(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    held = hold_choices([left, right])
    (first, second), _ = meet(node, [left, right]) if held is None else held
    nulls = Call("and", (_test_null(first), _test_null(second)), "bool")
    equal = Call("coalesce", (Call("eq", (first, second), "bool"), Constant(False, "bool")), "bool")
    return Typed(Call("or", (nulls, equal), "bool"), pa.bool_())


def _test_null(side: Expression) -> Call:
    return Call("is_null", (side,), "bool")


# --- arithmetic ------------------------------------------------------------------------------------------
def compute(function: str, node: exp.Expr, left: Typed, right: Typed, beyond: Beyond) -> Typed:
    """+ - * / % of numbers."""
    if not (left.is_number or left.is_null) or not (right.is_number or right.is_null):
        raise refuse(node, left, right, hint="write CAST(... AS DOUBLE)")
    if left.type == NULLS or right.type == NULLS:
        return constant(None, pa.float64())
    if left.is_whole and right.is_whole:
        if beyond == "null" and function != "div" and pa.int64() in (left.type, right.type):
            raise refuse(node, left, right, hint="of BIGINT write + - *, or CAST(... AS DOUBLE)")
        return _compute_whole(function, left, right, beyond)
    if any(side.is_decimal for side in (left, right)) and not (left.is_float or right.is_float):
        held = hold_all_exactly([left, right])
        exact = None if held is None else combine_exactly(function, *held)
        if exact is None:
            raise refuse(node, left, right, hint="decimals: write CAST(... AS DOUBLE), or 1.5D for 1.5")
        return typed_decimal(exact)
    if function != "div" and pa.float64() not in (left.type, right.type):
        raise refuse(node, left, right, hint="write CAST(... AS DOUBLE) around the FLOAT")
    doubles = (nearest_double(node, left), nearest_double(node, right))
    return Typed(Call(function, doubles, "float"), pa.float64())


def _compute_whole(function: str, left: Typed, right: Typed, beyond: Beyond) -> Typed:
    if function == "div":
        return Typed(Call("div", (to_double(left), to_double(right)), "float"), pa.float64())
    target = max(left.type, right.type, key=DIGITS.__getitem__)
    first, second = left.expression, right.expression
    if function == "mod":
        return Typed(_call("mod", first, second), target)
    return Typed(keep_width(function, first, second, target, beyond), target)


def _never_minus_one(divisor: Expression) -> Expression:
    """Processors stumble over the least number divided by -1."""
    if isinstance(divisor, Constant):
        return Constant(1, "int") if divisor.value == -1 else divisor
    return Call("if", (Call("eq", (divisor, Constant(-1, "int")), "bool"), Constant(1, "int"), divisor), "int")


def divide_whole(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """x DIV y: a BIGINT."""
    if not (left.is_whole and right.is_whole):
        raise refuse(node, left, right, hint="DIV over several events is of whole numbers")
    first, second = left.expression, right.expression
    quotient = _call("div_whole", first, _never_minus_one(second))
    if left.type == pa.int64():
        raise refuse(node, left, right, hint="DIV over several events is of INT; write b.v / a.v, a double")
    turned = _call("sub", Constant(0, "int"), first)
    by_minus_one = Call("eq", (second, Constant(-1, "int")), "bool")
    return Typed(Call("if", (by_minus_one, turned, quotient), "int"), pa.int64())


def negate(node: exp.Expr, side: Typed, beyond: Beyond) -> Typed:
    if side.is_whole:
        return Typed(keep_width("sub", Constant(0, "int"), side.expression, side.type, beyond), side.type)
    if side.exact is not None:
        turned = Call("sub", (Constant(0, "int"), side.exact.expression), "int")
        return typed_decimal(replace(side.exact, expression=turned))
    if side.type not in (pa.float64(), pa.float32()) and not pa.types.is_duration(side.type):
        raise refuse(node, side, hint="write CAST(... AS DOUBLE)")
    return Typed(Call("neg", (side.expression,), side.expression.kind), side.type)


def take_absolute(node: exp.Expr, side: Typed, beyond: Beyond) -> Typed:
    if side.is_whole:
        turned = negate(node, side, beyond).expression
        is_negative = Call("lt", (side.expression, Constant(0, "int")), "bool")
        return Typed(Call("if", (is_negative, turned, side.expression), "int"), side.type)
    if side.exact is not None:
        whole = side.exact.expression
        turned = Call("sub", (Constant(0, "int"), whole), "int")
        positive = Call("if", (Call("lt", (whole, Constant(0, "int")), "bool"), turned, whole), "int")
        return typed_decimal(replace(side.exact, expression=positive))
    if side.type not in (pa.float64(), pa.float32()):
        raise refuse(node, side, hint="write CAST(... AS DOUBLE)")
    return Typed(Call("abs", (side.expression,), "float"), side.type)


def keep_width(function: str, first: Expression, second: Expression, target: pa.DataType, beyond: Beyond) -> Expression:
    """+ - * in the width of a type.  The kernel itself stops where 64 bits do not suffice."""
    result = _call(function, first, second)
    if target == pa.int64():
        return result
    half = 1 << (target.bit_width - 1)
    fits = Call("and", (_compare("ge", result, -half), _compare("le", result, half - 1)), "bool")
    match beyond:
        case "null":
            return Call("if", (fits, result, Constant(None, "int")), "int")
        case "wrap":
            return Call("if", (fits, result, _wrap(result, half)), "int")
    leaves = Call("not", (fits,), "bool")  # null leaves nothing
    large = Call("if", (leaves, Constant(1 << 62, "int"), Constant(0, "int")), "int")
    return _call("add", result, _call("mul", large, Constant(4, "int")))  # what does not fit leaves 64 bits as well


def _wrap(result: Expression, half: int) -> Expression:
    rest = _call("mod", _call("add", result, Constant(half, "int")), Constant(2 * half, "int"))
    above = Call("if", (_compare("lt", rest, 0), _call("add", rest, Constant(2 * half, "int")), rest), "int")
    return _call("sub", above, Constant(half, "int"))


def _call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments, "int")


def _compare(function: str, side: Expression, limit: int) -> Call:
    return Call(function, (side, Constant(limit, "int")), "bool")


# --- functions of doubles --------------------------------------------------------------------------------
def as_double(node: exp.Expr, side: Typed) -> Expression:
    if not side.is_number and not side.is_null:
        raise refuse(node, side, hint="write CAST(... AS DOUBLE)")
    return nearest_double(node, side)


def logarithm(function: str, inner: Expression) -> Expression:
    """Null of what has none."""
    positive = Call("gt", (inner, Constant(0.0, "float")), "bool")
    return Call("if", (positive, Call(function, (inner,), "float"), Constant(None, "float")), "float")


def logarithm_to_base(node: exp.Expr, base: Typed, inner: Expression) -> Expression:
    """log(base, x); the base is written out, and none whose own logarithm is zero."""
    written = base.expression.value if isinstance(base.expression, Constant) else None
    if not isinstance(written, int | float) or written <= 0 or written == 1:
        hint = "write ln(x) / ln(base)" if written is None else "take another base"
        raise refuse(node, base, hint=hint)
    return Call("div", (logarithm("ln", inner), Constant(math.log(written), "float")), "float")


def power(base: Expression, exponent: Expression) -> Expression:
    """As Java has it: 1 to the infinite, and to NaN, is NaN."""
    size = Call("abs", (base,), "float")
    odd = Call("gt", (Call("abs", (exponent,), "float"), Constant(sys.float_info.max, "float")), "bool")
    of_one = Call("and", (Call("eq", (size, Constant(1.0, "float")), "bool"), odd), "bool")
    found = Call("power", (base, exponent), "float")
    return Call("if", (of_one, NAN, found), "float")


def test_nan(inner: Expression) -> Expression:
    """NaN is greater than all else; null is not NaN."""
    return Call("coalesce", (Call("gt", (inner, INFINITY), "bool"), Constant(False, "bool")), "bool")


def without_minus_zero(inner: Expression) -> Expression:
    return Call("add", (inner, Constant(0.0, "float")), "float")


# --- times -----------------------------------------------------------------------------------------------
def name_type(arrow_type: pa.DataType) -> str:
    return SQL_TYPES.get(arrow_type, str(arrow_type))


def wider_time(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """What Spark brings two different kinds of times to; None: they are the same, or no times."""
    if left == right or left not in SQL_TYPES or right not in SQL_TYPES:
        return None
    return MOMENT if MOMENT in (left, right) else LOCAL


def refuse_function(name: str, node: exp.Expr, known: list[str]) -> NotSupportedYet:
    return NotSupportedYet(
        f"{name} over several events of a match",
        span=span_of(node),
        hint="apply it to one event at a time, which Spark does itself, or compute it in a subquery; over several "
        f"events there are + - * / %, comparisons, AND, OR, NOT, CASE, {', '.join(known)}",
    )
