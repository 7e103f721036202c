"""The interpreter of register code: a condition over the events of a match, true or not.

Null counts as "not true", as in DEFINE and WHERE.  Integers that leave 64 bits raise a flag in `trouble`
instead of wrapping round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cepheid.errors import MatchFailure
from cepheid.kernel.columns import Flags, Floats, Int64s
from cepheid.kernel.compiled.njit_options import njit, njit_no_refcount_inline
from cepheid.kernel.compiled.register_code import OPERATIONS, RegisterCode

EQ_INT, NE_INT, LT_INT, LE_INT, GT_INT, GE_INT = (
    OPERATIONS[f"{name}_int"] for name in ("eq", "ne", "lt", "le", "gt", "ge")
)
EQ_FLOAT, NE_FLOAT, LT_FLOAT, LE_FLOAT, GT_FLOAT, GE_FLOAT = (
    OPERATIONS[f"{name}_float"] for name in ("eq", "ne", "lt", "le", "gt", "ge")
)
ADD_INT, SUB_INT, MUL_INT, MOD_INT, NEG_INT, ABS_INT = (
    OPERATIONS[f"{name}_int"] for name in ("add", "sub", "mul", "mod", "neg", "abs")
)
ADD_FLOAT, SUB_FLOAT, MUL_FLOAT, MOD_FLOAT, NEG_FLOAT, ABS_FLOAT = (
    OPERATIONS[f"{name}_float"] for name in ("add", "sub", "mul", "mod", "neg", "abs")
)
COALESCE_INT, IF_INT, LEAST_INT, GREATEST_INT, LOAD_INT, CONST_INT = (
    OPERATIONS[f"{name}_int"] for name in ("coalesce", "if", "least", "greatest", "load", "const")
)
COALESCE_FLOAT, IF_FLOAT, LEAST_FLOAT, GREATEST_FLOAT, LOAD_FLOAT, CONST_FLOAT = (
    OPERATIONS[f"{name}_float"] for name in ("coalesce", "if", "least", "greatest", "load", "const")
)
AND, OR, NOT, IS_NULL, DIV, TO_FLOAT, RANK, UNRANK, NULL = (
    OPERATIONS[name] for name in ("and", "or", "not", "is_null", "div", "to_float", "rank", "unrank", "null")
)
FACT_INT, FACT_FLOAT, SIGN_INT, SIGN_FLOAT = (
    OPERATIONS[name] for name in ("fact_int", "fact_float", "sign_int", "sign_float")
)
DIV_WHOLE, TO_SECONDS, FLOOR, CEIL, ROUND, TRUNC, POWER, ATAN2 = (
    OPERATIONS[name] for name in ("div_whole", "to_seconds", "floor", "ceil", "round", "trunc", "power", "atan2")
)
SQRT, CBRT, EXP, LN, LOG2, LOG10 = (OPERATIONS[name] for name in ("sqrt", "cbrt", "exp", "ln", "log2", "log10"))
SIN, COS, TAN, ASIN, ACOS, ATAN, RADIANS, DEGREES = (
    OPERATIONS[name] for name in ("sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees")
)
FIRST_MATHS = OPERATIONS["div_whole"]  # from here on: `calculate`
LARGEST = 9_223_372_036_854_775_807
SMALLEST = -LARGEST - 1


class Machine(NamedTuple):
    """Everything `holds` needs besides the events: code, constants and scratch registers.

    facts_*: [facts] what the matcher says about the match so far, renewed before each test.
    """

    rows: Any  # int32[n, 5]
    bounds: Any  # int32[conditions + 1]
    integers: Int64s
    floats: Floats
    ranks: Int64s
    register_integers: Int64s
    register_floats: Floats
    register_valid: Flags
    trouble: Int64s  # int64[1]: 1 after an integer overflow
    order_ranks: Int64s  # the string that has a rank
    fact_integers: Int64s
    fact_floats: Floats
    fact_valid: Flags


def build_machine(code: RegisterCode, ranks: Int64s, facts: int = 0) -> Machine:
    by_rank = np.argsort(ranks) if code.uses_ranks else ranks[:1]
    return Machine(
        rows=code.rows,
        bounds=code.bounds,
        integers=code.integers,
        floats=code.floats,
        ranks=ranks,
        register_integers=np.zeros(code.registers, dtype=np.int64),
        register_floats=np.zeros(code.registers, dtype=np.float64),
        register_valid=np.zeros(code.registers, dtype=np.uint8),
        trouble=np.zeros(1, dtype=np.int64),
        order_ranks=by_rank,
        fact_integers=np.zeros(max(1, facts), dtype=np.int64),
        fact_floats=np.zeros(max(1, facts), dtype=np.float64),
        fact_valid=np.zeros(max(1, facts), dtype=np.uint8),
    )


def check_trouble(machine: Machine) -> None:
    if machine.trouble[0]:
        raise MatchFailure(
            "an integer expression between events left the range of 64 bits",
            hint="cast one side to DOUBLE",
        )


class Cells(NamedTuple):
    """The columns that conditions read: [column, event] for both halves, with validity."""

    integers: Any  # int64[columns, capacity]
    integers_valid: Any  # uint8[columns, capacity]
    floats: Any  # float64[columns, capacity]
    floats_valid: Any  # uint8[columns, capacity]


@njit(inline="always")
def less_float(left: float, right: float) -> bool:
    """NaN is greater than every other number."""
    return left < right or (right != right and left == left)


@njit(inline="always")
def equal_float(left: float, right: float) -> bool:
    return left == right or (left != left and right != right)


@njit()
def calculate(op: int, t: int, a: int, b: int, ri: Int64s, rf: Floats, rv: Flags) -> None:
    """Numeric functions: apart from `holds`, which stays small for what is common."""
    if op == DIV_WHOLE:
        rv[t] = rv[a] & rv[b]
        if rv[t]:
            if ri[b] == 0:
                rv[t] = 0
            else:
                whole = abs(ri[a]) // abs(ri[b])
                ri[t] = whole if (ri[a] < 0) == (ri[b] < 0) else -whole
        return
    if op == TO_SECONDS:
        rf[t] = ri[a] / 1e6
        return
    if op == ROUND:
        rf[t] = round_away(rf[a], ri[b] if b >= 0 else 0)
        if b >= 0:
            rv[t] = rv[a] & rv[b]
        return
    if op in (POWER, ATAN2):
        rv[t] = rv[a] & rv[b]
        if rv[t]:
            rf[t] = np.power(rf[a], rf[b]) if op == POWER else np.arctan2(rf[a], rf[b])
        return
    value = rf[a] if rv[a] else 1.0
    if op == FLOOR:
        value = np.floor(value)
    elif op == CEIL:
        value = np.ceil(value)
    elif op == TRUNC:
        value = np.trunc(value)
    elif op == SQRT:
        value = np.sqrt(value)
    elif op == CBRT:
        value = np.cbrt(value)
    elif op == EXP:
        value = np.exp(value)
    elif op == LN:
        value = np.log(value)
    elif op == LOG2:
        value = np.log2(value)
    elif op == LOG10:
        value = np.log10(value)
    elif op == SIN:
        value = np.sin(value)
    elif op == COS:
        value = np.cos(value)
    elif op == TAN:
        value = np.tan(value)
    elif op == ASIN:
        value = np.arcsin(value)
    elif op == ACOS:
        value = np.arccos(value)
    elif op == ATAN:
        value = np.arctan(value)
    elif op == RADIANS:
        value = np.radians(value)
    elif op == DEGREES:
        value = np.degrees(value)
    rf[t] = value


@njit()
def round_away(value: float, digits: int) -> float:
    """To so many digits; a half goes away from zero."""
    scale = 10.0 ** abs(digits)
    scaled = value * scale if digits >= 0 else value / scale
    if not np.isfinite(scaled) or abs(scaled) >= 4503599627370496.0:  # 2^52: whole already
        return value
    whole = np.floor(abs(scaled) + 0.5)
    signed = whole if scaled >= 0 else -whole
    return signed / scale if digits >= 0 else signed * scale


@njit_no_refcount_inline
def _choose_value(op: int, t: int, a: int, b: int, other: int, machine: Machine) -> bool:
    """Logic, and the choice of one of several values; False: it is another operation."""
    ri, rf, rv = machine.register_integers, machine.register_floats, machine.register_valid
    if op == AND:
        if (rv[a] and not ri[a]) or (rv[b] and not ri[b]):
            ri[t], rv[t] = 0, 1
        else:
            ri[t], rv[t] = 1, rv[a] & rv[b]
    elif op == OR:
        if (rv[a] and ri[a]) or (rv[b] and ri[b]):
            ri[t], rv[t] = 1, 1
        else:
            ri[t], rv[t] = 0, rv[a] & rv[b]
    elif op == NOT:
        ri[t], rv[t] = 1 - ri[a], rv[a]
    elif op == IS_NULL:
        ri[t], rv[t] = 1 - rv[a], 1
    elif op == COALESCE_INT:
        if not rv[a]:
            ri[t], rv[t] = ri[b], rv[b]
    elif op == COALESCE_FLOAT:
        if not rv[a]:
            rf[t], rv[t] = rf[b], rv[b]
    elif op == IF_INT:
        chosen = b if rv[a] and ri[a] else other
        ri[t], rv[t] = ri[chosen], rv[chosen]
    elif op == IF_FLOAT:
        chosen = b if rv[a] and ri[a] else other
        rf[t], rv[t] = rf[chosen], rv[chosen]
    elif op in (LEAST_INT, GREATEST_INT):
        if not rv[a] or (rv[b] and (ri[b] < ri[a]) == (op == LEAST_INT)):
            ri[t], rv[t] = ri[b], rv[b]
    elif op in (LEAST_FLOAT, GREATEST_FLOAT):
        if not rv[a] or (rv[b] and less_float(rf[b], rf[a]) == (op == LEAST_FLOAT)):
            rf[t], rv[t] = rf[b], rv[b]
    else:
        return False
    return True


@njit_no_refcount_inline
def _change_value(op: int, t: int, a: int, machine: Machine) -> bool:
    """Operations on one value; False: it is another one."""
    ri, rf, rv = machine.register_integers, machine.register_floats, machine.register_valid
    if op == NEG_INT:
        if rv[a] and ri[a] == SMALLEST:
            machine.trouble[0] = 1
        ri[t] = -ri[a]
    elif op == ABS_INT:
        if rv[a] and ri[a] == SMALLEST:
            machine.trouble[0] = 1
        ri[t] = abs(ri[a])
    elif op == NEG_FLOAT:
        rf[t] = -rf[a]
    elif op == ABS_FLOAT:
        rf[t] = abs(rf[a])
    elif op == TO_FLOAT:
        rf[t] = float(ri[a])
    elif op == RANK:
        if rv[a]:
            ri[t] = machine.ranks[ri[a]]
    elif op == UNRANK:
        if rv[a]:
            ri[t] = machine.order_ranks[ri[a]]
    elif op == SIGN_INT:
        ri[t] = (ri[a] > 0) - (ri[a] < 0)
    elif op == SIGN_FLOAT:
        rf[t] = np.sign(rf[a])
    else:
        return False
    return True


@njit_no_refcount_inline
def _combine_numbers(op: int, t: int, a: int, b: int, machine: Machine) -> None:
    """Arithmetic of two known numbers."""
    ri, rf, rv = machine.register_integers, machine.register_floats, machine.register_valid
    if op == ADD_INT:
        total = ri[a] + ri[b]
        if ((ri[a] ^ total) & (ri[b] ^ total)) < 0:
            machine.trouble[0] = 1
        ri[t] = total
    elif op == SUB_INT:
        total = ri[a] - ri[b]
        if ((ri[a] ^ ri[b]) & (ri[a] ^ total)) < 0:
            machine.trouble[0] = 1
        ri[t] = total
    elif op == MUL_INT:
        # 2^63 is 9.22e18; near it, a product that wrapped round has the other sign
        estimate = float(ri[a]) * float(ri[b])
        product = ri[a] * ri[b]
        if abs(estimate) > 9.2e18 and (abs(estimate) > 9.3e18 or (product < 0) != (estimate < 0)):
            machine.trouble[0] = 1
        ri[t] = product
    elif op == MOD_INT:
        if ri[b] == 0:
            rv[t] = 0
        elif ri[b] == -1:
            ri[t] = 0
        else:
            remainder = ri[a] % ri[b]  # has the sign of the divisor
            ri[t] = remainder - ri[b] if remainder != 0 and (ri[a] < 0) != (ri[b] < 0) else remainder
    elif op == ADD_FLOAT:
        rf[t] = rf[a] + rf[b]
    elif op == SUB_FLOAT:
        rf[t] = rf[a] - rf[b]
    elif op == MUL_FLOAT:
        rf[t] = rf[a] * rf[b]
    elif op == MOD_FLOAT:
        if rf[b] == 0.0:
            rv[t] = 0
        else:
            rf[t] = np.fmod(rf[a], rf[b])
    elif op == DIV:
        if rf[b] == 0.0:
            rv[t] = 0
        else:
            rf[t] = rf[a] / rf[b]


@njit_no_refcount_inline
def _combine_pair(op: int, t: int, a: int, b: int, machine: Machine) -> None:
    """Comparisons and arithmetic of two values; null if one is null."""
    ri, rf, rv = machine.register_integers, machine.register_floats, machine.register_valid
    rv[t] = rv[a] & rv[b]
    if not rv[t]:
        return
    if op == EQ_INT:
        ri[t] = ri[a] == ri[b]
    elif op == NE_INT:
        ri[t] = ri[a] != ri[b]
    elif op == LT_INT:
        ri[t] = ri[a] < ri[b]
    elif op == LE_INT:
        ri[t] = ri[a] <= ri[b]
    elif op == GT_INT:
        ri[t] = ri[a] > ri[b]
    elif op == GE_INT:
        ri[t] = ri[a] >= ri[b]
    elif op == EQ_FLOAT:
        ri[t] = equal_float(rf[a], rf[b])
    elif op == NE_FLOAT:
        ri[t] = not equal_float(rf[a], rf[b])
    elif op == LT_FLOAT:
        ri[t] = less_float(rf[a], rf[b])
    elif op == LE_FLOAT:
        ri[t] = not less_float(rf[b], rf[a])
    elif op == GT_FLOAT:
        ri[t] = less_float(rf[b], rf[a])
    elif op == GE_FLOAT:
        ri[t] = not less_float(rf[a], rf[b])
    else:
        _combine_numbers(op, t, a, b, machine)


@njit_no_refcount_inline
def holds(condition: int, where: Int64s, machine: Machine, cells: Cells) -> bool:
    """Is the condition true?  where: int64[positions], the event each position stands for, -1 if none."""
    ri, rf, rv = machine.register_integers, machine.register_floats, machine.register_valid
    begin, end = machine.bounds[condition], machine.bounds[condition + 1]
    if begin == end:
        return True
    for pc in range(begin, end):
        op = machine.rows[pc, 0]
        t = machine.rows[pc, 1]
        a = machine.rows[pc, 2]
        b = machine.rows[pc, 3]
        if op == LOAD_INT:
            event = where[b]
            if event >= 0 and cells.integers_valid[a, event]:
                ri[t] = cells.integers[a, event]
                rv[t] = 1
            else:
                rv[t] = 0
        elif op == LOAD_FLOAT:
            event = where[b]
            if event >= 0 and cells.floats_valid[a, event]:
                rf[t] = cells.floats[a, event]
                rv[t] = 1
            else:
                rv[t] = 0
        elif op == CONST_INT:
            ri[t] = machine.integers[a]
            rv[t] = 1
        elif op == CONST_FLOAT:
            rf[t] = machine.floats[a]
            rv[t] = 1
        elif op == NULL:
            rv[t] = 0
        elif op == FACT_INT:
            ri[t], rv[t] = machine.fact_integers[a], machine.fact_valid[a]
        elif op == FACT_FLOAT:
            rf[t], rv[t] = machine.fact_floats[a], machine.fact_valid[a]
        elif op >= FIRST_MATHS:
            calculate(op, t, a, b, ri, rf, rv)
        elif not _choose_value(op, t, a, b, machine.rows[pc, 4], machine) and not _change_value(op, t, a, machine):
            _combine_pair(op, t, a, b, machine)
    return rv[0] == 1 and ri[0] != 0
