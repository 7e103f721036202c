"""Sums of floats that can be undone: three floats that together are the sum.

    x ─▶ s0 + x, what is lost ─▶ s1 + .., what is lost ─▶ s2 + ..

The error of a floating-point addition is itself a float and can be had exactly (Knuth's TwoSum), so only the third
addition rounds, at about 2**-150 of the largest sum so far: adding and taking away for ever does not drift.  The error
of a product can be had exactly too (Dekker's TwoProduct), for sums of squares; these have four floats, since squares
of large and small values lie twice as far apart.

    Ogita, Rump, Oishi: Accurate sum and dot product.  SIAM J. Sci. Comput. 26 (2005)

Squares of numbers below 1e-145 lose digits: what they add to a variance is no longer a normal float.
"""

from __future__ import annotations

from cepheid.kernel.columns import Floats
from cepheid.kernel.compiled.njit_options import njit

_SPLITTER = 134217729.0  # 2**27 + 1
_CANCELLED = 2.0**-30  # what is left of a difference known to 2**-105 has 53 good bits, and 22 to round them by


@njit(forceinline=True)
def add_exactly(a: float, b: float) -> tuple[float, float]:
    """Sum and error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit(forceinline=True)
def multiply_exactly(a: float, b: float) -> tuple[float, float]:
    """Product and error, for factors below 2**900."""
    product = a * b
    split = _SPLITTER * a
    a_high = split - (split - a)
    a_low = a - a_high
    split = _SPLITTER * b
    b_high = split - (split - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(forceinline=True)
def add_to_sum(records: Floats, row: int, at: int, value: float) -> None:
    """Add to the sum records[row, at:at + 3]."""
    total, lost = add_exactly(records[row, at], value)
    records[row, at] = total
    total, lost = add_exactly(records[row, at + 1], lost)
    records[row, at + 1] = total
    records[row, at + 2] += lost


@njit(forceinline=True)
def add_to_squares(records: Floats, row: int, at: int, value: float) -> None:
    """Add to the sum records[row, at:at + 4]."""
    total, lost = add_exactly(records[row, at], value)
    records[row, at] = total
    total, lost = add_exactly(records[row, at + 1], lost)
    records[row, at + 1] = total
    total, lost = add_exactly(records[row, at + 2], lost)
    records[row, at + 2] = total
    records[row, at + 3] += lost


@njit(forceinline=True)
def add_to_triple(s0: float, s1: float, s2: float, value: float) -> tuple[float, float, float]:
    s0, lost = add_exactly(s0, value)
    s1, lost = add_exactly(s1, lost)
    return s0, s1, s2 + lost


@njit(forceinline=True)
def tidy(s0: float, s1: float, s2: float) -> tuple[float, float, float]:
    """The same sum, the first being its value to the last bit, the others what is still missing."""
    s1, s2 = add_exactly(s1, s2)
    s0, s1 = add_exactly(s0, s1)
    s1, s2 = add_exactly(s1, s2)
    s0, s1 = add_exactly(s0, s1)
    return s0, s1, s2


@njit(forceinline=True)
def tidy_squares(q0: float, q1: float, q2: float, q3: float) -> tuple[float, float, float]:
    """`tidy` of four."""
    q2, q3 = add_exactly(q2, q3)
    q1, q2 = add_exactly(q1, q2)
    q0, q1 = add_exactly(q0, q1)
    return tidy(q0, q1, q2 + q3)


@njit(forceinline=True)
def divide_sum(s0: float, s1: float, n: float) -> float:
    """(s0 + s1) / n, rounded once: s1 is what is missing in s0."""
    share = s0 / n
    back, error = multiply_exactly(share, n)
    return share + (((s0 - back) - error) + s1) / n


@njit()
def squared_deviations(n: float, s0: float, s1: float, s2: float, q0: float, q1: float, q2: float) -> float:
    """The sum of squared distances from the mean: q - s * s / n, given tidy sums of values and squares."""
    square, error = multiply_exactly(s0, s0)
    error += 2.0 * s0 * s1
    share = square / n
    back, back_error = multiply_exactly(share, n)
    share_error = (((square - back) - back_error) + error) / n
    rest, rest_error = add_exactly(q0, -share)
    if rest > _CANCELLED * q0:
        return rest + (rest_error + (q1 - share_error))
    # The values differ little from one another for their size.  n * q - s * s, with every product exact.
    t0, t1, t2 = 0.0, 0.0, 0.0
    for left, right in ((n, q0), (s0, -s0), (n, q1), (-2.0 * s0, s1), (n, q2), (-2.0 * s0, s2), (s1, -s1)):
        product, error = multiply_exactly(left, right)
        t0, t1, t2 = add_to_triple(t0, t1, t2, product)
        t0, t1, t2 = add_to_triple(t0, t1, t2, error)
    t0, t1, t2 = tidy(t0, t1, t2)
    return divide_sum(t0, t1, n) if t0 > 0.0 else 0.0
