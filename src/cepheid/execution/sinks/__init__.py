"""Where rows go: files, the terminal, a function, a list, and kinds that users add.

rows of a query ─.write(table)─▶ Sink ◀─kinds.open_sink─ text or object
                        .close()

A file for each kind; `kinds.py` is the ordered list of them.  Nothing here knows queries or engines.

What holds of files.  Parquet and Arrow have an end without which they cannot be read: they are written under another
name beside the target (one that begins with a dot) and take its place when they are closed, so that what bears the name
is whole.  CSV and JSON lines can be read while they grow: they are written in place, from the first rows on, and each
`write` ends with a whole line that is handed to the operating system.  Either replaces an earlier file of that name.
"""
