"""TOML files that people write, read value by value; a mistake is told with the line it stands in.

text ─parse_table─▶ Table ─number, text, choice─▶ values, or InvalidInput(where) ─places_in─▶ the same with its line
"""
