"""Where events come from: files, tables in memory, iterators of batches, and kinds that users add.

text or object ─kinds.open_source─▶ Source ─.schema─▶ compiled query
                                          ─.read(rows)─▶ Arrow tables, one after the other

A file for each kind; `kinds.py` is the ordered list of them.  Nothing here knows queries or engines.
"""
