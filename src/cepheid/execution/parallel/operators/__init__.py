"""What is looked for in a window: a user's own operator, or one of ours, behind one contract (operator.py)."""
