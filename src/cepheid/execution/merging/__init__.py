"""Tables that are kept at the net answer of changes: what a batch does to them, and where they are.

    a batch ─read_batch─▶ one row for each `_match` ─┬─▶ PostgreSQL, DuckDB   merge_statements.py, in one transaction
                                                      └─▶ a folder of Parquet  folder_table.py, one rename

Of every `_match` there is one newest change: the highest `_version`, and of equal ones the retract.  Merging takes the
newer of what is there and what comes, row by row.  That is a maximum: the order of batches, batches that come again and
rows that come twice do not matter, and whoever does not know whether a batch was written writes it once more.

What was retracted is remembered (a tombstone), or an older insert that comes late would bring it back.  `bound` says
for how long.
"""
