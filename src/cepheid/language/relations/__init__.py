"""Relational SQL as a tree: its shape, its names, and where the host refuses it."""
