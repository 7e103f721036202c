"""The aggregates: what each of them means, said once for windows, patterns, both twins and the language.

    one file for each family ─▶ catalog.AGGREGATES, the list of all
        ─▶ language   names, what they can be of, what they give
        ─▶ graph      types of answers
        ─▶ reference  `fold`: the meaning, in plain Python
        ─▶ compiled   `family`: who computes it

A new aggregate is a definition in a file here and its name in the list; tests/kernel/test_aggregate_catalog.py names
what it still lacks.
"""
