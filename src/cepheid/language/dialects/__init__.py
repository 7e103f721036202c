"""What a dialect means where types decide it: between the parser and the binder."""
