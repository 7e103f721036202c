"""Joining a stream with what is not a stream: a table in memory, or a table of a database.

events ─▶ fit_keys ─▶ lookup.find ─▶ Found ─▶ enrich ─▶ positions of events, and the rows they found

MemoryTable     a hash index over an Arrow table, swapped whole when the table is refreshed
DatabaseTable   a bounded cache in front of a Connector, which asks for many keys in one query
"""
