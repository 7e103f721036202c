"""The compiled twin of `reference`: the same tally, bit for bit, by Numba over arrays.

Sums are taken in exactly the order of the reference, and nothing is reassociated: that is what keeps the bits equal.
"""
