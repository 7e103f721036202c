"""Where events on Spark come from, as applications write it: one file for each kind, `kinds.py` is the ordered list.

[source.buses] path = "feeds/" ─kinds.open_stream─▶ OpenStream: rows that fit, records that do not

pyspark is imported by what opens a stream, so that an application can be read where there is none.
"""
