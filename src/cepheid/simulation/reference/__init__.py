"""The engine in plain objects."""
