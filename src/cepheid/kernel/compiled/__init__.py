"""The compiled twin: the same answers as `reference`, by Numba over arrays.

Nothing here is generated per query.  Patterns and conditions are small tables of numbers that fixed, cached
machine code interprets, so a new query costs no compilation.
"""
