"""The reference twin of the pattern kernel: plain Python, slow, and easy to check against the definitions.

It is the oracle the compiled twin is tested with, never the one that runs a query at speed.
"""
