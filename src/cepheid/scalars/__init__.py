"""SQL as values: what conditions and columns of a plan are made of, without a SQL library and without text.

value.py         the values, and what rules ask of them: columns, conjuncts, substitution
implication.py   does one condition follow from another?
show.py          a value as a line for people

Text becomes a value in `language/relations/sql_values.py`, and a value becomes text there again, in the SQL of a host.
"""
