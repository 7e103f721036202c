"""Relational SQL over rows that come and go, as steps that can be kept up to date."""
