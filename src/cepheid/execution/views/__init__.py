"""Relational queries over rows that come and go, kept up to date step by step."""
