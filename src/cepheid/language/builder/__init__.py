"""Patterns written in Python: the same tree as from text."""
