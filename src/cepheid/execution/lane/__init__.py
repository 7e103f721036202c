"""A few events at a time: from where they lie in memory into the state of an operator, without Arrow in between.

    sources (addresses) ─▶ intake ─▶ lane of the operator: one call of compiled code ─▶ rows as arrays

Large batches take the way of engine.py and the operators.  Both share one state, so every push may go either way, and
the rows are the same.  What a lane cannot do (types that are no numbers or texts, functions of the host) has none.
"""
