"""Where rows of streaming queries on Spark go, as applications write it: a file for each kind, `kinds.py` lists them.

rows of a query ─┬─▶ Spark's own file sink: files, and which of them count
                 └─▶ foreachBatch ─arrow_rows─▶ Arrow on the driver ─▶ PostgreSQL, Delta, terminal, a function

A batch that was cut short is run again with the same rows.  Each sink says what it does then; those that write rows and
the number of the batch in one transaction write nothing twice.  pyspark is imported by what attaches a sink.
"""
