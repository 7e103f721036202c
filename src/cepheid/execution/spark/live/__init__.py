"""A live session on Spark: many queries in one streaming query, changed while it runs (live_session.py)."""
